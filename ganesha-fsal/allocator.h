/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_GANESHA_FSAL_ALLOCATOR_H
#define CANFS_GANESHA_FSAL_ALLOCATOR_H

#include <stdbool.h>

/*
 * Is this library of the process linked with the allocator that the main program uses? If NFS-Ganesha's library is not, since another one
 * is preloaded, its FSALs are not either: loaded with RTLD_DEEPBIND, they free with the C library's free() what the server allocated.
 */
bool canfs_library_has_server_allocator(const char *library);

#endif
