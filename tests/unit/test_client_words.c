// SPDX-License-Identifier: LGPL-3.0-or-later
/* What a word of Clients stands for, and which hosts a name or a link-local address belongs to. */
#include "tests/unit/classes_scene.h"

#include <errno.h>
#include <stdio.h>

#include "common/clock.h"
#include "server/classes/names.h"

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
		{ "10.0.3",
			"10.0.3: must be an IPv4 or IPv6 address or network, such as 10.0.3.0/24" },
		{ "10.0.3.256", "10.0.3.256: must be an IPv4 or IPv6 address or network, such as "
				"10.0.3.0/24" },
		{ "17", "17: must be an IPv4 or IPv6 address or network, such as 10.0.3.0/24" },
		{ "fd00::g", "fd00::g: must be an IPv4 or IPv6 address or network, such as "
			     "10.0.3.0/24" },
		{ "fe80::1%no-link", "fe80::1%no-link: must be an IPv4 or IPv6 address or network, "
				     "such as 10.0.3.0/24" },
		{ "host/24", "host/24: must be an IPv4 or IPv6 address or network, such as "
			     "10.0.3.0/24" },
		{ "/24", "/24: must be an IPv4 or IPv6 address or network, such as 10.0.3.0/24" },
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
		{ "", ": must be *, an address, a network, a host name or @netgroup" },
		{ "@", "@: must be *, an address, a network, a host name or @netgroup" },
		{ "-v", "-v: must be *, an address, a network, a host name or @netgroup" },
		{ "a b", "a b: must be *, an address, a network, a host name or @netgroup" },
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_networks_or_names),
		cmocka_unit_test(wrong_words_are_named),
		cmocka_unit_test(interfaces_tell_link_local_addresses_apart),
		cmocka_unit_test(names_come_from_the_resolver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
