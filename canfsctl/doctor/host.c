// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/doctor/facts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "client-agent/kernel/journal.h"
#include "client-agent/kernel/procfs.h"
#include "common/file.h"
#include "common/text.h"

#define LOCKS_TEXT_MAX (4 << 20)

/* Returns the n-th number of a file, from 0, or 0 if there is none. */
static uint64_t read_number(const char *root, const char *path, int n)
{
	char text[256];
	const char *p = text;
	uint64_t value = 0;

	if (canfs_read_file(root, path, text, sizeof(text)) < 0)
		return 0;
	for (; n >= 0; n--) {
		p += strspn(p, " \t");
		if (canfs_parse_u64(&p, &value) != 0)
			return 0;
	}
	return value <= INT64_MAX ? value : 0;
}

/* The file contains a release such as "6.1.0-18-amd64". */
static void gather_kernel(const char *root, struct canfs_host_facts *host)
{
	char text[256];
	const char *p = text;
	uint64_t major, minor;

	if (canfs_read_file(root, "/proc/sys/kernel/osrelease", text, sizeof(text)) < 0 ||
		canfs_parse_u64(&p, &major) != 0 || *p++ != '.' ||
		canfs_parse_u64(&p, &minor) != 0 || major > UINT32_MAX || minor > UINT32_MAX)
		return;
	host->kernel_major = (uint32_t)major;
	host->kernel_minor = (uint32_t)minor;
}

/*
 * The bytes limit counts unless it is 0; then the ratio does. The kernel applies a ratio to the
 * memory that could be dirty.
 */
static uint64_t limit_of(const char *root, const char *bytes_path, const char *ratio_path,
	const struct canfs_meminfo *meminfo)
{
	const uint64_t bytes = read_number(root, bytes_path, 0);

	if (bytes > 0)
		return bytes;
	return (uint64_t)((double)meminfo->available_bytes / 100 *
			  (double)read_number(root, ratio_path, 0));
}

static void gather_memory(const char *root, struct canfs_host_facts *host)
{
	struct canfs_meminfo meminfo = { 0 };
	char path[PATH_MAX];

	if (canfs_meminfo_read(root, &meminfo) == -EPROTO)
		host->meminfo_lacks = canfs_meminfo_lack(root);
	host->dirty_bytes =
		limit_of(root, "/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio", &meminfo);
	host->background_bytes = limit_of(root, "/proc/sys/vm/dirty_background_bytes",
		"/proc/sys/vm/dirty_background_ratio", &meminfo);
	host->expire_sec = read_number(root, "/proc/sys/vm/dirty_expire_centisecs", 0) / 100;
	snprintf(path, sizeof(path), "%s/proc/sys/vm/dirty_bytes", root);
	/* Only EROFS counts; EACCES just means that we are not root. */
	host->knobs_read_only = access(path, W_OK) < 0 && errno == EROFS;
}

/*
 * Linux identifies itself to NFSv4 servers by its host name, and by nfs4_unique_id if that is set.
 */
static void gather_client_id(const char *root, struct canfs_host_facts *host)
{
	static const char unique_id[] = "/sys/module/nfs/parameters/nfs4_unique_id";
	static const char *const shared[] = { "(none)", "localhost", "localhost.localdomain" };
	char name[sizeof(host->shared_name)], id[64];

	if (canfs_read_file(root, "/proc/sys/kernel/hostname", name, sizeof(name)) < 0 ||
		(canfs_read_file(root, unique_id, id, sizeof(id)) > 0 && id[0] != '\n'))
		return;
	name[strcspn(name, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (strcmp(name, shared[i]) == 0)
			strcpy(host->shared_name, name);
}

static void gather_network(const char *root, struct canfs_host_facts *host)
{
	static const char scaling[] = "/proc/sys/net/ipv4/tcp_window_scaling";
	char text[16];

	host->slots_max = read_number(root, "/proc/sys/sunrpc/tcp_max_slot_table_entries", 0);
	host->receive_buffer_bytes = read_number(root, "/proc/sys/net/ipv4/tcp_rmem", 2);
	host->send_buffer_bytes = read_number(root, "/proc/sys/net/ipv4/tcp_wmem", 2);
	host->no_window_scaling =
		canfs_read_file(root, scaling, text, sizeof(text)) > 0 && text[0] == '0';
}

/*
 * A line such as "1: FLOCK  ADVISORY  WRITE 708 00:16:493 0 EOF": the device in hex, the inode in
 * decimal.
 */
bool canfs_locks_hold(
	const char *text, unsigned int major, unsigned int minor, unsigned long long inode)
{
	char held[64];

	snprintf(held, sizeof(held), " %02x:%02x:%llu ", major, minor, inode);
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		const char *lock = memmem(line, (size_t)(end - line), ": FLOCK ", 8);

		if (lock && memmem(lock, (size_t)(end - lock), held, strlen(held)))
			return true;
	}
	return false;
}

/*
 * The agent holds a lock on STATE_DIR/lock. Trying the lock here could prevent an agent from
 * starting.
 */
static bool agent_runs(const char *root, const char *state_dir)
{
	char path[PATH_MAX];
	struct stat st;
	char *text;
	bool held;

	if (snprintf(path, sizeof(path), "%s%s/lock", root, state_dir) >= (int)sizeof(path) ||
		stat(path, &st) < 0 ||
		canfs_read_text(root, "/proc/locks", LOCKS_TEXT_MAX, &text) < 0)
		return false;
	held = canfs_locks_hold(text, major(st.st_dev), minor(st.st_dev), st.st_ino);
	free(text);
	return held;
}

static void take_entries(const struct canfs_journal *journal, struct canfs_host_facts *host)
{
	host->journal_entries = canfs_journal_count(journal);
	for (size_t i = 0; i < host->journal_entries; i++) {
		const struct canfs_journal_entry *entry = canfs_journal_at(journal, i);

		if (entry->yielded)
			continue;
		if (!canfs_knob_info(entry->knob)->per_bdi)
			host->dirty_turned = true;
		else if (entry->knob == CANFS_KNOB_READ_AHEAD &&
			 host->read_aheads_turned < CANFS_MOUNTS_MAX)
			host->read_ahead_turned[host->read_aheads_turned++] = entry->bdi;
	}
}

/*
 * Reads what an agent has changed, whether it still runs or not. Entries of another boot are
 * ignored.
 */
static void gather_journal(const char *root, const char *state_dir, struct canfs_host_facts *host)
{
	char path[PATH_MAX], boot_id[64], error[256];
	struct canfs_journal *journal;
	char *text;
	int ret;

	if (snprintf(path, sizeof(path), "%s/journal", state_dir) >= (int)sizeof(path) ||
		canfs_read_file(root, "/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) <
			0)
		return;
	ret = canfs_read_text(root, path, CANFS_JOURNAL_BYTES_MAX, &text);
	host->journal_hidden = ret == -EACCES;
	if (ret < 0)
		return;
	boot_id[strcspn(boot_id, "\n")] = '\0';
	if (canfs_journal_parse(&journal, text, boot_id, error, sizeof(error)) == 0) {
		take_entries(journal, host);
		canfs_journal_close(journal);
	}
	free(text);
}

static void gather_agent(const char *root, const char *config_file, struct canfs_host_facts *host)
{
	struct canfs_agent_config *config = &host->config;
	char path[PATH_MAX];

	canfs_config_defaults(config);
	if (snprintf(path, sizeof(path), "%s%s", root, config_file) < (int)sizeof(path) &&
		canfs_config_parse_file(config, path, host->config_error) == -ENOENT)
		host->config_error[0] = '\0'; /* the file is optional */
	host->agent_runs = agent_runs(root, config->state_dir);
	gather_journal(root, config->state_dir, host);
}

void canfs_host_gather(const char *root, const char *config_file, struct canfs_host_facts *host)
{
	*host = (struct canfs_host_facts) { .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE) };
	gather_kernel(root, host);
	gather_memory(root, host);
	gather_network(root, host);
	gather_client_id(root, host);
	gather_agent(root, config_file, host);
}

void canfs_host_sum_up(
	struct canfs_host_facts *host, const struct canfs_mount_facts *mounts, size_t n)
{
	host->has_mounts = n > 0;
	for (size_t i = 0; i < n; i++) {
		const struct canfs_mount_options *options = &mounts[i].mount->options;
		const struct canfs_link_facts *link = &mounts[i].link;
		const uint64_t bandwidth_delay = (uint64_t)link->speed_mbit * link->rtt_usec / 8;

		if (options->rsize_bytes > host->rsize_bytes)
			host->rsize_bytes = options->rsize_bytes;
		if (options->wsize_bytes > host->wsize_bytes)
			host->wsize_bytes = options->wsize_bytes;
		if (bandwidth_delay > host->bandwidth_delay)
			host->bandwidth_delay = bandwidth_delay;
		if (link->speed_mbit &&
			(!host->slowest_mbit || link->speed_mbit < host->slowest_mbit))
			host->slowest_mbit = link->speed_mbit;
	}
}
