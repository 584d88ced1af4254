// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-micro: nanoseconds per call of what runs often, warm. JSON: for each function the time per
 * call of each run. How often it is called in one run is found first, so that a run is long
 * against the clock's steps and against an interrupt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <arpa/inet.h>

#include "bench/jobs/job.h"
#include "bench/micro/fixture.h"
#include "common/clock.h"
#include "common/file.h"

#define SAMPLE_MSEC 100 /* the sampler's clock per pass */
#define MOUNT_BYTES 4096

/* A server whose clients read more than it caches. */
#define GHOST_CACHE_BYTES ((uint64_t)8 << 30)
#define GHOST_READS       10000000 /* fed before anything is measured */
#define GHOST_SMALL_FILES 1000000  /* of 8 KiB */
#define GHOST_LARGE_FILES 100u     /* of 1 GiB */

static double share(struct fixture *f)
{
	return (double)(f->turn++ & 0xff) / 255;
}

static void price(struct fixture *f)
{
	f->sink = canfs_price(share(f), 20);
}

static void quote(struct fixture *f)
{
	f->market.utilization[CANFS_DISK] = share(f);
	f->sink = canfs_market_quote(&f->market, CANFS_WRITE).price;
}

static void encode(struct fixture *f)
{
	f->tag.write = share(f);
	f->sink = canfs_tag_encode(&f->space, &f->tag);
}

static void decode(struct fixture *f)
{
	struct canfs_tag tag;

	f->sink = canfs_tag_decode(&f->space, &tag);
}

static void auction(struct fixture *f)
{
	f->now_usec += 1000;
	f->sink = canfs_auction_hold(&f->auction, share(f), 0.5, f->now_usec);
}

static void price_table_read(struct fixture *f)
{
	f->sink = canfs_price_table_read(f->one_export.prices[0], f->now_usec, &f->tag);
}

/* What it costs a READ or WRITE to be counted for one of so many clients. */
static void count_client(struct fixture *f, struct canfs_clients *clients, uint32_t of)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	in.sin_addr.s_addr = htonl(0x0a000000u + (uint32_t)f->turn++ % of);
	canfs_clients_count(clients, (const struct sockaddr *)&in, CANFS_CLIENT_READ, 4096);
}

static void clients_few(struct fixture *f)
{
	count_client(f, f->few_clients, 16);
}

static void clients_many(struct fixture *f)
{
	count_client(f, f->many_clients, 16 * CANFS_CLIENTS_MAX);
}

/* What it costs an operation beyond being counted that somebody may ask who waited for whom: a read of the disk, the most there is. */
static void waiting_operation(struct fixture *f)
{
	struct canfs_client_load *load = f->loads[f->turn++ % WAITING_CLIENTS];
	uint64_t begun_usec = canfs_now_usec(), ended_usec;

	canfs_client_begin(load, CANFS_WAIT_READ, begun_usec);
	ended_usec = canfs_now_usec();
	canfs_client_end(load, CANFS_WAIT_READ, ended_usec);
	if (ended_usec >= begun_usec) /* not CANFS_DISK_READ_USEC: nothing is waited for here */
		canfs_client_note_disk_read(load, 4096);
}

/* A step of so many clients, all of which load the disk and wait for it. */
static void waiting_step(struct fixture *f, struct canfs_clients *clients,
	struct canfs_waiting *waiting, uint32_t of)
{
	struct canfs_disk_sample *disk = &f->disk;

	f->now_usec += SAMPLE_MSEC * 1000;
	for (uint32_t i = 0; i < of; i++) {
		struct sockaddr_in in = { .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(0x0a000000u + i) };
		struct canfs_client_load *load = canfs_clients_count(
			clients, (const struct sockaddr *)&in, CANFS_CLIENT_READ, 4096);

		canfs_client_begin(load, CANFS_WAIT_READ, f->now_usec - SAMPLE_MSEC * 1000);
		canfs_client_end(load, CANFS_WAIT_READ, f->now_usec);
		canfs_client_note_disk_read(load, 4096);
	}
	disk->reads += of;
	disk->read_bytes += of * UINT64_C(4096);
	canfs_waiting_step(waiting, f->now_usec, clients, disk);
}

static void waiting_few(struct fixture *f)
{
	waiting_step(f, f->few_clients, f->few_waiting, WAITING_CLIENTS);
}

static void waiting_many(struct fixture *f)
{
	waiting_step(f, f->many_clients, f->many_waiting, CANFS_CLIENTS_MAX);
}

/* What it costs a reply to know its client's premium; of full_classes nobody is a client, so that all are looked through. */
static void find_premium(struct fixture *f, struct canfs_shared_classes *classes)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	in.sin_addr.s_addr = htonl(0x0b000000u + (uint32_t)(f->turn++ & 0xff));
	f->sink = canfs_shared_classes_premium(classes, (const struct sockaddr *)&in);
}

static void premium_none(struct fixture *f)
{
	find_premium(f, &f->no_classes);
}

static void premium_full(struct fixture *f)
{
	find_premium(f, &f->full_classes);
}

static void sampling_pass(struct fixture *f, struct canfs_sampler *sampler)
{
	f->now_usec += SAMPLE_MSEC * 1000;
	canfs_sampler_step(sampler, f->now_usec);
}

static void sampler_one(struct fixture *f)
{
	sampling_pass(f, f->one_export.sampler);
}

static void sampler_ten(struct fixture *f)
{
	sampling_pass(f, f->ten_exports.sampler);
}

static void sampler_hundred(struct fixture *f)
{
	sampling_pass(f, f->hundred_exports.sampler);
}

static void ghosts_note_small(struct fixture *f)
{
	canfs_ghosts_note_read(f->small_reads, random_below(f, GHOST_SMALL_FILES), 0, 8192);
}

static void ghosts_note_large(struct fixture *f)
{
	uint64_t read = random_below(f, (uint64_t)GHOST_LARGE_FILES << 10);

	canfs_ghosts_note_read(f->large_reads, read >> 10, (read & 1023) << 20, 1u << 20);
}

static void ghosts_note_unsampled(struct fixture *f)
{
	canfs_ghosts_note_read(f->small_reads, f->unsampled_file, 0, 8192);
}

static void ghosts_forecast(struct fixture *f)
{
	canfs_ghosts_resize(f->small_reads, GHOST_CACHE_BYTES);
	f->sink = canfs_ghosts_forecast(f->small_reads, 0.1).utilization;
}

static void mountstats_one(struct fixture *f)
{
	f->sink = canfs_mountstats_parse(f->one_text, f->one, f->stats);
}

static void mountstats_many(struct fixture *f)
{
	f->sink = canfs_mountstats_parse(f->many_text, f->many, f->stats);
}

static void meminfo(struct fixture *f)
{
	f->sink = canfs_meminfo_parse(f->meminfo_text, &f->meminfo);
}

static const struct {
	const char *name;
	void (*call)(struct fixture *f);
} functions[] = {
	{ "canfs_price", price },
	{ "canfs_market_quote", quote },
	{ "canfs_tag_encode", encode },
	{ "canfs_tag_decode", decode },
	{ "canfs_auction_hold", auction },
	{ "canfs_sampler_step-1", sampler_one },
	{ "canfs_sampler_step-10", sampler_ten },
	{ "canfs_sampler_step-100", sampler_hundred },
	{ "canfs_price_table_read", price_table_read },
	{ "canfs_shared_classes_premium-0", premium_none },
	{ "canfs_shared_classes_premium-256", premium_full }, /* networks */
	{ "canfs_ghosts_note_read-8k", ghosts_note_small },
	{ "canfs_ghosts_note_read-1m", ghosts_note_large },
	{ "canfs_ghosts_note_read-unsampled", ghosts_note_unsampled },
	{ "canfs_ghosts_forecast", ghosts_forecast },
	{ "canfs_files_read-1", files_read_one },
	{ "canfs_files_read-million", files_read_million },
	{ "stream-read", stream_read },
	{ "canfs_files_read-random", files_read_random },
	{ "canfs_clients_count-16", clients_few },
	{ "canfs_clients_count-4096", clients_many }, /* nearly all miss */
	{ "canfs_client_operation", waiting_operation },
	{ "canfs_waiting_step-8", waiting_few },
	{ "canfs_waiting_step-256", waiting_many },
	{ "canfs_subscribers_push-10000-quiet",
		subscribers_quiet }, /* all of them: nobody is told */
	{ "canfs_subscribers_push-10000", subscribers_told },
	{ "canfs_subscribers_push-10000-exports",
		subscribers_apart },              /* one each; nobody is told */
	{ "canfs_queue-10000-fifo", queue_fifo }, /* in, taken, done */
	{ "canfs_queue-10000-elevator", queue_elevator },
	{ "canfs_queue-10000-n-cscan", queue_n_cscan },
	{ "canfs_mountstats_parse-1", mountstats_one },
	{ "canfs_mountstats_parse-100", mountstats_many },
	{ "canfs_meminfo_parse", meminfo },
};

/* Mounts as an NFSv3 client shows them: 22 operations each. Returns 0 or -1 (no memory). */
static int make_mounts(unsigned int n, struct canfs_mounts **mounts, char **text)
{
	char *info = calloc(n, MOUNT_BYTES);
	size_t capacity = (size_t)n * MOUNT_BYTES, used = 0, told = 0;

	*mounts = calloc(1, sizeof(**mounts));
	*text = calloc(1, capacity);
	if (!info || !*mounts || !*text) {
		free(info);
		return -1;
	}
	for (unsigned int i = 0; i < n; i++) {
		used += (size_t)snprintf(info + used, capacity - used,
			"%u 1 0:%u / /mnt/%u rw - nfs srv:/export/%u rw,vers=3,addr=10.0.0.1\n",
			i + 1, i + 40, i, i);
		told += (size_t)snprintf(*text + told, capacity - told,
			"device srv:/export/%u mounted on /mnt/%u with fstype nfs statvers=1.1\n"
			"\topts:\trw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp\n"
			"\tage:\t86400\n\tsec:\tflavor=1,pseudoflavor=1\n"
			"\tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22\n"
			"\tbytes:\t1048576 2097152 0 0 1048576 2097152 256 512\n"
			"\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"
			"\txprt:\ttcp 0 1 1 0 12 700000 700000 0 1000 0 16 200 300\n"
			"\tper-op statistics\n",
			i, i);
		for (unsigned int op = 0; op < 22; op++)
			told += (size_t)snprintf(*text + told, capacity - told,
				"\t%12s: 100000 100001 0 14000000 12000000 500 60000 61000 0\n",
				op == 6    ? "READ"
				: op == 7  ? "WRITE"
				: op == 21 ? "COMMIT"
					   : "SOMETHING");
	}
	canfs_mounts_parse(info, *mounts);
	free(info);
	return (*mounts)->n == n ? 0 : -1;
}

static void say(const char *message)
{
	fprintf(stderr, "canfs-micro: %s\n", message);
}

/* All exports are on the file system of the current directory. */
static int make_server(struct server *server, unsigned int exports)
{
	struct canfs_sampler_config config = { .interval_ms = SAMPLE_MSEC,
		.publish = true,
		.monitors = 1u << CANFS_CPU | 1u << CANFS_NETWORK | 1u << CANFS_DISK |
			    1u << CANFS_MEMORY,
		.setup = { .root = "", .link_mbit_per_sec = 1000 },
		.say = say };
	struct stat st;
	int ret = stat(".", &st) == 0 ? canfs_sampler_new(&server->sampler, &config) : -1;

	for (unsigned int i = 0; i < exports && !ret; i++)
		ret = canfs_price_table_open(
			&server->prices[i], server->sampler, "/export", st.st_dev, NULL);
	return ret;
}

static void free_server(struct server *server)
{
	for (unsigned int i = 0; i < EXPORTS_MAX; i++)
		canfs_price_table_close(server->prices[i]);
	canfs_sampler_free(server->sampler);
}

/* 10 million reads of 1 million files, and as many large ones. */
static int make_ghosts(struct fixture *f)
{
	struct canfs_ghost_walk walk;
	uint64_t key, seed = 1;
	int ret = canfs_ghosts_new(&f->small_reads, CANFS_GHOSTS_MEMORY_BYTES, seed);

	if (!ret)
		ret = canfs_ghosts_new(&f->large_reads, CANFS_GHOSTS_MEMORY_BYTES, seed);
	if (ret)
		return ret;
	canfs_ghosts_resize(f->small_reads, GHOST_CACHE_BYTES);
	canfs_ghosts_resize(f->large_reads, GHOST_CACHE_BYTES);
	for (int i = 0; i < GHOST_READS; i++) {
		ghosts_note_small(f);
		ghosts_note_large(f);
	}
	do
		canfs_ghost_walk_init(&walk, seed, ++f->unsampled_file, 0, 8192);
	while (canfs_ghost_walk_next(&walk, &key));
	fprintf(stderr, "canfs-micro: ghosts: %zu and %zu of %zu bytes in use\n",
		canfs_ghosts_usage(f->small_reads).used_bytes,
		canfs_ghosts_usage(f->large_reads).used_bytes, CANFS_GHOSTS_MEMORY_BYTES);
	return 0;
}

static int make_classes(struct canfs_shared_classes *shared)
{
	struct canfs_classes classes = { .count = 0 };
	char text[32], error[CANFS_CLASS_ERROR_MAX];

	for (unsigned int i = 0; i < CANFS_CLASS_NETWORKS_MAX; i++) {
		snprintf(text, sizeof(text), "10.%u.0.0/16", i);
		if (canfs_classes_add_word(&classes, text, NULL, NULL, error) != 0)
			return -1;
	}
	if (canfs_classes_end(&classes, "full", 30, error) != 0)
		return -1;
	return canfs_shared_classes_set(shared, &classes) == 1 ? 0 : -1;
}

static int make_waiting(struct fixture *f)
{
	f->few_waiting = canfs_waiting_new();
	f->many_waiting = canfs_waiting_new();
	f->disk = (struct canfs_disk_sample) {
		.disks = 1, .positioning_sec = 8e-3, .bytes_per_sec = 150e6
	};
	for (uint32_t i = 0; i < WAITING_CLIENTS; i++) {
		struct sockaddr_in in = { .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(0x0a000000u + i) };

		f->loads[i] = canfs_clients_load(f->few_clients, (const struct sockaddr *)&in);
	}
	return f->few_waiting && f->many_waiting ? 0 : -1;
}

static int make_fixture(struct fixture *f)
{
	canfs_market_init(&f->market);
	for (int i = CANFS_CPU; i < CANFS_RESOURCES; i++)
		f->market.known[i] = true;
	canfs_auction_init(&f->auction, &canfs_auction_defaults);
	f->tag = (struct canfs_tag) { .write = 0.3, .readahead = 0.2, .bottleneck = CANFS_DISK };
	f->space = (struct canfs_space) { 1u << 30, 1u << 29, 1u << 28 };
	f->now_usec = 1000000;
	f->few_clients = canfs_clients_new();
	f->many_clients = canfs_clients_new();
	if (!f->few_clients || !f->many_clients || canfs_tag_encode(&f->space, &f->tag) != 0 ||
		make_waiting(f) != 0 || make_server(&f->one_export, 1) != 0 ||
		make_server(&f->ten_exports, 10) != 0 ||
		make_server(&f->hundred_exports, EXPORTS_MAX) != 0 || make_ghosts(f) != 0 ||
		make_subscribers(f) != 0 || make_files(f) != 0 || make_disks(f) != 0 ||
		make_classes(&f->full_classes) != 0 || make_mounts(1, &f->one, &f->one_text) != 0 ||
		make_mounts(MOUNTS_MAX, &f->many, &f->many_text) != 0 ||
		canfs_read_file("", "/proc/meminfo", f->meminfo_text, MEMINFO_BYTES) < 0)
		return -1;
	return canfs_meminfo_parse(f->meminfo_text, &f->meminfo);
}

static void free_fixture(struct fixture *f)
{
	canfs_waiting_free(f->few_waiting);
	canfs_waiting_free(f->many_waiting);
	canfs_clients_free(f->few_clients);
	canfs_clients_free(f->many_clients);
	canfs_shared_classes_free(&f->full_classes);
	free_server(&f->one_export);
	free_server(&f->ten_exports);
	free_server(&f->hundred_exports);
	canfs_ghosts_free(f->small_reads);
	canfs_ghosts_free(f->large_reads);
	free_subscribers(f);
	free_prefetching(f);
	free(f->one);
	free(f->many);
	free(f->one_text);
	free(f->many_text);
}

static double run(struct fixture *f, void (*call)(struct fixture *), uint64_t calls)
{
	double begin = canfs_job_now();

	for (uint64_t i = 0; i < calls; i++)
		call(f);
	return canfs_job_now() - begin;
}

static void measure(struct fixture *f, size_t index, unsigned int runs, double seconds)
{
	uint64_t calls = 1;
	double took;

	/* Warms the caches as well. */
	while ((took = run(f, functions[index].call, calls)) < seconds)
		calls = took < seconds / 100 ? calls * 10
					     : (uint64_t)((double)calls * 1.2 * seconds / took) + 1;
	printf("%s\"%s\": [", index ? ",\n " : "", functions[index].name);
	for (unsigned int i = 0; i < runs; i++)
		printf("%s%.2f", i ? ", " : "",
			1e9 * run(f, functions[index].call, calls) / (double)calls);
	printf("]");
}

int main(int argc, char **argv)
{
	static struct fixture fixture;
	unsigned int runs;

	if (argc != 3) {
		fprintf(stderr, "usage: canfs-micro RUNS SECONDS-PER-RUN\n");
		return 2;
	}
	runs = (unsigned int)canfs_job_number("runs", argv[1], 1, 1000);
	if (make_fixture(&fixture) != 0) {
		fprintf(stderr, "canfs-micro: cannot set up (no memory, or no /proc?)\n");
		return 1;
	}
	printf("{");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		measure(&fixture, i, runs, canfs_job_number("seconds-per-run", argv[2], 0.001, 10));
	printf("}\n");
	free_fixture(&fixture);
	return 0;
}
