// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * nfs_load URL VERSION FILE [persist]: writes, reads and asks for the space of one file of an export, over and
 * over, through libnfs. Each block says how often it was written, and so whether a read brought the right data.
 *
 * Prints the number of its operations every so often. Ends on SIGTERM, after it has read all of the file, with 0;
 * with 1 and a message at the first error or wrong byte. An answer that does not come is an error, and so is a
 * lost connection; with "persist" it connects again and asks again, as a hard mount does.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <nfsc/libnfs.h>

#define BLOCKS      64
#define WORDS_MAX   8192 /* in a block */
#define ANSWER_MSEC 20000
#define TELL_EVERY  32

/* libnfs 4 cannot encode a longer write of NFSv4. */
#define WORDS_V4 256

struct load {
	struct nfs_context *nfs;
	struct nfsfh *file;
	uint64_t words;         /* in a block */
	uint64_t times[BLOCKS]; /* each block was written */
	uint64_t operations;
};

/* The signal stays blocked: libnfs takes an interrupted poll() for a broken connection. */
static void block_end(void)
{
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
}

static bool is_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

static uint64_t word(uint64_t block, uint64_t times, uint64_t i)
{
	return (block << 48 | times << 16 | i) * UINT64_C(0x9e3779b97f4a7c15);
}

/* 0, or 1 with a message. */
static int warn(const struct load *load, const char *what, int result)
{
	fprintf(stderr, "%s after %llu operations: %d (%s)\n", what,
		(unsigned long long)load->operations, result, nfs_get_error(load->nfs));
	return 1;
}

static int write_block(struct load *load, uint64_t block)
{
	const uint64_t bytes = load->words * sizeof(uint64_t);
	static uint64_t words[WORDS_MAX];
	int result;

	load->times[block]++;
	for (uint64_t i = 0; i < load->words; i++)
		words[i] = word(block, load->times[block], i);
	result = nfs_pwrite(load->nfs, load->file, block * bytes, bytes, words);
	return result == (int)bytes ? 0 : warn(load, "write", result);
}

static int read_block(struct load *load, uint64_t block)
{
	const uint64_t bytes = load->words * sizeof(uint64_t);
	static uint64_t words[WORDS_MAX];
	int result = nfs_pread(load->nfs, load->file, block * bytes, bytes, words);

	if (result != (int)bytes)
		return warn(load, "read", result);
	for (uint64_t i = 0; i < load->words; i++) {
		if (words[i] != word(block, load->times[block], i))
			return warn(load, "wrong data", (int)block);
	}
	return 0;
}

static int ask_space(struct load *load)
{
	struct nfs_statvfs_64 st;
	int result = nfs_statvfs64(load->nfs, "/", &st);

	return result == 0 ? 0 : warn(load, "statvfs", result);
}

static int run(struct load *load)
{
	int ret = 0;

	for (uint64_t block = 0; ret == 0 && block < BLOCKS; block++)
		ret = write_block(load, block);
	for (uint64_t turn = 0; ret == 0 && !is_end(); turn++) {
		ret = write_block(load, turn * 7 % BLOCKS);
		if (ret == 0)
			ret = read_block(load, turn * 11 % BLOCKS);
		if (ret == 0)
			ret = ask_space(load);
		load->operations += 3;
		if (turn % TELL_EVERY == 0) {
			printf("%llu\n", (unsigned long long)load->operations);
			fflush(stdout);
		}
	}
	for (uint64_t block = 0; ret == 0 && block < BLOCKS; block++)
		ret = read_block(load, block);
	return ret;
}

int main(int argc, char **argv)
{
	struct load load = { .nfs = nfs_init_context() };
	int version = argc >= 4 ? atoi(argv[2]) : 0;
	bool persist = argc == 5 && strcmp(argv[4], "persist") == 0;
	struct nfs_url *url;

	if (!load.nfs || (version != 3 && version != 4) || argc > 4 + persist) {
		fprintf(stderr, "usage: nfs_load nfs://server/path/. 3|4 file [persist]\n");
		return 1;
	}
	load.words = version == 4 ? WORDS_V4 : WORDS_MAX;
	block_end();
	nfs_set_version(load.nfs, version);
	nfs_set_autoreconnect(load.nfs, persist ? -1 : 0);
	if (!persist)
		nfs_set_timeout(load.nfs, ANSWER_MSEC);
	url = nfs_parse_url_dir(load.nfs, argv[1]);
	if (!url || nfs_mount(load.nfs, url->server, url->path) != 0)
		return warn(&load, "mount", 0);
	if (nfs_open2(load.nfs, argv[3], O_CREAT | O_RDWR, 0644, &load.file) != 0)
		return warn(&load, "open", 0);
	return run(&load);
}
