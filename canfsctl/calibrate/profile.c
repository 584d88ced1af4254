// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/calibrate/profile.h"

#include <math.h>
#include "common/control/request.h"

#define BITS_PER_MBIT  1e6
#define USEC_PER_MSEC  1e3
#define LINK_SPEED_MAX 1e7
#define QUEUE_MAX      65536.0

static unsigned int whole(double value, double least, double most)
{
	return (unsigned int)lround(fmin(fmax(value, least), most));
}

struct canfs_profile canfs_profile_of(const struct canfs_calibration *calibration)
{
	struct canfs_profile profile = { 0 };

	if (calibration->host) {
		const struct canfs_link_result *link = &calibration->link;
		const double slower = fmin(link->sent_bits_per_sec, link->received_bits_per_sec);

		profile.link_mbit_per_sec = whole(slower / BITS_PER_MBIT, 1, LINK_SPEED_MAX);
	}
	if (calibration->directory) {
		const struct canfs_knee *reads = &calibration->disk.curves[CANFS_READS].knee;
		const struct canfs_knee *writes = &calibration->disk.curves[CANFS_WRITES].knee;

		profile.disk_read_queue = whole(reads->depth, 1, QUEUE_MAX);
		/* A write cache answers before the disk has done anything: that says nothing. */
		if (!writes->is_flat)
			profile.disk_write_queue = whole(writes->depth, 1, QUEUE_MAX);
	}
	return profile;
}

/*
 * Replaces control characters: a name from the command line must not end the comment that contains
 * it.
 */
static void print_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name, out);
}

static void print_link_options(
	FILE *out, const struct canfs_calibration *calibration, const struct canfs_profile *profile)
{
	fputs("\t# TCP to and from ", out);
	print_name(out, calibration->host);
	fprintf(out, ": %.0f and %.0f Mbit/s\n",
		calibration->link.sent_bits_per_sec / BITS_PER_MBIT,
		calibration->link.received_bits_per_sec / BITS_PER_MBIT);
	if (*calibration->link.interface)
		fprintf(out, "\tInterfaces = %s;\n", calibration->link.interface);
	fprintf(out, "\tLink_Speed = %u;\n", profile->link_mbit_per_sec);
}

static void print_disk_options(
	FILE *out, const struct canfs_calibration *calibration, const struct canfs_profile *profile)
{
	fputs("\t# disk below ", out);
	print_name(out, calibration->directory);
	fputs("; if other exports are on other disks, these lines belong in the\n"
	      "\t# EXPORT { FSAL { Name = CANFS; ... } } blocks of the exports on this one\n",
		out);
	fprintf(out, "\tDisk_Read_Queue = %u;\n", profile->disk_read_queue);
	if (profile->disk_write_queue)
		fprintf(out, "\tDisk_Write_Queue = %u;\n", profile->disk_write_queue);
	else
		fputs("\t# Disk_Write_Queue by type: its write cache hides the disk's own queue\n",
			out);
}

void canfs_profile_print(FILE *out, const struct canfs_calibration *calibration)
{
	const struct canfs_profile profile = canfs_profile_of(calibration);

	fputs("# Measured by canfsctl calibrate: see ganesha-canfs-config(8).\nCANFS {\n", out);
	if (calibration->host)
		print_link_options(out, calibration, &profile);
	if (calibration->directory)
		print_disk_options(out, calibration, &profile);
	fputs("}\n", out);
}

static void print_curve(FILE *out, const char *what, const char *option, unsigned int queue,
	const struct canfs_disk_curve *curve)
{
	fprintf(out, "\n%6s %9s/s %12s\n", "depth", what, "latency, ms");
	for (size_t i = 0; i < curve->count; i++) {
		const struct canfs_load_point *point = &curve->points[i];

		fprintf(out, "%6.0f %11.0f %12.3f%s\n", point->depth, point->per_sec,
			point->latency_usec / USEC_PER_MSEC,
			point->depth == curve->knee.depth ? "  <- knee" : "");
	}
	if (queue)
		fprintf(out, "%s %u%s\n", option, queue,
			curve->knee.at_end ? "; the disk may take more" : "");
	else
		fprintf(out,
			"%s left at its default: depth gains nothing, so there is a write cache\n",
			option);
}

void canfs_calibration_print(FILE *out, const struct canfs_calibration *calibration)
{
	const struct canfs_profile profile = canfs_profile_of(calibration);
	const struct canfs_link_result *link = &calibration->link;

	if (calibration->host)
		fprintf(out, "Link to %s%s%s: sent %.1f Mbit/s, received %.1f; Link_Speed %u\n",
			calibration->host, *link->interface ? " by " : "", link->interface,
			link->sent_bits_per_sec / BITS_PER_MBIT,
			link->received_bits_per_sec / BITS_PER_MBIT, profile.link_mbit_per_sec);
	if (calibration->directory) {
		fprintf(out, "Disk below %s, random 4 KiB:\n", calibration->directory);
		print_curve(out, "reads", "Disk_Read_Queue", profile.disk_read_queue,
			&calibration->disk.curves[CANFS_READS]);
		print_curve(out, "writes", "Disk_Write_Queue", profile.disk_write_queue,
			&calibration->disk.curves[CANFS_WRITES]);
	}
}

/* 0 becomes null. */
static json_t *option_json(unsigned int value)
{
	return value ? json_integer(value) : json_null();
}

static json_t *curve_json(const struct canfs_disk_curve *curve)
{
	json_t *list = json_array();

	for (size_t i = 0; i < curve->count; i++)
		json_array_append_new(
			list, json_pack("{s:f, s:f, s:f}", "depth", curve->points[i].depth,
				      "per_sec", curve->points[i].per_sec, "latency_usec",
				      curve->points[i].latency_usec));
	return list;
}

static json_t *link_json(
	const struct canfs_calibration *calibration, const struct canfs_profile *profile)
{
	const struct canfs_link_result *link = &calibration->link;

	return json_pack("{s:o, s:s?, s:f, s:f, s:o}", "host",
		canfs_control_text(calibration->host), "interface",
		*link->interface ? link->interface : NULL, "sent_bits_per_sec",
		link->sent_bits_per_sec, "received_bits_per_sec", link->received_bits_per_sec,
		"Link_Speed", option_json(profile->link_mbit_per_sec));
}

static json_t *disk_json(
	const struct canfs_calibration *calibration, const struct canfs_profile *profile)
{
	const struct canfs_disk_curve *curves = calibration->disk.curves;

	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "directory",
		canfs_control_text(calibration->directory), "reads",
		curve_json(&curves[CANFS_READS]), "writes", curve_json(&curves[CANFS_WRITES]),
		"Disk_Read_Queue", option_json(profile->disk_read_queue), "Disk_Write_Queue",
		option_json(profile->disk_write_queue));
}

json_t *canfs_calibration_json(const struct canfs_calibration *calibration)
{
	const struct canfs_profile profile = canfs_profile_of(calibration);

	return json_pack("{s:o, s:o}", "link",
		calibration->host ? link_json(calibration, &profile) : json_null(), "disk",
		calibration->directory ? disk_json(calibration, &profile) : json_null());
}
