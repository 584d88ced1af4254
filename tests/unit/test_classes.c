// SPDX-License-Identifier: LGPL-3.0-or-later
/* Classes of clients: what a word of Clients stands for, who is in which class, what they are told, and how classes change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/address.h"
#include "common/clock.h"
#include "pricing/price.h"
#include "server/classes/names.h"
#include "server/classes/shared_classes.h"

static char error[CANFS_CLASS_ERROR_MAX];

static struct in6_addr address_of(const char *text)
{
	struct in6_addr address;
	struct in_addr ipv4;

	if (inet_pton(AF_INET, text, &ipv4) == 1)
		return canfs_map_ipv4(&ipv4);
	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

/* "a.example" has two addresses, "@group" three, of which one is that of "a.example"; others none. */
static void find_name(void *arg, const char *name, struct canfs_classes *classes)
{
	static const char *const of_host[] = { "10.1.0.1", "fd01::1", NULL };
	static const char *const of_group[] = { "10.1.0.1", "10.2.0.1", "10.2.0.2", NULL };
	static const char *const of_nobody[] = { NULL };
	const char *const *text = strcmp(name, "a.example") == 0 ? of_host
				  : strcmp(name, "@group") == 0  ? of_group
								 : of_nobody;
	unsigned int *asked = arg;

	++*asked;
	for (; *text; text++) {
		struct in6_addr address = address_of(*text);
		struct canfs_network network = canfs_network_of(&address);

		assert_int_equal(canfs_classes_add_network(classes, &network), 0);
	}
}

static struct in6_addr at_link(const char *text, uint32_t scope)
{
	struct sockaddr_in6 from = {
		.sin6_family = AF_INET6, .sin6_addr = address_of(text), .sin6_scope_id = scope
	};
	struct in6_addr address;

	assert_true(canfs_read_address((const struct sockaddr *)&from, &address));
	return address;
}

/* A class of these words, with blanks between them. Returns how many names were looked up. */
static unsigned int add(
	struct canfs_classes *classes, const char *name, int premium_pct, const char *words)
{
	char copy[256], *word, *rest = copy;
	unsigned int asked = 0;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((word = strtok_r(rest, " ", &rest)))
		assert_int_equal(
			canfs_classes_add_word(classes, word, find_name, &asked, error), 0);
	assert_int_equal(canfs_classes_end(classes, name, premium_pct, error), 0);
	return asked;
}

/* "" if it is in none. */
static const char *class_of(const struct canfs_classes *classes, const char *client)
{
	struct in6_addr address = address_of(client);
	const struct canfs_class *client_class = canfs_classes_find(classes, &address);

	return client_class ? client_class->name : "";
}

static void words_are_networks_or_names(void **state)
{
	static const struct {
		const char *text;
		enum canfs_client_word word;
		const char *printed; /* of a network */
	} cases[] = {
		{ "*", CANFS_WORD_NETWORK, "*" },
		{ "10.0.3.7", CANFS_WORD_NETWORK, "10.0.3.7" },
		{ "10.0.3.7/32", CANFS_WORD_NETWORK, "10.0.3.7" },
		{ "10.0.3.7/24", CANFS_WORD_NETWORK, "10.0.3.0/24" },
		{ "10.255.255.255/13", CANFS_WORD_NETWORK, "10.248.0.0/13" },
		{ "0.0.0.0/0", CANFS_WORD_NETWORK, "0.0.0.0/0" },
		{ "::ffff:10.0.3.7", CANFS_WORD_NETWORK, "10.0.3.7" },
		{ "::ffff:10.0.3.7/120", CANFS_WORD_NETWORK, "10.0.3.0/24" },
		{ "fd00::7", CANFS_WORD_NETWORK, "fd00::7" },
		{ "fd12:3456::7/20", CANFS_WORD_NETWORK, "fd12:3000::/20" },
		{ "::/0", CANFS_WORD_NETWORK, "::/0" },
		{ "@batch", CANFS_WORD_NETGROUP, NULL },
		{ "@b.a-t_ch1", CANFS_WORD_NETGROUP, NULL },
		{ "host", CANFS_WORD_HOST, NULL },
		{ "host.example", CANFS_WORD_HOST, NULL },
		{ "host.example.", CANFS_WORD_HOST, NULL },
		{ "3com.example", CANFS_WORD_HOST, NULL },
		{ "1.2.3.4a", CANFS_WORD_HOST, NULL },
	};
	char text[CANFS_NETWORK_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum canfs_client_word word;
		struct canfs_network network;
		const char *allowed;

		if (canfs_client_parse(cases[i].text, &word, &network, &allowed) != 0)
			fail_msg("%s: %s", cases[i].text, allowed);
		if (word != cases[i].word)
			fail_msg("%s: %d, not %d", cases[i].text, (int)word, (int)cases[i].word);
		if (cases[i].printed)
			assert_string_equal(canfs_network_print(&network, text), cases[i].printed);
	}
}

static void wrong_words_are_named(void **state)
{
	static const char *const cases[][2] = {
		{ "10.0.3", "10.0.3: allowed are addresses and networks of IPv4 and IPv6, as "
			    "10.0.3.0/24" },
		{ "10.0.3.256", "10.0.3.256: allowed are addresses and networks of IPv4 and IPv6, "
				"as 10.0.3.0/24" },
		{ "17", "17: allowed are addresses and networks of IPv4 and IPv6, as 10.0.3.0/24" },
		{ "fd00::g", "fd00::g: allowed are addresses and networks of IPv4 and IPv6, as "
			     "10.0.3.0/24" },
		{ "fe80::1%no-link",
			"fe80::1%no-link: allowed are addresses and networks of IPv4 and "
			"IPv6, as 10.0.3.0/24" },
		{ "host/24", "host/24: allowed are addresses and networks of IPv4 and IPv6, as "
			     "10.0.3.0/24" },
		{ "/24", "/24: allowed are addresses and networks of IPv4 and IPv6, as "
			 "10.0.3.0/24" },
		{ "10.0.3.0/33", "10.0.3.0/33: after the slash, 0 ... 32 bits are allowed" },
		{ "10.0.3.0/", "10.0.3.0/: after the slash, 0 ... 32 bits are allowed" },
		{ "10.0.3.0/-1", "10.0.3.0/-1: after the slash, 0 ... 32 bits are allowed" },
		{ "10.0.3.0/255.255.255.0",
			"10.0.3.0/255.255.255.0: after the slash, 0 ... 32 bits are allowed" },
		{ "fd00::/129", "fd00::/129: after the slash, 0 ... 128 bits are allowed" },
		{ "fd00::/4294967296",
			"fd00::/4294967296: after the slash, 0 ... 128 bits are allowed" },
		{ "0.0.0.0", "0.0.0.0: no client has this address; use * for all clients" },
		{ "0.0.0.0/32", "0.0.0.0/32: no client has this address; use * for all clients" },
		{ "::", "::: no client has this address; use * for all clients" },
		{ "*.example",
			"*.example: names with wildcards are not allowed; use * for all clients" },
		{ "host?", "host?: names with wildcards are not allowed; use * for all clients" },
		{ "", ": allowed are *, addresses, networks, names of hosts and @netgroups" },
		{ "@", "@: allowed are *, addresses, networks, names of hosts and @netgroups" },
		{ "-v", "-v: allowed are *, addresses, networks, names of hosts and @netgroups" },
		{ "a b", "a b: allowed are *, addresses, networks, names of hosts and @netgroups" },
	};
	static struct canfs_classes classes;
	unsigned int asked = 0;
	char name[300];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			canfs_classes_add_word(&classes, cases[i][0], find_name, &asked, error),
			-EINVAL);
		assert_string_equal(error, cases[i][1]);
	}
	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	assert_int_equal(canfs_classes_add_word(&classes, name, find_name, &asked, error), -EINVAL);
	assert_int_equal(classes.network_count, 0);
	assert_int_equal(asked, 0);
	name[255] = '\0';
	assert_int_equal(canfs_classes_add_word(&classes, name, find_name, &asked, error), 0);
	assert_int_equal(asked, 1);
}

static void the_first_class_that_has_a_client_wins(void **state)
{
	struct canfs_classes classes = { .count = 0 };

	(void)state;
	assert_string_equal(class_of(&classes, "10.0.3.7"), "");
	add(&classes, "none", 1, "nobody.example");
	add(&classes, "one", 2, "10.0.3.7");
	add(&classes, "batch", 3, "10.0.3.0/24 fd00::/8 10.0.4.0/31");
	add(&classes, "empty", 4, "@nobody");
	add(&classes, "four", 5, "0.0.0.0/0");
	assert_string_equal(class_of(&classes, "10.0.3.7"), "one");
	assert_string_equal(class_of(&classes, "::ffff:10.0.3.7"), "one");
	assert_string_equal(class_of(&classes, "10.0.3.8"), "batch");
	assert_string_equal(class_of(&classes, "10.0.4.1"), "batch");
	assert_string_equal(class_of(&classes, "10.0.4.2"), "four");
	assert_string_equal(class_of(&classes, "fd00::7"), "batch");
	assert_string_equal(class_of(&classes, "fdff::7"), "batch");
	assert_string_equal(class_of(&classes, "fe00::7"), "");
	add(&classes, "six", 6, "::/0");
	add(&classes, "all", 7, "*");
	assert_string_equal(class_of(&classes, "10.9.9.9"), "four");
	assert_string_equal(class_of(&classes, "fe00::7"), "six");
	assert_string_equal(class_of(&classes, "::1"), "six");
	classes = (struct canfs_classes) { .count = 0 };
	add(&classes, "six", 6, "::/0");
	add(&classes, "all", 7, "*");
	assert_string_equal(class_of(&classes, "10.9.9.9"), "all");
	assert_string_equal(class_of(&classes, "fe00::7"), "six");
}

static void names_are_looked_up_once(void **state)
{
	struct canfs_classes classes = { .count = 0 };
	unsigned int asked = 0;

	(void)state;
	assert_int_equal(add(&classes, "batch", 30, "@group a.example 10.2.0.1"), 2);
	assert_int_equal(classes.network_count, 4); /* each once */
	assert_string_equal(class_of(&classes, "fd01::1"), "batch");
	assert_string_equal(class_of(&classes, "10.2.0.2"), "batch");
	assert_string_equal(class_of(&classes, "10.2.0.3"), "");
	/* Or not at all. */
	assert_int_equal(canfs_classes_add_word(&classes, "a.example", NULL, &asked, error), 0);
	assert_int_equal(classes.network_count, 4);
}

static void classes_are_bounded(void **state)
{
	struct canfs_classes classes = { .count = 0 };
	unsigned int asked = 0;
	char text[32];

	(void)state;
	for (unsigned int i = 0; i < CANFS_CLASSES_MAX; i++) {
		snprintf(text, sizeof(text), "class-%u", i);
		add(&classes, text, 0, "10.0.0.1");
	}
	assert_int_equal(canfs_classes_end(&classes, "more", 0, error), -ENOSPC);
	assert_string_equal(error, "class more: more than 16 classes");
	for (unsigned int i = CANFS_CLASSES_MAX; i < CANFS_CLASS_NETWORKS_MAX; i++) {
		snprintf(text, sizeof(text), "10.1.%u.1", i);
		assert_int_equal(canfs_classes_add_word(&classes, text, NULL, NULL, error), 0);
	}
	assert_int_equal(canfs_classes_add_word(&classes, "10.2.0.1", NULL, NULL, error), -ENOSPC);
	assert_string_equal(error, "10.2.0.1: more than 256 addresses and networks in all classes");
	/* What is there already needs no room. */
	assert_int_equal(canfs_classes_add_word(&classes, "10.1.16.1", NULL, NULL, error), 0);
	assert_int_equal(asked, 0);
}

static void wrong_classes_are_named(void **state)
{
	struct canfs_classes classes = { .count = 0 };

	(void)state;
	assert_int_equal(canfs_classes_end(&classes, "batch", 901, error), -EINVAL);
	assert_string_equal(error, "class batch: premium 901: not in -90 ... 900");
	assert_int_equal(canfs_classes_end(&classes, "batch", -91, error), -EINVAL);
	assert_int_equal(canfs_classes_end(&classes, "", 0, error), -EINVAL);
	assert_string_equal(
		error, "class : allowed are names of 1 to 31 letters, digits, . _ and -");
	assert_int_equal(canfs_classes_end(&classes, "a b", 0, error), -EINVAL);
	assert_int_equal(
		canfs_classes_end(&classes, "12345678901234567890123456789012", 0, error), -EINVAL);
	assert_int_equal(classes.count, 0);
	assert_int_equal(
		canfs_classes_end(&classes, "1234567890123456789012345678901", 900, error), 0);
	assert_int_equal(canfs_classes_end(&classes, "batch", -90, error), 0);
	assert_int_equal(canfs_classes_end(&classes, "batch", 0, error), -EINVAL);
	assert_string_equal(error, "class batch: this name is already in use");
}

static double told(int premium_pct, double price)
{
	struct canfs_tag tag = { .write = price, .readahead = price / 2, .bottleneck = CANFS_LOG };
	struct canfs_prices prices = { .quote = { { price, CANFS_LOG }, { price / 2, CANFS_CPU } },
		.age_usec = 7 };

	canfs_premium_to_tag(premium_pct, &tag);
	canfs_premium_to_prices(premium_pct, &prices);
	assert_true(prices.quote[CANFS_WRITE].price == tag.write);
	assert_true(prices.quote[CANFS_READAHEAD].price == tag.readahead);
	assert_true(tag.bottleneck == CANFS_LOG &&
		    prices.quote[CANFS_READAHEAD].bottleneck == CANFS_CPU && prices.age_usec == 7);
	return tag.write;
}

static void premiums_stay_within_prices(void **state)
{
	(void)state;
	assert_float_equal(told(30, 0.5), 0.65, 1e-6);
	assert_float_equal(told(-30, 0.5), 0.35, 1e-6);
	assert_true(told(0, 0.123) == 0.123);
	assert_true(told(900, 0) == 0);
	assert_float_equal(told(-90, CANFS_PRICE_MAX), 0.1, 1e-6);
	assert_true(told(900, 0.2) == CANFS_PRICE_MAX);
	assert_true(told(30, CANFS_PRICE_MAX) == CANFS_PRICE_MAX);
	/* While the server drains nobody has a discount. */
	assert_int_equal(canfs_premium_now(-30, true), 0);
	assert_int_equal(canfs_premium_now(-30, false), -30);
	assert_int_equal(canfs_premium_now(30, true), 30);
}

static int premium_of(struct canfs_shared_classes *shared, const char *text)
{
	struct sockaddr_in6 client = { .sin6_family = AF_INET6, .sin6_addr = address_of(text) };

	return canfs_shared_classes_premium(shared, (struct sockaddr *)&client);
}

static void classes_are_replaced(void **state)
{
	struct canfs_shared_classes shared = { .current = NULL };
	struct canfs_classes classes = { .count = 0 }, copy;
	struct sockaddr_in ipv4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000307) };
	struct sockaddr other = { .sa_family = AF_UNIX };

	(void)state;
	assert_int_equal(premium_of(&shared, "10.0.3.7"), 0);
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 0);
	assert_int_equal(canfs_shared_classes_changes(&shared), 0);
	add(&classes, "batch", 30, "10.0.3.0/24");
	add(&classes, "plain", 0, "10.0.4.0/24");
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 1);
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 0);
	assert_int_equal(canfs_shared_classes_changes(&shared), 1);
	assert_int_equal(premium_of(&shared, "10.0.3.7"), 30);
	assert_int_equal(canfs_shared_classes_premium(&shared, (struct sockaddr *)&ipv4), 30);
	assert_int_equal(canfs_shared_classes_premium(&shared, &other), 0);
	assert_int_equal(premium_of(&shared, "10.0.4.7"), 0);
	assert_int_equal(shared.told, 2);
	canfs_shared_classes_copy(&shared, &copy);
	assert_true(canfs_classes_are_same(&copy, &classes));
	classes.list[0].premium_pct = -30;
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 1);
	assert_int_equal(premium_of(&shared, "10.0.3.7"), -30);
	classes = (struct canfs_classes) { .count = 0 };
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 1);
	assert_int_equal(premium_of(&shared, "10.0.3.7"), 0);
	assert_int_equal(canfs_shared_classes_changes(&shared), 3);
	canfs_shared_classes_free(&shared);
}

static struct {
	struct canfs_shared_classes shared;
	_Atomic bool stop;
	_Atomic unsigned int looks;
} race;

static void *look_on(void *arg)
{
	(void)arg;
	while (!atomic_load(&race.stop)) {
		int premium_pct = premium_of(&race.shared, "10.0.3.7");

		/* All of one, or of the other. */
		if (premium_pct != 0 && premium_pct != 11 && premium_pct != 22)
			abort();
		atomic_fetch_add(&race.looks, 1);
		sched_yield();
	}
	return NULL;
}

/* Under ThreadSanitizer and AddressSanitizer: what a reader looks at is not freed. */
static void readers_are_not_disturbed(void **state)
{
	struct canfs_classes kinds[3] = { { .count = 0 } };
	pthread_t readers[3];
	unsigned int begun;

	(void)state;
	add(&kinds[1], "one", 11, "10.0.3.0/24");
	add(&kinds[2], "first", 5, "10.0.4.0/24 fd00::/8");
	add(&kinds[2], "two", 22, "10.0.3.7 @group");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, look_on, NULL), 0);
	for (unsigned int i = 0; i < 99; i++) {
		assert_true(canfs_shared_classes_set(&race.shared, &kinds[i % 3]) >= 0);
		begun = race.looks;
		while (i % 33 == 0 && race.looks == begun)
			sched_yield();
	}
	atomic_store(&race.stop, true);
	for (size_t i = 0; i < 3; i++)
		pthread_join(readers[i], NULL);
	canfs_shared_classes_free(&race.shared);
}

static char said[256];
static unsigned int times_said;

static void say(const char *message)
{
	snprintf(said, sizeof(said), "%s", message);
	times_said++;
}

/* What the resolver of this machine knows for certain, and what none can. */
static void names_come_from_the_resolver(void **state)
{
	struct canfs_classes classes = { .count = 0 };
	struct canfs_names names;
	char label[66];

	(void)state;
	canfs_names_begin(&names, say);
	names.class_name = "batch";
	names.until_usec = UINT64_MAX;
	canfs_names_find(&names, "127.0.0.2", &classes);
	assert_int_equal(times_said, 0);
	assert_int_equal(canfs_classes_end(&classes, "batch", 30, error), 0);
	assert_string_equal(class_of(&classes, "127.0.0.2"), "batch");
	/* No label is that long. */
	memset(label, 'x', sizeof(label) - 1);
	label[sizeof(label) - 1] = '\0';
	canfs_names_find(&names, label, &classes);
	assert_int_equal(times_said, 1);
	assert_non_null(strstr(said, "class batch: xxx"));
	assert_non_null(strstr(said, " is left out: "));
	canfs_names_find(&names, "@canfs-no-such-netgroup", &classes);
	assert_string_equal(said, "class batch: @canfs-no-such-netgroup is left out: no such "
				  "netgroup, or no hosts in it");
	names.until_usec = canfs_now_usec();
	canfs_names_find(&names, "localhost", &classes);
	assert_string_equal(said, "class batch: localhost is left out: "
				  "earlier name lookups took too long");
	assert_int_equal(classes.network_count, 1);
}

/* The same link-local address on two links belongs to two hosts. */
static void interfaces_tell_link_local_addresses_apart(void **state)
{
	const struct in6_addr one = at_link("fe80::1", 1), two = at_link("fe80::1", 2);
	const struct in6_addr anywhere = address_of("fe80::1"), global = at_link("fd00::1", 2);
	struct in6_addr parsed;
	char text[INET6_ADDRSTRLEN], name[IF_NAMESIZE], expected[INET6_ADDRSTRLEN + IF_NAMESIZE];
	bool is_ipv4;

	(void)state;
	assert_false(IN6_ARE_ADDR_EQUAL(&one, &two));
	assert_false(canfs_is_same_host(&one, &two));
	assert_true(canfs_is_same_host(&one, &anywhere));
	assert_true(canfs_is_same_host(&anywhere, &two));
	assert_int_equal(canfs_scope_of(&two), 2);
	assert_int_equal(canfs_scope_of(&global), 0);
	assert_string_equal(canfs_print_address(&global, text), "fd00::1");
	/* 1 is lo, wherever this runs. */
	assert_non_null(if_indextoname(1, name));
	snprintf(expected, sizeof(expected), "fe80::1%%%s", name);
	assert_string_equal(canfs_print_address(&one, text), expected);
	assert_true(canfs_parse_address(expected, strlen(expected), &parsed, &is_ipv4));
	assert_true(IN6_ARE_ADDR_EQUAL(&parsed, &one));
	assert_true(canfs_parse_address("fe80::1%2", 9, &parsed, &is_ipv4));
	assert_true(IN6_ARE_ADDR_EQUAL(&parsed, &two));
	assert_false(canfs_parse_address("fe80::1%", 8, &parsed, &is_ipv4));
	assert_false(canfs_parse_address("fe80::1%none-such", 17, &parsed, &is_ipv4));
	assert_false(canfs_parse_address("fd00::1%1", 9, &parsed, &is_ipv4));
	assert_false(canfs_parse_address("10.0.0.1%1", 10, &parsed, &is_ipv4));
}

static const char *class_at(const struct canfs_classes *classes, struct in6_addr client)
{
	const struct canfs_class *client_class = canfs_classes_find(classes, &client);

	return client_class ? client_class->name : "none";
}

static void a_link_local_client_is_in_the_class_of_its_link(void **state)
{
	struct canfs_classes classes = { .count = 0 };

	(void)state;
	add(&classes, "first", 10, "fe80::1%1");
	add(&classes, "link", 20, "fe80::%2/64");
	add(&classes, "plain", 30, "fe80::3 fd00::/8");
	assert_string_equal(class_at(&classes, at_link("fe80::1", 1)), "first");
	assert_string_equal(class_at(&classes, at_link("fe80::1", 2)), "link");
	assert_string_equal(class_at(&classes, at_link("fe80::3", 2)), "link");
	assert_string_equal(class_at(&classes, at_link("fe80::3", 1)), "plain");
	assert_string_equal(class_at(&classes, at_link("fe80::3", 3)), "plain");
	assert_string_equal(class_at(&classes, at_link("fe80::2", 1)), "none");
	assert_string_equal(class_at(&classes, at_link("fd00::2", 7)), "plain");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_networks_or_names),
		cmocka_unit_test(wrong_words_are_named),
		cmocka_unit_test(the_first_class_that_has_a_client_wins),
		cmocka_unit_test(interfaces_tell_link_local_addresses_apart),
		cmocka_unit_test(a_link_local_client_is_in_the_class_of_its_link),
		cmocka_unit_test(names_are_looked_up_once),
		cmocka_unit_test(classes_are_bounded),
		cmocka_unit_test(wrong_classes_are_named),
		cmocka_unit_test(premiums_stay_within_prices),
		cmocka_unit_test(classes_are_replaced),
		cmocka_unit_test(readers_are_not_disturbed),
		cmocka_unit_test(names_come_from_the_resolver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
