// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/thread.h"

#include <signal.h>

int canfs_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int ret;

	pthread_attr_init(&attr);
	ret = stack_bytes ? pthread_attr_setstacksize(&attr, stack_bytes) : 0;
	if (!ret) {
		/*
		 * A thread inherits the signal mask of its creator. If the new thread set the mask
		 * itself, a signal could arrive before.
		 */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		ret = pthread_create(thread, &attr, run, arg);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attr);
	return -ret;
}
