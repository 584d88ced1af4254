// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * CPU: the tightest of the limits on the server.
 *
 *	utilization = max(busy share of the processors that it may run on,
 *	                  used over quota, of its cgroup and of each parent with a quota)
 *
 * A quota counts everything in the group; the processors count everything that runs on them. A
 * quota may be used up at the start of its period, so usage is averaged over at least one period.
 * Processors and quotas may change while the server runs, so they are read again once a second.
 */
#include "server/monitors/cgroup.h"
#include "server/monitors/monitors.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_SEC 1.0
#define QUOTAS_MAX 8 /* groups with a quota, from the own one upwards; the rest are ignored */
#define STAT_BYTES (1 << 17) /* more than the lines of CPU_SETSIZE processors */

struct quota {
	struct canfs_cgroup group;
	struct canfs_cpu_quota limit;
	uint64_t used_usec;
	bool primed;
	double since_sec;   /* since used_usec was last read */
	double utilization; /* mean over at least one period */
};

struct cpu {
	const char *root;
	bool whole_machine; /* ignore the limits of this process */
	cpu_set_t allowed;
	bool knows_allowed; /* false: use the whole machine */
	struct canfs_cpu_times last;
	bool primed;
	struct quota quotas[QUOTAS_MAX];
	size_t quota_count;
	double since_sample_sec;
	struct canfs_said said;
	char text[STAT_BYTES];
};

/*
 * Adds the numbers of a line. Returns 0, or -EPROTO if a number is missing or one of the first four
 * is unusable. Other unusable numbers count as 0.
 */
static int add_times(const char *text, struct canfs_cpu_times *times)
{
	/* user nice system idle iowait irq softirq steal; guest times are in user and nice */
	enum { IDLE = 3, IOWAIT = 4, FIELDS = 8 };
	struct canfs_cpu_times sum = *times;

	for (int i = 0; i < FIELDS; i++) {
		const char *cursor = text;
		uint64_t ticks = 0;

		if (!canfs_parse_count(&cursor, &ticks)) {
			if (i <= IDLE || text[strspn(text, " ")] == '\n' ||
				text[strspn(text, " ")] == '\0')
				return -EPROTO;
			ticks = 0;
		}
		canfs_skip_number(&text);
		sum.total += ticks;
		if (i != IDLE && i != IOWAIT)
			sum.busy += ticks;
	}
	*times = sum;
	return 0;
}

/* Adds each allowed processor with a usable line once. Returns their number. */
static int add_processors(const char *text, const cpu_set_t *allowed, struct canfs_cpu_times *times)
{
	cpu_set_t left = *allowed;

	for (; strncmp(text, "cpu", 3) == 0; text = canfs_next_line(text)) {
		const char *cursor = text + 3;
		uint64_t processor;

		if (!canfs_parse_number(&cursor, &processor) || processor >= CPU_SETSIZE ||
			!CPU_ISSET(processor, &left) || add_times(cursor, times) != 0)
			continue;
		CPU_CLR(processor, &left);
	}
	return CPU_COUNT(allowed) - CPU_COUNT(&left);
}

int canfs_parse_cpu(const char *text, const cpu_set_t *allowed, struct canfs_cpu_times *times)
{
	*times = (struct canfs_cpu_times) { 0 };
	if (strncmp(text, "cpu ", 4) != 0)
		return -EPROTO;
	if (allowed && add_processors(canfs_next_line(text), allowed, times) == CPU_COUNT(allowed))
		return 0;
	*times = (struct canfs_cpu_times) { 0 };
	return add_times(text + 4, times);
}

int canfs_parse_cpus_allowed(const char *text, cpu_set_t *allowed)
{
	static const char name[] = "Cpus_allowed_list:";

	CPU_ZERO(allowed);
	while (*text != '\0' && strncmp(text, name, sizeof(name) - 1) != 0)
		text = canfs_next_line(text);
	if (*text == '\0')
		return -EPROTO;
	text += sizeof(name) - 1;
	/* for example 0-3,8 */
	do {
		uint64_t first, last;

		if (!canfs_parse_number(&text, &first))
			return -EPROTO;
		last = first;
		if (*text == '-') {
			text++;
			if (!canfs_parse_number(&text, &last))
				return -EPROTO;
		}
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, allowed);
	} while (*text++ == ',');
	return CPU_COUNT(allowed) > 0 ? 0 : -EPROTO;
}

int canfs_parse_cpu_quota(const char *text, struct canfs_cpu_quota *quota)
{
	uint64_t quota_usec, period_usec;

	*quota = (struct canfs_cpu_quota) { 0 };
	if (strncmp(text, "max", 3) == 0 || strncmp(text, "-1", 2) == 0)
		return 0;
	if (!canfs_parse_number(&text, &quota_usec))
		return -EPROTO;
	text += *text == '\n'; /* version 1 has two files, concatenated here */
	if (!canfs_parse_number(&text, &period_usec) || quota_usec == 0 || period_usec == 0)
		return -EPROTO;
	quota->processors = (double)quota_usec / (double)period_usec;
	quota->period_sec = (double)period_usec / 1e6;
	return 0;
}

/* False: the group has no quota, or its quota cannot be read. */
static bool read_quota(const struct canfs_cgroup *group, struct canfs_cpu_quota *quota)
{
	char text[128];
	int len = canfs_cgroup_read(
		group, group->version2 ? "cpu.max" : "cpu.cfs_quota_us", text, sizeof(text) / 2);

	if (len > 0 && !group->version2 &&
		canfs_cgroup_read(
			group, "cpu.cfs_period_us", text + len, sizeof(text) - (size_t)len) <= 0)
		return false;
	return len > 0 && canfs_parse_cpu_quota(text, quota) == 0 && quota->processors > 0;
}

static bool read_used(const struct canfs_cgroup *group, uint64_t *used_usec)
{
	struct canfs_cgroup account = *group;
	char text[1024];
	const char *cursor = text;

	if (group->version2)
		return canfs_cgroup_read(group, "cpu.stat", text, sizeof(text)) > 0 &&
		       canfs_parse_named(text, "usage_usec ", used_usec);
	/*
	 * cpuacct is a controller of its own in version 1, but is mounted together with cpu
	 * everywhere.
	 */
	account.controller = "cpuacct";
	if (canfs_cgroup_read(&account, "cpuacct.usage", text, sizeof(text)) <= 0 ||
		!canfs_parse_number(&cursor, used_usec))
		return false;
	*used_usec /= 1000;
	return true;
}

/* Finds the groups with a quota. Keeps the state of those already known. */
static void find_quotas(struct cpu *cpu)
{
	struct quota found[QUOTAS_MAX];
	struct canfs_cgroup group;
	size_t count = 0;

	for (bool more = canfs_cgroup_own(cpu->root, "cpu", &group); more && count < QUOTAS_MAX;
		more = canfs_cgroup_up(&group)) {
		struct canfs_cpu_quota limit;

		if (!read_quota(&group, &limit))
			continue;
		found[count] = (struct quota) { .group = group };
		for (size_t i = 0; i < cpu->quota_count; i++) {
			if (strcmp(cpu->quotas[i].group.path, group.path) == 0)
				found[count] = cpu->quotas[i];
		}
		found[count++].limit = limit;
	}
	memcpy(cpu->quotas, found, count * sizeof(found[0]));
	cpu->quota_count = count;
}

static void find_processors(struct cpu *cpu)
{
	cpu_set_t allowed;
	bool knows = canfs_read_source(
			     cpu->root, "/proc/self/status", cpu->text, sizeof(cpu->text)) > 0 &&
		     canfs_parse_cpus_allowed(cpu->text, &allowed) == 0;

	/* Sums over different sets of processors are not comparable. */
	if (knows != cpu->knows_allowed || (knows && !CPU_EQUAL(&allowed, &cpu->allowed)))
		cpu->primed = false;
	cpu->knows_allowed = knows;
	if (knows)
		cpu->allowed = allowed;
}

int canfs_cpu_open(void **state, const struct canfs_monitor_setup *setup)
{
	struct cpu *cpu = calloc(1, sizeof(*cpu));

	if (!cpu)
		return -ENOMEM;
	cpu->root = setup->root;
	cpu->whole_machine = setup->whole_machine;
	cpu->since_sample_sec = INFINITY;
	cpu->said.say = setup->say;
	*state = cpu;
	return 0;
}

void canfs_cpu_close(void *state)
{
	free(state);
}

static int sample_processors(struct cpu *cpu, double *utilization)
{
	struct canfs_cpu_times now, last = cpu->last;
	bool primed = cpu->primed;
	uint64_t total;
	int ret;

	cpu->primed = false;
	ret = canfs_read_source(cpu->root, "/proc/stat", cpu->text, sizeof(cpu->text));
	if (ret < 0)
		return ret;
	ret = canfs_parse_cpu(cpu->text, cpu->knows_allowed ? &cpu->allowed : NULL, &now);
	if (ret != 0) {
		canfs_say_unusable(&cpu->said, "/proc/stat", cpu->text);
		return ret;
	}
	cpu->last = now;
	cpu->primed = true;
	total = canfs_growth(now.total, last.total);
	if (!primed || total == 0)
		return -EAGAIN;
	*utilization = (double)canfs_growth(now.busy, last.busy) / (double)total;
	return 0;
}

/* A group whose usage cannot be read, such as one being removed, limits nothing. */
static double sample_quota(struct quota *quota, double elapsed_sec)
{
	uint64_t last_usec = quota->used_usec;
	bool primed = quota->primed;

	quota->since_sec += elapsed_sec;
	if (primed && quota->since_sec < quota->limit.period_sec)
		return quota->utilization;
	quota->primed = read_used(&quota->group, &quota->used_usec);
	quota->utilization = 0;
	if (primed && quota->primed)
		quota->utilization = (double)canfs_growth(quota->used_usec, last_usec) / 1e6 /
				     quota->since_sec / quota->limit.processors;
	quota->since_sec = 0;
	return quota->utilization;
}

int canfs_cpu_sample(void *state, double elapsed_sec, double *utilization)
{
	struct cpu *cpu = state;
	int result;

	cpu->since_sample_sec += elapsed_sec;
	if (cpu->since_sample_sec >= SAMPLE_SEC) {
		if (!cpu->whole_machine) {
			find_processors(cpu);
			find_quotas(cpu);
		}
		cpu->since_sample_sec = 0;
	}
	result = sample_processors(cpu, utilization);
	for (size_t i = 0; i < cpu->quota_count; i++) {
		double used = sample_quota(&cpu->quotas[i], elapsed_sec);

		if (result == 0)
			*utilization = fmax(*utilization, used);
	}
	return result;
}
