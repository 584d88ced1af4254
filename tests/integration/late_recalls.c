// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Loaded into NFS-Ganesha (LD_PRELOAD). While the file CANFS_LATE_RECALLS exists, jobs for a thread pool, such as recalls of delegations, do not
 * start, as if all threads were busy.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include "fridgethr.h"

#define LOOK_USEC 10000

struct late {
	void (*call)(struct fridgethr_context *context);
	void *arg;
};

static bool is_on(void)
{
	const char *file = getenv("CANFS_LATE_RECALLS");

	return file && access(file, F_OK) == 0;
}

static void call_late(struct fridgethr_context *context)
{
	struct late *late = context->arg;

	while (is_on())
		usleep(LOOK_USEC);
	context->arg = late->arg;
	late->call(context);
	free(late);
}

int fridgethr_submit(struct fridgethr *fridge, void (*call)(struct fridgethr_context *), void *arg)
{
	int (*next)(struct fridgethr *, void (*)(struct fridgethr_context *), void *) =
		dlsym(RTLD_NEXT, "fridgethr_submit");
	struct late *late = is_on() ? malloc(sizeof(*late)) : NULL;

	if (!late)
		return next(fridge, call, arg);
	*late = (struct late) { call, arg };
	return next(fridge, call_late, late);
}
