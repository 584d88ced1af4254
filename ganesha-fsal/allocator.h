/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_GANESHA_FSAL_ALLOCATOR_H
#define CANFS_GANESHA_FSAL_ALLOCATOR_H

#include <stdbool.h>

/*
 * Does this library of the process resolve malloc() to the allocator of the main program? If NFS-Ganesha's library does not, because
 * another allocator is preloaded, neither do its FSALs: loaded with RTLD_DEEPBIND, they pass the server's memory to the C library's free().
 */
bool canfs_library_has_server_allocator(const char *library);

#endif
