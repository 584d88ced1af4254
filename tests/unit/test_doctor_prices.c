// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl doctor asks servers for prices: one that answers, one that has none, one that is dead. */
#include "tests/unit/fake_nfs.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "client-agent/ctl/doctor/facts.h"

#define LONG_SEC   20.0 /* never waited for */
#define ENOUGH_SEC 3.0  /* waited for in full: a server that answers does so meanwhile */

/* A server in a process of its own, since the questions are asked in one go. */
struct host {
	struct server server;
	pid_t pid;
	struct canfs_mount mount;
};

static const uint64_t plain[3] = { 1ull << 40, 1ull << 39, 1ull << 38 };

/* fake_nfs.h's counts carry a tag, these none. */
static void publish_nothing(struct server *server, struct reply *reply)
{
	if (server->service == NFS)
		reply_fsstat(reply, call_word(server, 0), true, plain);
}

/* The second reply has no tag: the first one's was chance. */
static void publish_once(struct server *server, struct reply *reply)
{
	if (server->calls[NFS] > 1)
		publish_nothing(server, reply);
}

static void host_start(struct host *host, void (*change)(struct server *, struct reply *))
{
	start_server(&host->server, AF_INET);
	host->server.change = change;
	host->pid = fork();
	assert_true(host->pid >= 0);
	if (host->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			serve(&host->server, -1, 0);
	}
	host->mount = (struct canfs_mount) {
		.version = 3,
		.tcp = true,
		.address = loopback(AF_INET),
		.port = host->server.port[NFS],
		.mount_port = host->server.port[MOUNT],
		.mountpoint = "/nonexistent",
		.export_path = "/export",
		.sec = "sys",
	};
}

static void host_stop(struct host *host)
{
	kill(host->pid, SIGKILL);
	waitpid(host->pid, NULL, 0);
	stop_server(&host->server);
}

static void test_three_servers_at_once(void **state)
{
	struct host publishes, chance, none;
	struct canfs_mount_facts facts[3] = { { .mount = &publishes.mount },
		{ .mount = &chance.mount }, { .mount = &none.mount } };

	(void)state;
	host_start(&publishes, NULL);
	host_start(&chance, publish_once);
	host_start(&none, publish_nothing);
	canfs_prices_gather(facts, 3, LONG_SEC);
	assert_int_equal(facts[0].price, CANFS_PRICE_PUBLISHED);
	assert_true(facts[0].link.mss_bytes > 500);
	assert_true(facts[0].link.rtt_usec > 0 && facts[0].link.rtt_usec < UINT32_MAX);
	assert_int_equal(facts[1].price, CANFS_PRICE_NONE);
	assert_int_equal(facts[2].price, CANFS_PRICE_NONE);
	host_stop(&publishes);
	host_stop(&chance);
	host_stop(&none);
}

/* Nobody accepts: the connection stands in the backlog, and the question ends by its deadline. */
static void test_a_dead_server_keeps_no_other_from_answering(void **state)
{
	struct host publishes, dead;
	struct canfs_mount_facts facts[2] = { { .mount = &dead.mount },
		{ .mount = &publishes.mount } };

	(void)state;
	host_start(&publishes, NULL);
	host_start(&dead, NULL);
	kill(dead.pid, SIGSTOP);
	waitpid(dead.pid, NULL, WUNTRACED);
	canfs_prices_gather(facts, 2, ENOUGH_SEC);
	assert_int_equal(facts[0].price, CANFS_PRICE_UNANSWERED);
	assert_true(strlen(facts[0].price_error) > 0);
	assert_int_equal(facts[1].price, CANFS_PRICE_PUBLISHED);
	host_stop(&dead);
	host_stop(&publishes);
}

static void test_who_is_not_asked(void **state)
{
	static struct canfs_mount kerberos = { .version = 3, .sec = "krb5i" };
	static struct canfs_mount nowhere = { .version = 3, .export_path = "/x" };
	struct canfs_mount_facts facts[2] = { { .mount = &kerberos }, { .mount = &nowhere } };

	(void)state;
	canfs_prices_gather(facts, 2, LONG_SEC);
	assert_int_equal(facts[0].price, CANFS_PRICE_NOT_ASKED);
	assert_int_equal(facts[1].price, CANFS_PRICE_UNANSWERED);
	assert_string_equal(facts[1].price_error, strerrordesc_np(EDESTADDRREQ));
	canfs_prices_gather(facts, 0, LONG_SEC);
}

static void test_a_refused_connection(void **state)
{
	struct host closed;
	struct canfs_mount_facts facts = { .mount = &closed.mount };

	(void)state;
	host_start(&closed, NULL);
	host_stop(&closed);
	canfs_prices_gather(&facts, 1, LONG_SEC);
	assert_int_equal(facts.price, CANFS_PRICE_UNANSWERED);
	assert_non_null(strstr(facts.price_error, "Connection refused"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_servers_at_once),
		cmocka_unit_test(test_a_dead_server_keeps_no_other_from_answering),
		cmocka_unit_test(test_who_is_not_asked),
		cmocka_unit_test(test_a_refused_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
