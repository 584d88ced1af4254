// SPDX-License-Identifier: LGPL-3.0-or-later
/* What canfsctl doctor makes of any mountinfo, mountstats and locks: whole lines, each with a remedy. */
#include "tests/fuzz/text.h"

#include <stdio.h>
#include "canfsctl/doctor/checks.h"

static void check_one_line(const char *line, size_t size)
{
	FUZZ_CHECK(line[0] && strnlen(line, size) < size);
}

static void judge(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount)
{
	const struct canfs_check *check;

	for (size_t i = 0; (check = canfs_check_at(i)); i++) {
		struct canfs_finding finding = { 0 };

		if (!check->judge(host, check->per_mount ? mount : NULL, &finding))
			continue;
		check_one_line(finding.what, sizeof(finding.what));
		check_one_line(finding.remedy, sizeof(finding.remedy));
	}
}

static void judge_disk(const struct canfs_disk_facts *disk)
{
	const struct canfs_disk_check *check;

	for (size_t i = 0; (check = canfs_disk_check_at(i)); i++) {
		struct canfs_finding finding = { 0 };

		if (!check->judge(disk, &finding))
			continue;
		check_one_line(finding.what, sizeof(finding.what));
		check_one_line(finding.remedy, sizeof(finding.remedy));
	}
}

/* The devices of the lines that are of local file systems; what their disks are, the number says. */
static void judge_local(const char *text)
{
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		struct canfs_disk_facts disk = { .no_scheduler = true };
		struct canfs_fs_facts fs;

		canfs_udp_line_has_port(line, end, 20590);
		if (!canfs_local_fs_parse(line, end, &fs))
			continue;
		snprintf(disk.name, sizeof(disk.name), "%u:%u", fs.device.major, fs.device.minor);
		disk.rotational = fs.device.major % 2;
		disk.is_virtual = fs.device.major / 2 % 2;
		disk.wbt_lat_usec = fs.device.minor;
		judge_disk(&disk);
	}
}

/* The input is all three files in one, and gives the numbers of the host. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct canfs_mounts mounts;
	static struct canfs_mountstats stats[CANFS_MOUNTS_MAX];
	struct canfs_host_facts host = { 0 };
	struct canfs_mount_facts facts = { 0 };
	char *text = fuzz_text(data, size);

	if (size >= sizeof(host.page_bytes))
		memcpy(&host.page_bytes, data, sizeof(host.page_bytes));
	host.dirty_bytes = host.background_bytes = size * host.page_bytes;
	host.expire_sec = size % 61;
	host.slots_max = size;
	host.receive_buffer_bytes = size << 10;
	facts.link.mtu_bytes = facts.link.mss_bytes = host.page_bytes;
	facts.link.speed_mbit = facts.link.rtt_usec = host.page_bytes;
	facts.read_ahead_kib = size;
	facts.price = size % 4;
	facts.service = size % CANFS_SERVICE_FACTS;
	host.kernel_serves = size % 2;

	canfs_locks_hold(text, 0, 22, 493);
	judge_local(text);
	canfs_mounts_parse(text, &mounts);
	canfs_mountstats_parse(text, &mounts, stats);
	for (size_t i = 0; i < mounts.n; i++) {
		facts.mount = &mounts.mount[i];
		facts.stats = stats[i];
		facts.lacks = stats[i].found ? NULL : "bytes:";
		canfs_host_sum_up(&host, &facts, 1);
		judge(&host, &facts);
	}
	free(text);
	return 0;
}
