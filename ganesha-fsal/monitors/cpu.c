// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/monitors/monitors.h"
#include "ganesha-fsal/monitors/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cpu {
	const char *root;
	struct canfs_cpu_times last;
	bool primed;
};

int canfs_parse_cpu(const char *text, struct canfs_cpu_times *times)
{
	/* user nice system idle iowait irq softirq steal; guest times are in user and nice */
	enum { IDLE = 3, IOWAIT = 4, FIELDS = 8 };
	uint64_t idle = 0, total = 0;

	if (strncmp(text, "cpu ", 4) != 0)
		return -EPROTO;
	text += 4;
	for (int i = 0; i < FIELDS; i++) {
		uint64_t ticks;

		if (!canfs_parse_number(&text, &ticks))
			return -EPROTO;
		total += ticks;
		if (i == IDLE || i == IOWAIT)
			idle += ticks;
	}
	times->busy = total - idle;
	times->total = total;
	return 0;
}

int canfs_cpu_open(void **state, const struct canfs_monitor_setup *setup)
{
	struct cpu *cpu = calloc(1, sizeof(*cpu));

	if (cpu == NULL)
		return -ENOMEM;
	cpu->root = setup->root;
	*state = cpu;
	return 0;
}

void canfs_cpu_close(void *state)
{
	free(state);
}

int canfs_cpu_sample(void *state, double elapsed_sec, double *utilization)
{
	struct cpu *cpu = state;
	struct canfs_cpu_times now, last = cpu->last;
	char text[1024]; /* the first line is all that is needed */
	bool primed = cpu->primed;
	uint64_t total;
	int error;

	(void)elapsed_sec; /* the source has a clock of its own */
	cpu->primed = false;
	error = canfs_read_source(cpu->root, "/proc/stat", text, sizeof(text));
	if (error < 0)
		return error;
	error = canfs_parse_cpu(text, &now);
	if (error != 0)
		return error;
	cpu->last = now;
	cpu->primed = true;
	total = canfs_growth(now.total, last.total);
	if (!primed || total == 0)
		return -EAGAIN;
	*utilization = (double)canfs_growth(now.busy, last.busy) / (double)total;
	return 0;
}
