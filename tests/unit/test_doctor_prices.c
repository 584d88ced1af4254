// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl doctor asks servers for prices: one that answers, one that has none, one that is dead. */
#include "tests/unit/fake_nfs.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "canfsctl/doctor/facts.h"
#include "protocol/price_message.h"

#define LONG_SEC   20.0 /* never waited for */
#define SHORT_SEC  0.3  /* waited for in full, for nothing */
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
	canfs_prices_gather(facts, 3, 0, LONG_SEC);
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
	canfs_prices_gather(facts, 2, 0, ENOUGH_SEC);
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
	struct host tls;
	struct canfs_mount_facts facts[3] = { { .mount = &kerberos }, { .mount = &nowhere },
		{ .mount = &tls.mount } };

	(void)state;
	host_start(&tls, NULL);
	strcpy(tls.mount.xprtsec, "mtls");
	canfs_prices_gather(facts, 3, 20590, LONG_SEC);
	assert_int_equal(facts[2].price, CANFS_PRICE_NOT_ASKED);
	assert_int_equal(facts[2].service, CANFS_SERVICE_NOT_ASKED);
	host_stop(&tls);
	assert_int_equal(facts[0].price, CANFS_PRICE_NOT_ASKED);
	assert_int_equal(facts[1].price, CANFS_PRICE_UNANSWERED);
	assert_string_equal(facts[1].price_error, strerrordesc_np(EDESTADDRREQ));
	canfs_prices_gather(facts, 0, 0, LONG_SEC);
}

static void test_a_refused_connection(void **state)
{
	struct host closed;
	struct canfs_mount_facts facts = { .mount = &closed.mount };

	(void)state;
	host_start(&closed, NULL);
	host_stop(&closed);
	canfs_prices_gather(&facts, 1, 0, LONG_SEC);
	assert_int_equal(facts.price, CANFS_PRICE_UNANSWERED);
	assert_non_null(strstr(facts.price_error, "Connection refused"));
}

/* A price service that wants its cookie back, and then says what the test wants. */
struct price_service {
	int fd;
	uint16_t port;
	pid_t pid;
};

static void answer_call(int fd, enum canfs_price_status status)
{
	static const uint8_t none[CANFS_COOKIE_BYTES];
	struct canfs_price_result result = {
		.status = status, .lease_sec = 60, .cookie = "cookie"
	};
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	struct sockaddr_storage client;
	socklen_t len = sizeof(client);
	struct canfs_price_call call;
	ssize_t got = recvfrom(fd, datagram, sizeof(datagram), 0, (struct sockaddr *)&client, &len);
	size_t bytes;

	if (got < 0 || canfs_price_decode_call(datagram, (size_t)got, &call) != 0)
		return;
	if (memcmp(call.request.cookie, none, sizeof(none)) == 0)
		result.status = CANFS_STATUS_COOKIE;
	bytes = canfs_price_encode_reply(datagram, &call, &result);
	sendto(fd, datagram, bytes, 0, (struct sockaddr *)&client, len);
}

/* status: CANFS_STATUSES: it says nothing. */
static void service_start(struct price_service *service, enum canfs_price_status status)
{
	struct sockaddr_storage at = loopback(AF_INET);
	socklen_t len = sizeof(at);

	service->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(service->fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(service->fd, (struct sockaddr *)&at, &len), 0);
	service->port = get_port(&at);
	service->pid = fork();
	assert_true(service->pid >= 0);
	if (service->pid > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (status == CANFS_STATUSES)
		pause();
	for (;;)
		answer_call(service->fd, status);
}

static void service_stop(struct price_service *service)
{
	kill(service->pid, SIGKILL);
	waitpid(service->pid, NULL, 0);
	close(service->fd);
}

/* Of a server whose NFS is closed. */
static enum canfs_service_fact ask_service(uint16_t port, double timeout_sec)
{
	struct host closed;
	struct canfs_mount_facts facts = { .mount = &closed.mount };

	host_start(&closed, NULL);
	host_stop(&closed);
	canfs_prices_gather(&facts, 1, port, timeout_sec);
	assert_int_equal(facts.price, CANFS_PRICE_UNANSWERED);
	return facts.service;
}

static void test_what_a_price_service_says(void **state)
{
	static const enum canfs_service_fact expected[CANFS_STATUSES] = {
		[CANFS_STATUS_OK] = CANFS_SERVICE_SERVED,
		[CANFS_STATUS_COOKIE] = CANFS_SERVICE_UNANSWERED, /* and nothing else */
		[CANFS_STATUS_ACCESS] = CANFS_SERVICE_DENIED,
		[CANFS_STATUS_NONE] = CANFS_SERVICE_NO_PRICES,
		[CANFS_STATUS_FULL] = CANFS_SERVICE_FULL,
	};

	(void)state;
	for (enum canfs_price_status status = 0; status < CANFS_STATUSES; status++) {
		bool waits = expected[status] == CANFS_SERVICE_UNANSWERED;
		struct price_service service;

		service_start(&service, status);
		assert_int_equal(
			ask_service(service.port, waits ? SHORT_SEC : LONG_SEC), expected[status]);
		service_stop(&service);
	}
}

static void test_no_price_service(void **state)
{
	struct price_service service;

	(void)state;
	service_start(&service, CANFS_STATUSES);
	assert_int_equal(ask_service(service.port, SHORT_SEC), CANFS_SERVICE_UNANSWERED);
	service_stop(&service);
	assert_int_equal(ask_service(service.port, LONG_SEC), CANFS_SERVICE_CLOSED);
	assert_int_equal(ask_service(0, LONG_SEC), CANFS_SERVICE_NOT_ASKED);
}

static void test_prices_of_both_kinds(void **state)
{
	struct price_service service;
	struct host publishes;
	struct canfs_mount_facts facts = { .mount = &publishes.mount };

	(void)state;
	service_start(&service, CANFS_STATUS_OK);
	host_start(&publishes, NULL);
	canfs_prices_gather(&facts, 1, service.port, LONG_SEC);
	assert_int_equal(facts.price, CANFS_PRICE_PUBLISHED);
	assert_int_equal(facts.service, CANFS_SERVICE_SERVED);
	host_stop(&publishes);
	service_stop(&service);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_servers_at_once),
		cmocka_unit_test(test_a_dead_server_keeps_no_other_from_answering),
		cmocka_unit_test(test_who_is_not_asked),
		cmocka_unit_test(test_a_refused_connection),
		cmocka_unit_test(test_what_a_price_service_says),
		cmocka_unit_test(test_no_price_service),
		cmocka_unit_test(test_prices_of_both_kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
