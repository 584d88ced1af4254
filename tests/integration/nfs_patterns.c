// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * nfs_patterns make PATH MIB                               a file in which each word tells where it stands
 * nfs_patterns read URL VERSION FILE PATTERN KIB DEPTH     reads all of such a file over NFS, in this order, by blocks of
 *                                                          KIB, with DEPTH reads in flight at a time
 * nfs_patterns hold URL VERSION FILE PATTERN KIB DEPTH     asks for DEPTH blocks at once, says "asked", and takes no answer
 *
 * PATTERN: forward, backward, stride (eight streams), shuffle (within 32 blocks), random (each block once). Ends with 0, or
 * with 1 and a message at the first error or wrong byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <nfsc/libnfs.h>

#define WAIT_MSEC 30000
#define STRIDE    8
#define WINDOW    32

struct reader {
	struct nfs_context *nfs;
	struct nfsfh *file;
	uint64_t block_bytes, blocks, file_bytes;
	uint64_t *order;
	uint64_t asked, answered;
	bool failed;
};

struct request {
	struct reader *reader;
	uint64_t offset;
};

static uint64_t word_at(uint64_t offset)
{
	return (offset / sizeof(uint64_t) + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static int warn(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	return 1;
}

static int make(const char *path, uint64_t mib)
{
	static uint64_t words[131072];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0)
		return warn(path, strerror(errno));
	for (uint64_t i = 0; i < mib; i++) {
		for (uint64_t j = 0; j < sizeof(words) / sizeof(words[0]); j++)
			words[j] = word_at(i * sizeof(words) + j * sizeof(words[0]));
		if (write(fd, words, sizeof(words)) != (ssize_t)sizeof(words))
			return warn(path, strerror(errno));
	}
	return fsync(fd) == 0 && close(fd) == 0 ? 0 : warn(path, strerror(errno));
}

static uint64_t random_below(uint64_t bound)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % bound;
}

static void swap_within(uint64_t *order, uint64_t count)
{
	for (uint64_t i = count; i > 1; i--) {
		uint64_t other = random_below(i), kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
}

static bool put_in_order(struct reader *reader, const char *pattern)
{
	uint64_t count = reader->blocks, at = 0;

	for (uint64_t i = 0; i < count; i++)
		reader->order[i] = strcmp(pattern, "backward") == 0 ? count - 1 - i : i;
	if (strcmp(pattern, "random") == 0) {
		swap_within(reader->order, count);
	} else if (strcmp(pattern, "shuffle") == 0) {
		for (uint64_t i = 0; i < count; i += WINDOW)
			swap_within(reader->order + i, count - i < WINDOW ? count - i : WINDOW);
	} else if (strcmp(pattern, "stride") == 0) {
		for (uint64_t i = 0; i * STRIDE < count; i++) {
			for (uint64_t j = 0; j < STRIDE; j++) {
				uint64_t block = j * ((count + STRIDE - 1) / STRIDE) + i;

				if (i < (count + STRIDE - 1) / STRIDE && block < count &&
					at < count)
					reader->order[at++] = block;
			}
		}
	} else {
		return strcmp(pattern, "forward") == 0 || strcmp(pattern, "backward") == 0;
	}
	return true;
}

static void answered(int status, struct nfs_context *nfs, void *data, void *private_data)
{
	struct request *request = private_data;
	struct reader *reader = request->reader;
	uint64_t left = reader->file_bytes - request->offset;
	uint64_t want = left < reader->block_bytes ? left : reader->block_bytes;

	reader->answered++;
	if (status != (int)want) {
		reader->failed = true;
		warn("read", status < 0 ? nfs_get_error(nfs) : "too short");
	}
	for (uint64_t i = 0; !reader->failed && i < want; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, (const char *)data + i, sizeof(word));
		if (word == word_at(request->offset + i))
			continue;
		fprintf(stderr, "wrong data at %llu\n", (unsigned long long)(request->offset + i));
		reader->failed = true;
	}
	free(request);
}

static bool ask(struct reader *reader)
{
	struct request *request = malloc(sizeof(*request));

	if (!request)
		return false;
	request->reader = reader;
	request->offset = reader->order[reader->asked++] * reader->block_bytes;
	return nfs_pread_async(reader->nfs, reader->file, request->offset, reader->block_bytes,
		       answered, request) == 0;
}

/* One turn of libnfs. */
static bool turn(struct reader *reader)
{
	struct pollfd polled = { .fd = nfs_get_fd(reader->nfs),
		.events = (short)nfs_which_events(reader->nfs) };

	if (poll(&polled, 1, WAIT_MSEC) <= 0) {
		warn("read", "no answer");
		return false;
	}
	if (nfs_service(reader->nfs, polled.revents) == 0)
		return true;
	warn("connection", nfs_get_error(reader->nfs));
	return false;
}

static int read_all(struct reader *reader, uint64_t depth)
{
	while (reader->answered < reader->blocks && !reader->failed) {
		while (reader->asked < reader->blocks && reader->asked - reader->answered < depth) {
			if (!ask(reader))
				return warn("read", nfs_get_error(reader->nfs));
		}
		if (!turn(reader))
			return 1;
	}
	return reader->failed;
}

static int hold(struct reader *reader, uint64_t depth)
{
	while (reader->asked < depth && reader->asked < reader->blocks) {
		if (!ask(reader))
			return warn("read", nfs_get_error(reader->nfs));
	}
	while ((nfs_which_events(reader->nfs) & POLLOUT) != 0) {
		struct pollfd polled = { .fd = nfs_get_fd(reader->nfs), .events = POLLOUT };

		if (poll(&polled, 1, WAIT_MSEC) <= 0 ||
			nfs_service(reader->nfs, polled.revents & POLLOUT) != 0)
			return warn("connection", nfs_get_error(reader->nfs));
	}
	puts("asked");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct reader reader = { .nfs = NULL };
	struct nfs_stat_64 st;
	uint64_t depth;

	if (argc == 4 && strcmp(argv[1], "make") == 0)
		return make(argv[2], strtoull(argv[3], NULL, 10));
	if (argc != 8)
		return warn("usage", "see the head of nfs_patterns.c");
	reader.block_bytes = strtoull(argv[6], NULL, 10) << 10;
	depth = strtoull(argv[7], NULL, 10);
	reader.nfs = nfs_init_context();
	nfs_set_version(reader.nfs, atoi(argv[3]));
	struct nfs_url *url = nfs_parse_url_dir(reader.nfs, argv[2]);

	if (!url || nfs_mount(reader.nfs, url->server, url->path) != 0)
		return warn("mount", nfs_get_error(reader.nfs));
	if (nfs_open(reader.nfs, argv[4], O_RDONLY, &reader.file) != 0 ||
		nfs_fstat64(reader.nfs, reader.file, &st) != 0)
		return warn(argv[4], nfs_get_error(reader.nfs));
	reader.file_bytes = st.nfs_size;
	reader.blocks = (st.nfs_size + reader.block_bytes - 1) / reader.block_bytes;
	reader.order = calloc(reader.blocks + 1, sizeof(*reader.order));
	if (!reader.order || !put_in_order(&reader, argv[5]))
		return warn(argv[5], "no such pattern");
	return strcmp(argv[1], "hold") == 0 ? hold(&reader, depth) : read_all(&reader, depth);
}
