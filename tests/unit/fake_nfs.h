/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rpcbind, MOUNT and NFS of a server that behaves as a test demands. The server uses loopback ports
 * and runs in the test's own thread: the test steps both sides. No outcome depends on time. poll(2)
 * only waits for the loopback to deliver.
 */
#ifndef CANFS_TESTS_FAKE_NFS_H
#define CANFS_TESTS_FAKE_NFS_H

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "protocol/fsstat.h"
#include "tests/unit/reply.h"

#define DEADLINE_USEC 1000
#define STUCK_MSEC    30000 /* then the test has failed: nobody has anything to do */

enum service { RPCBIND, MOUNT, NFS, SERVICES };
enum manners { ANSWER, SAY_NOTHING, HANG_UP, HANG_UP_HALFWAY };

struct server {
	int family;
	int listener[SERVICES];
	uint16_t port[SERVICES];
	int connection; /* the last accepted one, to `service`; -1: none */
	enum service service;
	unsigned int accepted[SERVICES];
	unsigned int calls[SERVICES];
	size_t call_len; /* octets of the call so far, record mark included */
	uint8_t call[2048];
	size_t out_len, out_sent;
	uint8_t out[80000];

	/* what the test requests */
	enum manners manners[SERVICES];
	size_t fragment; /* octets of a fragment; 0: one fragment */
	bool dribble;    /* one octet at a time */
	unsigned int strays;
	void (*change)(struct server *server, struct reply *reply);
	bool refuses_minor[3];

	/* NFSv4 only */
	unsigned int lookups; /* in the last GETATTR call */
	bool by_handle;       /* the last GETATTR named its file by handle */
	uint32_t minor;       /* of the last call */
	uint32_t sessions;    /* number of sessions so far; the last one is in force */
	bool lost_session;    /* or there is no session */
	uint32_t slot;        /* sequence of its last request */
};

static const uint64_t counts[3] = { 0xfffffff9ac, 0x7ffffffbd9, 0x3ffffffd80 };
static const uint8_t handle[24] = { 9, 8, 7, 6, 5, 4, 3, 2, 1 };

static uint16_t get_port(const struct sockaddr_storage *address)
{
	return ntohs(address->ss_family == AF_INET6
			     ? ((const struct sockaddr_in6 *)address)->sin6_port
			     : ((const struct sockaddr_in *)address)->sin_port);
}

static struct sockaddr_storage loopback(int family)
{
	struct sockaddr_storage address = { .ss_family = (sa_family_t)family };

	if (family == AF_INET6)
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static int listen_somewhere(int family, uint16_t *port)
{
	struct sockaddr_storage address = loopback(family);
	socklen_t len = sizeof(address);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*port = get_port(&address);
	return fd;
}

static void hang_up(struct server *server)
{
	if (server->connection >= 0)
		close(server->connection);
	server->connection = -1;
	server->call_len = server->out_len = server->out_sent = 0;
}

static uint32_t call_word(const struct server *server, size_t n)
{
	uint32_t word;

	assert_true(4 + 4 * n + 4 <= server->call_len);
	memcpy(&word, server->call + 4 + 4 * n, sizeof(word));
	return ntohl(word);
}

static void put_fragment(struct server *server, const uint8_t *octets, size_t len, bool last)
{
	const uint32_t mark = htonl((last ? 0x80000000u : 0) | (uint32_t)len);

	assert_true(server->out_len + 4 + len <= sizeof(server->out));
	memcpy(server->out + server->out_len, &mark, 4);
	memcpy(server->out + server->out_len + 4, octets, len);
	server->out_len += 4 + len;
}

static void put_record(struct server *server, const struct reply *reply)
{
	const size_t size = server->fragment ? server->fragment : reply->len;

	for (size_t at = 0; at < reply->len; at += size) {
		const size_t len = reply->len - at < size ? reply->len - at : size;

		put_fragment(server, reply->octets + at, len, at + len == reply->len);
	}
}

static void session_id(const struct server *server, uint8_t id[16])
{
	memset(id, 0, 16);
	id[15] = (uint8_t)server->sessions;
}

/*
 * op's arguments are at word at. Accepts only what the client may ask for. Returns where they end.
 */
static size_t skip_arguments(struct server *server, uint32_t op, size_t at)
{
	switch (op) {
	case 53: /* SEQUENCE */
		return at + 8;
	case 22: /* PUTFH */
		server->by_handle = true;
		return at + 1 + (call_word(server, at) + 3) / 4;
	case 24: /* PUTROOTFH */
		return at;
	case 15: /* LOOKUP */
		server->lookups++;
		return at + 1 + (call_word(server, at) + 3) / 4;
	default: /* GETATTR: two words of mask */
		assert_int_equal(op, 9);
		assert_int_equal(call_word(server, at + 2), 0x1c00);
		return at + 3;
	}
}

static void answer_getattr(struct server *server, struct reply *reply, uint32_t count)
{
	size_t at = 20;
	uint8_t id[16];

	server->lookups = 0;
	server->by_handle = false;
	session_id(server, id);
	reply_compound(reply, call_word(server, 0), 0, count);
	while (count--) {
		const uint32_t op = call_word(server, at);

		if (op == 53)
			reply_sequence(reply, id, call_word(server, at + 5));
		else if (op == 9)
			reply_space_attributes(reply, counts);
		else
			REPLY_WORDS(reply, op, 0);
		at = skip_arguments(server, op, at + 1);
	}
	assert_int_equal(4 + 4 * at, server->call_len);
}

static bool knows_session(struct server *server)
{
	uint8_t id[16];

	session_id(server, id);
	return !server->lost_session && memcmp(server->call + 4 + 4 * 21, id, 16) == 0 &&
	       call_word(server, 25) == ++server->slot;
}

/*
 * The arguments follow the header, credential and verifier (17 words): tag, minor version, count.
 */
static void answer_compound(struct server *server, struct reply *reply)
{
	const uint32_t xid = call_word(server, 0);
	const uint32_t op = call_word(server, 20);
	uint8_t id[16];

	server->minor = call_word(server, 18);
	assert_true(server->minor < 3);
	if (server->refuses_minor[server->minor]) {
		reply_compound(reply, xid, 10021, 0);
	} else if (op == 42) {
		server->lost_session = true;
		reply_exchange_id(reply, xid, 0x700000009, 5);
	} else if (op == 43) {
		assert_int_equal(call_word(server, 21), 7);
		assert_int_equal(call_word(server, 22), 9);
		assert_int_equal(call_word(server, 23), 5);
		server->sessions++;
		server->slot = 0;
		server->lost_session = false;
		session_id(server, id);
		reply_create_session(reply, xid, id, 5);
	} else if (op == 53 && !knows_session(server)) {
		reply_compound(reply, xid, 10052, 1);
		REPLY_WORDS(reply, 53, 10052);
	} else {
		assert_true((op == 53) == (server->minor > 0));
		answer_getattr(server, reply, call_word(server, 19));
	}
}

static void right_answer(struct server *server, struct reply *reply)
{
	const uint32_t xid = call_word(server, 0);

	if (server->service == RPCBIND) {
		/* the program follows the header (6 words), credential (9) and verifier (2) */
		const uint32_t program = call_word(server, 17);

		assert_true(program == 100005 || program == 100003);
		reply_getport(reply, xid, server->port[program == 100005 ? MOUNT : NFS]);
	} else if (server->service == MOUNT) {
		reply_mnt(reply, xid, handle, sizeof(handle));
	} else if (call_word(server, 4) == 4) {
		answer_compound(server, reply);
	} else {
		reply_fsstat(reply, xid, true, counts);
	}
}

static void answer(struct server *server)
{
	struct reply reply, stray;

	server->calls[server->service]++;
	right_answer(server, &reply);
	for (unsigned int i = 0; i < server->strays; i++) {
		stray = reply;
		stray.octets[i % 4] ^= 0x80; /* of the xid */
		put_record(server, &stray);
	}
	if (server->change)
		server->change(server, &reply);
	if (reply.len > 0)
		put_record(server, &reply);
	server->call_len = 0;
}

static void read_call(struct server *server)
{
	const ssize_t got = recv(server->connection, server->call + server->call_len,
		sizeof(server->call) - server->call_len, MSG_DONTWAIT);
	uint32_t mark;

	if (got <= 0) {
		assert_true(got == 0 || errno == EAGAIN || errno == ECONNRESET);
		if (got == 0 || errno == ECONNRESET)
			hang_up(server);
		return;
	}
	server->call_len += (size_t)got;
	if (server->call_len < 4)
		return;
	memcpy(&mark, server->call, sizeof(mark));
	assert_true(ntohl(mark) & 0x80000000u);
	if (server->call_len < 4 + (ntohl(mark) & 0x7fffffffu))
		return;
	if (server->manners[server->service] == HANG_UP)
		hang_up(server);
	else if (server->manners[server->service] == SAY_NOTHING)
		server->calls[server->service]++;
	else
		answer(server);
}

static void write_some(struct server *server)
{
	const bool halfway = server->manners[server->service] == HANG_UP_HALFWAY;
	const size_t end = halfway ? server->out_len / 2 : server->out_len;
	const ssize_t sent = send(server->connection, server->out + server->out_sent,
		server->dribble ? 1 : end - server->out_sent, MSG_NOSIGNAL);

	if (sent > 0)
		server->out_sent += (size_t)sent;
	if (sent < 0 || (halfway && server->out_sent == end))
		hang_up(server);
	else if (server->out_sent == server->out_len)
		server->out_sent = server->out_len = 0;
}

static void accept_one(struct server *server, enum service service)
{
	hang_up(server);
	server->connection = accept4(server->listener[service], NULL, NULL, SOCK_CLOEXEC);
	assert_true(server->connection >= 0);
	server->service = service;
	server->accepted[service]++;
}

/* Waits until the client or the server can go on, and does the server's part. */
static void serve(struct server *server, int client_fd, short client_events)
{
	struct pollfd polled[SERVICES + 2];

	for (int i = 0; i < SERVICES; i++)
		polled[i] = (struct pollfd) { server->listener[i], POLLIN, 0 };
	polled[SERVICES] = (struct pollfd) { server->connection,
		(short)(server->out_len ? POLLOUT : POLLIN), 0 };
	polled[SERVICES + 1] = (struct pollfd) { client_fd, client_events, 0 };
	assert_true(poll(polled, SERVICES + 2, STUCK_MSEC) > 0);
	if (polled[SERVICES].revents && server->out_len)
		write_some(server);
	else if (polled[SERVICES].revents)
		read_call(server);
	for (int i = 0; i < SERVICES; i++) {
		if (polled[i].revents)
			accept_one(server, (enum service)i);
	}
}

static void start_server(struct server *server, int family)
{
	*server = (struct server) { .family = family, .connection = -1 };
	for (int i = 0; i < SERVICES; i++)
		server->listener[i] = listen_somewhere(family, &server->port[i]);
}

static void stop_server(struct server *server)
{
	hang_up(server);
	for (int i = 0; i < SERVICES; i++)
		close(server->listener[i]);
}

/* The server and a client of it. */
struct fixture {
	struct server server;
	struct canfs_fsstat *fsstat;
	struct canfs_space space;
};

/* Runs one whole request. It ends by itself, or reaches its deadline once the server is silent. */
static inline int ask(struct fixture *fixture)
{
	struct server *server = &fixture->server;
	const unsigned int calls[SERVICES] = { server->calls[0], server->calls[1],
		server->calls[2] };
	int ret = canfs_fsstat_start(fixture->fsstat, DEADLINE_USEC);

	while (ret == 0) {
		uint64_t now_usec = 0;

		for (int i = 0; i < SERVICES; i++) {
			if (server->manners[i] == SAY_NOTHING && server->calls[i] > calls[i])
				now_usec = DEADLINE_USEC;
		}
		ret = canfs_fsstat_step(fixture->fsstat, now_usec, &fixture->space);
		if (ret != -EINPROGRESS)
			break;
		assert_true(canfs_fsstat_deadline_usec(fixture->fsstat) == DEADLINE_USEC);
		serve(server, canfs_fsstat_fd(fixture->fsstat),
			canfs_fsstat_events(fixture->fsstat));
		ret = 0;
	}
	assert_int_equal(canfs_fsstat_fd(fixture->fsstat), -1);
	assert_int_equal(canfs_fsstat_events(fixture->fsstat), 0);
	assert_true(canfs_fsstat_deadline_usec(fixture->fsstat) == UINT64_MAX);
	return ret;
}

/* Makes a client of a new server. Ports and handle are known to the client, or it has to ask. */
static inline void fixture_start(struct fixture *fixture, bool ports_known, bool handle_known)
{
	struct canfs_fsstat_target target = { .path = "/export", .address = loopback(AF_INET) };

	memset(fixture, 0, sizeof(*fixture));
	start_server(&fixture->server, AF_INET);
	target.rpcbind_port = fixture->server.port[RPCBIND];
	if (ports_known) {
		target.nfs_port = fixture->server.port[NFS];
		target.mount_port = fixture->server.port[MOUNT];
	}
	if (handle_known) {
		target.path = NULL;
		target.handle = handle;
		target.handle_len = sizeof(handle);
	}
	assert_int_equal(canfs_fsstat_new(&fixture->fsstat, &target), 0);
	assert_string_equal(canfs_fsstat_error(fixture->fsstat), "");
}

static inline void fixture_stop(struct fixture *fixture)
{
	canfs_fsstat_free(fixture->fsstat);
	stop_server(&fixture->server);
}

static inline void assert_answered(struct fixture *fixture)
{
	memset(&fixture->space, 0, sizeof(fixture->space));
	assert_int_equal(ask(fixture), 0);
	assert_true(fixture->space.total_bytes == counts[0]);
	assert_true(fixture->space.free_bytes == counts[1]);
	assert_true(fixture->space.avail_bytes == counts[2]);
	assert_string_equal(canfs_fsstat_error(fixture->fsstat), "");
}

static inline void assert_fails(struct fixture *fixture, int expected, const char *says)
{
	memset(&fixture->space, 0, sizeof(fixture->space));
	assert_int_equal(ask(fixture), expected);
	assert_true(fixture->space.total_bytes == 0);
	assert_non_null(strstr(canfs_fsstat_error(fixture->fsstat), says));
}

static inline void assert_traffic(const unsigned int counters[SERVICES], unsigned int rpcbind,
	unsigned int mount, unsigned int nfs)
{
	assert_int_equal(counters[RPCBIND], rpcbind);
	assert_int_equal(counters[MOUNT], mount);
	assert_int_equal(counters[NFS], nfs);
}

#endif
