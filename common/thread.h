/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_THREAD_H
#define CANFS_COMMON_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * As pthread_create(), with all signals blocked in the new thread: they are for the program's own threads.
 * stack_bytes: of its stack; 0: the default. 0 or -errno.
 */
int canfs_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *arg), void *arg);

#endif
