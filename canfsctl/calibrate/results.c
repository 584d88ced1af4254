// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/calibrate/results.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <jansson.h>

#define USEC_PER_NSEC 1e-3
/*
 * Bytes that an interface counts beside a segment's data: Ethernet 14, IPv4 20, TCP with time
 * stamps 32.
 */
#define HEADER_BYTES      66
#define SEGMENT_BYTES_MIN 64
#define SEGMENT_BYTES_MAX 65536
/* The fastest link that Ganesha's configuration accepts (10 Tbit/s). A higher result is invalid. */
#define BITS_PER_SEC_MAX 1e13

/* Parses the object. Warnings may precede it. */
static json_t *load(const char *text)
{
	const char *begin = strchr(text, '{');

	return begin ? json_loads(begin, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
}

/* Returns 0 if the member is not a number. No number that is read here may be 0. */
static double number(const json_t *object, const char *name)
{
	const double value = json_number_value(json_object_get(object, name));

	return isfinite(value) ? value : 0.0;
}

int canfs_fio_parse(const char *text, enum canfs_direction direction,
	struct canfs_load_point *point, char error[CANFS_RESULT_ERROR_MAX])
{
	const char *name = direction == CANFS_READS ? "read" : "write";
	json_t *root = load(text);
	const json_t *job = json_array_get(json_object_get(root, "jobs"), 0);
	const json_t *half = json_object_get(job, name);
	const double failure = number(job, "error");
	const double per_sec = number(half, "iops");
	const double latency_nsec = number(json_object_get(half, "lat_ns"), "mean");
	int ret = 0;

	if (failure != 0.0) {
		const char *words =
			failure > 0 && failure < 4096 ? strerrordesc_np((int)failure) : NULL;

		snprintf(error, CANFS_RESULT_ERROR_MAX, "%s", words ? words : "failed");
		ret = -EIO;
	} else if (!(per_sec > 0.0 && latency_nsec > 0.0)) {
		snprintf(error, CANFS_RESULT_ERROR_MAX, "printed no result for %ss", name);
		ret = -EPROTO;
	} else {
		point->per_sec = per_sec;
		point->latency_usec = latency_nsec * USEC_PER_NSEC;
	}
	json_decref(root);
	return ret;
}

/* iperf3 reports goodput. Headers also fill a link, and the server's monitor counts them. */
static double on_the_wire(double goodput, double segment_bytes)
{
	if (!(segment_bytes >= SEGMENT_BYTES_MIN && segment_bytes <= SEGMENT_BYTES_MAX))
		return goodput;
	return goodput * (segment_bytes + HEADER_BYTES) / segment_bytes;
}

int canfs_iperf_parse(const char *text, struct canfs_iperf *run, char error[CANFS_RESULT_ERROR_MAX])
{
	json_t *root = load(text);
	const json_t *start = json_object_get(root, "start");
	const json_t *received = json_object_get(json_object_get(root, "end"), "sum_received");
	const char *failure = json_string_value(json_object_get(root, "error"));
	const char *address = json_string_value(json_object_get(
		json_array_get(json_object_get(start, "connected"), 0), "local_host"));
	const double goodput = number(received, "bits_per_second");
	int ret = 0;

	if (failure) {
		snprintf(error, CANFS_RESULT_ERROR_MAX, "%s", failure);
		ret = -EREMOTEIO;
	} else if (!address || !*address || strlen(address) >= CANFS_ADDRESS_MAX ||
		   !(goodput > 0.0 && goodput <= BITS_PER_SEC_MAX)) {
		snprintf(error, CANFS_RESULT_ERROR_MAX, "printed no result");
		ret = -EPROTO;
	} else {
		run->bits_per_sec = on_the_wire(goodput, number(start, "tcp_mss_default"));
		strcpy(run->local_address, address);
	}
	json_decref(root);
	return ret;
}
