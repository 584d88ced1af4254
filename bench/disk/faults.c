// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bench/disk/faults.h"

static const char *const kind_names[CANFS_COMMAND_KINDS] = {
	[CANFS_COMMAND_READ] = "read",
	[CANFS_COMMAND_WRITE] = "write",
	[CANFS_COMMAND_FLUSH] = "flush",
};

static int parse_kind(const char *name, enum canfs_command_kind *kind)
{
	for (int i = 0; i < CANFS_COMMAND_KINDS; i++) {
		if (strcmp(name, kind_names[i]) != 0)
			continue;
		*kind = (enum canfs_command_kind)i;
		return 0;
	}
	return -EINVAL;
}

static int parse_times(const char *name, bool *once)
{
	*once = !strcmp(name, "once");
	return *once || !strcmp(name, "always") ? 0 : -EINVAL;
}

int canfs_faults_add(struct canfs_faults *f, const char *text)
{
	struct canfs_fault fault = { .lo = 0, .hi = UINT64_MAX };
	char kind[8], times[8];
	int end = 0, n;

	n = sscanf(text, "%7[a-z]:%7[a-z]%n:%15" SCNu64 "-%15" SCNu64 "%n", kind, times, &end,
		&fault.lo, &fault.hi, &end);
	if ((n != 2 && n != 4) || text[end] || fault.lo >= fault.hi)
		return -EINVAL;
	if (parse_kind(kind, &fault.kind) || parse_times(times, &fault.once))
		return -EINVAL;
	if (f->n == CANFS_FAULTS_MAX)
		return -ENOSPC;
	f->fault[f->n++] = fault;
	return 0;
}

static bool matches(const struct canfs_fault *f, const struct canfs_command *c)
{
	if (f->kind != c->kind)
		return false;
	return c->kind == CANFS_COMMAND_FLUSH ||
	       (c->offset < f->hi && f->lo < c->offset + c->bytes);
}

bool canfs_faults_hit(struct canfs_faults *f, const struct canfs_command *c)
{
	for (unsigned int i = 0; i < f->n; i++) {
		if (!matches(&f->fault[i], c))
			continue;
		if (f->fault[i].once)
			f->fault[i] = f->fault[--f->n];
		return true;
	}
	return false;
}
