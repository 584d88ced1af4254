// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * nfs_races URL DIRECTORY SEED OPERATIONS: four clients, two of NFSv3 and two of NFSv4, read, write, truncate, rename, replace
 * and delete the same few files all at once, each of 32 lanes OPERATIONS times. What a read brings must have been written by
 * somebody, and be no older than what had been answered when it was sent (past.h); what is at the end is compared with
 * DIRECTORY, where the server has the files, past the page cache.
 *
 * On standard input: "away", the export may go now, and errors are no failure; "still", the same, but nothing is asked
 * meanwhile; "back": it is there again. Each is repeated on standard output when it is so. Ends with 0, and a line that
 * says what was done; with 1 and a message at the first wrong byte, unexpected error, or question without an answer.
 */
#include "tests/integration/races/races.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPERATIONS_A_NAME 150 /* so many, and a name changes */

uint64_t races_random(uint64_t *chance, uint64_t bound)
{
	*chance = *chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*chance >> 33) % bound;
}

bool races_warn(struct races *races, const char *format, ...)
{
	va_list args;

	if (!races->failed)
		fprintf(stderr, "seed %llu, operation %llu: ", (unsigned long long)races->seed,
			(unsigned long long)(races->done[READ] + races->done[WRITE] +
					     races->done[TRUNCATE]));
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	races->failed = true;
	return false;
}

static bool connect_client(struct races *races, struct client *client)
{
	char name[48];

	client->nfs = nfs_init_context();
	if (!client->nfs)
		return races_warn(races, "no memory");
	nfs_set_version(client->nfs, client->version);
	nfs_set_autoreconnect(client->nfs, 0);
	nfs_set_timeout(client->nfs, ANSWER_MSEC);
	/* Or else two of one process in one second are one client to the server. */
	snprintf(name, sizeof(name), "races %d %u", (int)getpid(), ++races->connections);
	nfs4_set_client_name(client->nfs, name);
	if (nfs_mount(client->nfs, races->url->server, races->url->path) != 0)
		return races_warn(races, "client %u (NFSv%d): mount: %s", client->number,
			client->version, nfs_get_error(client->nfs));
	return true;
}

/* The export may go: not while a name is being changed, which nobody is now. */
static bool come_back(struct races *races)
{
	if (!races_quiesce(races))
		return false;
	for (struct client *client = races->clients; client < races->clients + CLIENTS; client++) {
		if (client->version != 4)
			continue;
		nfs_destroy_context(client->nfs);
		if (!connect_client(races, client))
			return false;
	}
	races->away = false;
	races->quiet = false;
	for (int i = 0; i < CLIENTS * LANES; i++)
		races->lanes[i].rests = false;
	return races_open_again(races);
}

static bool hear(struct races *races)
{
	char said[16] = "";

	if (read(STDIN_FILENO, said, sizeof(said) - 1) <= 0)
		return races_warn(races, "nobody speaks to us any more");
	if (strcmp(said, "away\n") == 0)
		races->away = true;
	else if (strcmp(said, "still\n") == 0)
		races->away = races_quiesce(races);
	else if (strcmp(said, "back\n") != 0)
		return races_warn(races, "'%s' is neither away, still nor back", said);
	else if (!come_back(races))
		return false;
	fputs(said, stdout);
	return fflush(stdout) == 0;
}

bool races_turn(struct races *races, int msec)
{
	struct pollfd polled[CLIENTS];

	races_ask(races);
	for (int i = 0; i < CLIENTS; i++) {
		polled[i].fd = nfs_get_fd(races->clients[i].nfs);
		polled[i].events = (short)nfs_which_events(races->clients[i].nfs);
		polled[i].revents = 0;
	}
	if (poll(polled, CLIENTS, msec) < 0)
		return races_warn(races, "poll");
	/* Even if nothing has come: what is not answered in time is noticed here. */
	for (int i = 0; i < CLIENTS; i++) {
		if (nfs_service(races->clients[i].nfs, polled[i].revents) != 0)
			return races_warn(races, "client %d: connection: %s", i,
				nfs_get_error(races->clients[i].nfs));
	}
	return !races->failed;
}

bool races_quiesce(struct races *races)
{
	races->quiet = true;
	while (races->ops && races_turn(races, 100))
		;
	return !races->failed;
}

static uint64_t all_done(const struct races *races)
{
	return races->done[READ] + races->done[WRITE] + races->done[TRUNCATE] + races->stale;
}

static bool lanes_are_left(const struct races *races)
{
	for (int i = 0; i < CLIENTS * LANES; i++) {
		if (races->lanes[i].left > 0 || races->lanes[i].op)
			return true;
	}
	return false;
}

static bool run(struct races *races)
{
	struct pollfd control = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t next_name = OPERATIONS_A_NAME;

	if (!races_make_files(races))
		return false;
	races->quiet = false;
	while (races->away || lanes_are_left(races)) {
		if (!races_turn(races, 100))
			return false;
		if (!races->away && all_done(races) >= next_name) {
			next_name += OPERATIONS_A_NAME;
			if (!races_change_name(races))
				return false;
		}
		if (poll(&control, 1, 0) > 0 && !hear(races))
			return false;
	}
	return races_quiesce(races) && races_check_all(races);
}

int main(int argc, char **argv)
{
	static struct races races;
	uint64_t operations;
	int result;

	if (argc != 5) {
		fputs("usage: nfs_races nfs://server/path/. DIRECTORY SEED OPERATIONS\n", stderr);
		return 1;
	}
	races.directory = argv[2];
	races.seed = strtoull(argv[3], NULL, 10);
	races.chance = races.seed;
	races.quiet = true;
	operations = strtoull(argv[4], NULL, 10);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct client *client = &races.clients[i];

		client->races = &races;
		client->number = i;
		client->version = 3 + (int)(i % 2);
		for (unsigned int j = 0; j < LANES; j++)
			races.lanes[i * LANES + j] = (struct lane) { .client = client,
				.left = operations,
				.chance = races.seed * 1000 + i * LANES + j + 1 };
	}
	struct nfs_context *parser = nfs_init_context();

	races.url = parser ? nfs_parse_url_dir(parser, argv[1]) : NULL;
	if (!races.url)
		return !races_warn(&races, "%s: no URL", argv[1]);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		if (!connect_client(&races, &races.clients[i]))
			return 1;
	}
	result = run(&races) ? 0 : 1;
	printf("seed %llu: %llu reads, %llu writes, %llu truncates, %llu names, %llu stale, %llu "
	       "errors while away\n",
		(unsigned long long)races.seed, (unsigned long long)races.done[READ],
		(unsigned long long)races.done[WRITE], (unsigned long long)races.done[TRUNCATE],
		(unsigned long long)races.names, (unsigned long long)races.stale,
		(unsigned long long)races.away_errors);
	return result;
}
