/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_GANESHA_FSAL_STACK_ALLOCATOR_H
#define CANFS_GANESHA_FSAL_STACK_ALLOCATOR_H

#include <stdbool.h>

/*
 * Returns true if this library of the process resolves malloc() to the allocator of the main
 * program. If another allocator is preloaded, NFS-Ganesha's library and its FSALs do not. The FSALs
 * are loaded with RTLD_DEEPBIND and pass the server's memory to the C library's free().
 */
bool canfs_library_has_server_allocator(const char *library);

#endif
