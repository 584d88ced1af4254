// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfsctl doctor: finds what slows the NFS mounts of this client or the disks of a server, and
 * advises.
 */
#include "canfsctl/ctl.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "canfsctl/doctor/checks.h"
#include "canfsctl/output.h"
#include "canfsctl/socket.h"

/* Exit statuses as in diff(1): 1 if something was found. */
enum { HEALTHY, FINDINGS, FAILED };

struct options {
	const char *mountpoint; /* NULL: all mounts */
	const char *config_file;
	double timeout_sec;
	bool json;
};

struct examined {
	struct canfs_host_facts host;
	size_t n;
	struct canfs_mount_facts *mount;
	const struct canfs_mounts *mounts;
};

static const struct ctl_option option_table[] = {
	CTL_FLAG("json", json, "one JSON array"),
	CTL_NUMBER("timeout", "=SECONDS", timeout_sec, 0.1, 60, "how long to wait for prices (3)"),
	CTL_TEXT("config", "=FILE", config_file,
		"the agent's configuration (" CANFS_CONFIG_FILE ")"),
	{ 0 },
};

static const struct ctl_syntax syntax = {
	.name = "doctor",
	.usage = "usage: canfsctl doctor [OPTION ...] [MOUNT]\n"
		 "\n"
		 "Finds what slows the NFS mounts of this client (or one of them) and, on an NFS\n"
		 "server, its disks and file systems, and prints remedies. Changes nothing, and\n"
		 "waits for no server longer than --timeout.\n"
		 "\n",
	.options = option_table,
	.epilog = "\n"
		  "Exit status: 0 nothing found, 1 findings, 2 error.\n",
};

/* Returns -1 to go on, else the exit status. */
static int parse_command_line(struct options *options, int argc, char **argv)
{
	unsigned int given;
	int status;

	*options = (struct options) { .timeout_sec = 3, .config_file = CANFS_CONFIG_FILE };
	status = ctl_parse(&syntax, options, &given, argc, argv);
	if (status >= 0)
		return status == CTL_OK ? HEALTHY : FAILED;
	if (argc - optind > 1) {
		ctl_warn("doctor: expected one mount point at most, got %d", argc - optind);
		return FAILED;
	}
	options->mountpoint = ctl_mountpoint(argv[optind]);
	return -1;
}

/*
 * Chooses the mounts to judge, as indices: one for each BDI, or the one named on the command line.
 */
static size_t choose(const struct options *options, const struct canfs_mounts *mounts,
	size_t index[CANFS_MOUNTS_MAX])
{
	if (!options->mountpoint)
		return canfs_mounts_bdis(mounts, index);
	for (size_t i = mounts->n; i-- > 0;) { /* the topmost of several */
		if (strcmp(options->mountpoint, mounts->mount[i].mountpoint) == 0) {
			index[0] = i;
			return 1;
		}
	}
	return 0;
}

/* data: a mount point; NULL: all mounts are wanted. */
static bool is_named(const void *data, const struct canfs_mount *mount)
{
	return !data || strcmp(data, mount->mountpoint) == 0;
}

static int read_mounts(
	const struct options *options, struct canfs_mounts *mounts, struct examined *examined)
{
	struct canfs_mountstats *stats = calloc(CANFS_MOUNTS_MAX, sizeof(*stats));
	size_t index[CANFS_MOUNTS_MAX];
	bool has_counters;
	int ret = stats ? canfs_mounts_read_wanted("", is_named, options->mountpoint, mounts)
			: -ENOMEM;

	if (ret < 0) {
		ctl_warn("doctor: /proc/self/mountinfo: %s", strerrordesc_np(-ret));
		goto out;
	}
	ret = canfs_mountstats_read("", mounts, stats);
	if (ret < 0) /* such as when the NFS module is not loaded */
		ctl_warn("doctor: no counters: /proc/self/mountstats: %s", strerrordesc_np(-ret));
	has_counters = ret == 0;
	examined->n = choose(options, mounts, index);
	ret = -ENOENT;
	if (options->mountpoint && examined->n == 0 &&
		!canfs_mounts_find_unfit_at(mounts, options->mountpoint)) {
		ctl_warn("doctor: '%s' is not an NFS mount point; findmnt -t nfs,nfs4 lists them",
			options->mountpoint);
		goto out;
	}
	ret = -ENOMEM;
	examined->mount = calloc(examined->n + 1, sizeof(*examined->mount));
	if (!examined->mount)
		goto out;
	for (size_t i = 0; i < examined->n; i++) {
		examined->mount[i].mount = &mounts->mount[index[i]];
		examined->mount[i].stats = stats[index[i]];
		if (has_counters && !stats[index[i]].found)
			examined->mount[i].lacks = canfs_mountstats_lack("", mounts, index[i]);
	}
	examined->mounts = mounts;
	ret = 0;
out:
	free(stats);
	return ret;
}

/* Asks the server by its control socket. Returns false if the server cannot be asked. */
static bool grants_no_delegations(double timeout_sec)
{
	struct ctl_peer peer = {
		.socket = CTL_GANESHA_SOCKET, .who = "server", .timeout_sec = timeout_sec
	};
	json_t *reply =
		ctl_dial(&peer) ? ctl_ask(&peer, json_pack("{s:s}", "command", "counters")) : NULL;
	const json_t *exports = json_object_get(reply, "delegating_exports");
	const bool none = exports && json_integer_value(exports) == 0;

	json_decref(reply);
	ctl_hang_up(&peer);
	return none;
}

static void examine(const struct options *options, struct examined *examined)
{
	canfs_host_gather("", options->config_file, &examined->host);
	examined->host.mounts_left_out = examined->mounts->dropped;
	if (!options->mountpoint) {
		canfs_server_gather("", &examined->host);
		examined->host.no_delegations = examined->host.ganesha_serves &&
						grants_no_delegations(options->timeout_sec);
		canfs_disks_gather("", &examined->host);
	}
	for (size_t i = 0; i < examined->n; i++)
		canfs_mount_gather("", &examined->mount[i]);
	canfs_prices_gather(examined->mount, examined->n,
		(uint16_t)examined->host.config.price_port, options->timeout_sec);
	canfs_host_sum_up(&examined->host, examined->mount, examined->n);
}

/* A mount point may contain any byte. All but printable ASCII becomes '?'. */
static const char *plain(char *text)
{
	for (char *c = text; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	return text;
}

/* The subject of a finding. All members are NULL for the host. */
struct subject {
	const char *mountpoint; /* an NFS mount */
	const char *disk;
	const char *file_system; /* mount point of a local file system */
};

/* Where findings go: to the array with --json, else to standard output. */
struct output {
	json_t *array; /* NULL: print text */
	int ret;       /* -ENOMEM: the array is incomplete */
};

static void tell(const struct subject *subject, const char *check, bool note,
	struct canfs_finding *finding, struct output *output)
{
	char where[CANFS_MOUNT_PATH_MAX], disk[CANFS_DISK_NAME_MAX], fs[CANFS_FS_MOUNTPOINT_MAX];

	snprintf(where, sizeof(where), "%s",
		subject->mountpoint ? subject->mountpoint : "this host");
	snprintf(disk, sizeof(disk), "%s", subject->disk ? subject->disk : "");
	snprintf(fs, sizeof(fs), "%s", subject->file_system ? subject->file_system : "");
	plain(where);
	plain(disk);
	plain(fs);
	plain(finding->what);
	plain(finding->remedy);
	if (output->array && json_array_append_new(output->array,
				     json_pack("{s:s?, s:s?, s:s?, s:s, s:s, s:s, s:s}", "mount",
					     subject->mountpoint ? where : NULL, "disk",
					     subject->disk ? disk : NULL, "file_system",
					     subject->file_system ? fs : NULL, "check", check,
					     "level", note ? "note" : "finding", "finding",
					     finding->what, "remedy", finding->remedy)) != 0)
		output->ret = -ENOMEM;
	if (!output->array)
		printf("%s: %s%s: %s\n    remedy: %s\n", where, note ? "note: " : "", check,
			finding->what, finding->remedy);
}

/* Reports all findings and notes. Returns the number of findings without notes. */
static unsigned int judge(const struct examined *examined, struct output *output)
{
	const struct canfs_check *check;
	struct canfs_finding finding;
	unsigned int findings = 0;

	for (size_t i = 0; (check = canfs_check_at(i)); i++) {
		const size_t n = check->per_mount ? examined->n : 1;

		for (size_t k = 0; k < n; k++) {
			const struct canfs_mount_facts *mount =
				check->per_mount ? &examined->mount[k] : NULL;
			const struct subject subject = {
				.mountpoint = mount ? mount->mount->mountpoint : NULL
			};

			if (!check->judge(&examined->host, mount, &finding))
				continue;
			tell(&subject, check->name, check->note, &finding, output);
			findings += !check->note;
		}
	}
	return findings;
}

/* Does the table contain a mount of this super block? */
static bool has_bdi(const struct canfs_mounts *mounts, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < mounts->n; i++) {
		if (canfs_bdi_equal(mounts->mount[i].bdi, bdi))
			return true;
	}
	return false;
}

/* A note for each BDI that canfs does not manage. */
static void tell_unfit(
	const struct options *options, const struct examined *examined, struct output *output)
{
	for (size_t i = 0; i < examined->mounts->unfits; i++) {
		const struct canfs_unfit_mount *unfit = &examined->mounts->unfit[i];
		const struct subject subject = { .mountpoint = unfit->mountpoint };
		struct canfs_finding finding;

		if (options->mountpoint ? unfit != canfs_mounts_find_unfit_at(
							   examined->mounts, options->mountpoint)
					: has_bdi(examined->mounts, unfit->bdi))
			continue;
		canfs_finding_say(&finding, "canfs cannot manage this mount: %s", unfit->why);
		canfs_finding_advise(&finding, "none needed: this mount stays at kernel defaults");
		tell(&subject, "unfit", true, &finding, output);
	}
}

static unsigned int judge_disks(const struct canfs_host_facts *host, struct output *output)
{
	const struct canfs_disk_check *check;
	struct canfs_finding finding;
	unsigned int findings = 0;

	for (size_t i = 0; (check = canfs_disk_check_at(i)); i++) {
		for (size_t k = 0; k < host->disks; k++) {
			const struct subject subject = { .disk = host->disk[k].name };

			if (!check->judge(&host->disk[k], &finding))
				continue;
			tell(&subject, check->name, false, &finding, output);
			findings++;
		}
	}
	return findings;
}

static unsigned int judge_file_systems(const struct canfs_host_facts *host, struct output *output)
{
	const struct canfs_fs_check *check;
	struct canfs_finding finding;
	unsigned int findings = 0;

	for (size_t i = 0; (check = canfs_fs_check_at(i)); i++) {
		for (size_t k = 0; k < host->file_systems; k++) {
			const struct canfs_fs_facts *fs = &host->file_system[k];
			const struct subject subject = { .file_system = fs->mountpoint };

			if (!check->judge(host, fs, &finding))
				continue;
			tell(&subject, check->name, check->note, &finding, output);
			findings += !check->note;
		}
	}
	return findings;
}

/*
 * Such as "2 NFS mounts checked: 1 finding", or on a server "0 NFS mounts and 3 disks checked:
 * 0 findings".
 */
static void print_total(const struct examined *examined, unsigned int findings)
{
	const size_t disks = examined->host.disks;

	printf("%zu NFS mount%s", examined->n, examined->n == 1 ? "" : "s");
	if (canfs_serves_nfs(&examined->host))
		printf(" and %zu disk%s", disks, disks == 1 ? "" : "s");
	printf(" checked: %u finding%s\n", findings, findings == 1 ? "" : "s");
}

static int report(const struct options *options, const struct examined *examined)
{
	struct output output = { .array = options->json ? json_array() : NULL };
	unsigned int findings;

	if (options->json && !output.array) {
		ctl_end_output(-ENOMEM);
		return FAILED;
	}
	findings = judge(examined, &output) + judge_disks(&examined->host, &output) +
		   judge_file_systems(&examined->host, &output);
	tell_unfit(options, examined, &output);
	if (!options->json)
		print_total(examined, findings);
	else if (output.ret == 0)
		output.ret = ctl_put_json(output.array, JSON_INDENT(2));
	json_decref(output.array);
	if (ctl_end_output(output.ret) != CTL_OK)
		return FAILED;
	return findings ? FINDINGS : HEALTHY;
}

int ctl_doctor(int argc, char **argv)
{
	struct canfs_mounts *mounts = NULL;
	struct examined examined = { 0 };
	struct options options;
	int status = parse_command_line(&options, argc, argv);

	if (status >= 0)
		return status;
	status = FAILED;
	mounts = malloc(sizeof(*mounts));
	if (mounts && read_mounts(&options, mounts, &examined) == 0) {
		examine(&options, &examined);
		status = report(&options, &examined);
	}
	free(examined.mount);
	free(mounts);
	return status;
}
