/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_THREAD_H
#define CANFS_COMMON_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Like pthread_create(), but all signals are blocked in the new thread, because the program's own
 * threads handle them. stack_bytes: stack size; 0: the default. Returns 0 or -errno.
 */
int canfs_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *arg), void *arg);

#endif
