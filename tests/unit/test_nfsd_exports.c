// SPDX-License-Identifier: LGPL-3.0-or-later
/* What the kernel's server exports to whom, as the kernel and exportfs write it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <string.h>

#include "common/address.h"
#include "common/path.h"
#include "priced/nfsd_exports.h"

/* As a kernel lists them, in the order of its hash table. */
static const char kernel_list[] =
	"# Version 1.1\n"
	"# Path Client(Flags) # IPs\n"
	"/srv/with\\040blank\t192.0.2.0/"
	"24,*.example.com(rw,root_squash,sync,wdelay,no_subtree_check,"
	"uuid=0d7ca5a2:a6a94f6e:9c2dcb39:e7a9bf0c,sec=1)\n"
	"/\t*(ro,root_squash,sync,no_wdelay,v4root,fsid=0,uuid=0d7ca5a2:a6a94f6e:9c2dcb39:e7a9bf0c,"
	"sec=390003:390004:1)\n"
	"/srv/data\t*(rw,insecure,no_root_squash,async,wdelay,no_subtree_check,fsid=1,sec=1)\n";

static const char etab[] = "/srv/"
			   "nfs\t198.51.100.7(rw,sync,wdelay,hide,nocrossmnt,insecure,root_squash,"
			   "no_all_squash,no_subtree_check,"
			   "secure_locks,acl,no_pnfs,fsid=0,anonuid=65534,anongid=65534,sec=sys,rw,"
			   "insecure,root_squash,no_all_squash)\n"
			   "/srv/nfs\t@trusted(rw,sync,secure,fsid=0,sec=sys,rw,secure)\n";

struct expected {
	const char *path, *client;
	bool insecure, is_root, is_v4root;
};

static void expect(const char *text, const struct expected *expected, size_t count)
{
	struct canfs_nfsd_cursor cursor = { .text = text };
	struct canfs_nfsd_export export;

	for (size_t i = 0; i < count; i++) {
		assert_true(canfs_nfsd_next_export(&cursor, &export));
		assert_string_equal(export.path, expected[i].path);
		assert_string_equal(export.client, expected[i].client);
		assert_int_equal(export.insecure, expected[i].insecure);
		assert_int_equal(export.is_root, expected[i].is_root);
		assert_int_equal(export.is_v4root, expected[i].is_v4root);
	}
	assert_false(canfs_nfsd_next_export(&cursor, &export));
}

static void reads_the_kernels_list(void **state)
{
	static const struct expected expected[] = {
		{ "/srv/with blank", "192.0.2.0/24,*.example.com", false, false, false },
		{ "/", "*", false, true, true },
		{ "/srv/data", "*", true, false, false },
	};

	(void)state;
	expect(kernel_list, expected, 3);
}

static void reads_etab(void **state)
{
	static const struct expected expected[] = {
		{ "/srv/nfs", "198.51.100.7", true, true, false },
		{ "/srv/nfs", "@trusted", false, true, false },
	};

	(void)state;
	expect(etab, expected, 2);
}

static void several_clients_may_share_a_line(void **state)
{
	static const struct expected expected[] = {
		{ "/a", "x", false, false, false },
		{ "/a", "y", true, false, false },
		{ "/b", "z", false, false, false },
	};

	(void)state;
	expect("/a\tx(ro)  y(insecure)\n\n/b z()\n", expected, 3);
}

static void leaves_out_what_is_no_export(void **state)
{
	static const struct expected expected[] = { { "/a", "x", false, false, false } };
	static const char end[] = "\tx(rw)\n/a\tx()";
	char line[3 * PATH_MAX];

	(void)state;
	expect("", NULL, 0);
	expect("relative\tx(rw)\n/a\n/a\t\n/a\t(rw)\n/a\tx\n/a\tx (rw)\n", NULL, 0);
	/* Torn at the end, as by a buffer that is too small. */
	expect("/a\tx(rw)\n/a\tx(rw,insec", expected, 1);
	memset(line, 'a', sizeof(line));
	line[0] = '/';
	memcpy(line + sizeof(line) - sizeof(end), end, sizeof(end));
	expect(line, expected, 1);
}

static struct in6_addr address_of(const char *text)
{
	struct sockaddr_storage storage = { 0 };
	struct in6_addr address;

	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)&storage)->sin_addr) == 1)
		storage.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&storage)->sin6_addr) == 1)
		storage.ss_family = AF_INET6;
	assert_true(canfs_read_address((struct sockaddr *)&storage, &address));
	return address;
}

static bool is_client(const char *client, const char *address, const char *domain)
{
	struct in6_addr parsed = address_of(address);

	return canfs_nfsd_is_client(client, &parsed, domain);
}

static void knows_addresses_and_networks(void **state)
{
	(void)state;
	assert_true(is_client("*", "192.0.2.1", ""));
	assert_true(is_client("192.0.2.1", "192.0.2.1", ""));
	assert_false(is_client("192.0.2.1", "192.0.2.11", ""));
	assert_true(is_client("$192.0.2.1", "192.0.2.1", ""));
	assert_true(is_client("192.0.2.0/24", "192.0.2.255", ""));
	assert_false(is_client("192.0.2.0/24", "192.0.3.0", ""));
	assert_true(is_client("192.0.2.77/24", "192.0.2.1", ""));
	assert_true(is_client("192.0.2.128/255.255.255.128", "192.0.2.129", ""));
	assert_false(is_client("192.0.2.128/255.255.255.128", "192.0.2.127", ""));
	assert_true(is_client("0.0.0.0/0", "192.0.2.1", ""));
	assert_false(is_client("0.0.0.0/0", "2001:db8::1", ""));
	assert_true(is_client("2001:db8::/32", "2001:db8:1::1", ""));
	assert_false(is_client("2001:db8::/32", "2001:db9::1", ""));
	assert_true(is_client("2001:db8::1", "2001:0db8:0:0::1", ""));
	assert_true(is_client("::/0", "2001:db8::1", ""));
	assert_false(is_client("::/0", "192.0.2.1", ""));
}

/* The kernel's lists know no interfaces. */
static void a_link_local_client_is_known_at_any_link(void **state)
{
	struct sockaddr_in6 from = { .sin6_family = AF_INET6, .sin6_scope_id = 2 };
	char domain[CANFS_NFSD_CLIENT_MAX];
	struct in6_addr address;

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "fe80::1", &from.sin6_addr), 1);
	assert_true(canfs_read_address((const struct sockaddr *)&from, &address));
	assert_true(canfs_nfsd_is_client("fe80::1", &address, ""));
	assert_true(canfs_nfsd_is_client("fe80::/64", &address, ""));
	assert_true(canfs_nfsd_is_client("fe80::1%2", &address, ""));
	assert_false(canfs_nfsd_is_client("fe80::1%1", &address, ""));
	assert_false(canfs_nfsd_is_client("fe80::2", &address, ""));
	assert_true(canfs_nfsd_find_domain("nfsd fe80::1 desks\n", &address, domain));
	assert_string_equal(domain, "desks");
}

static void takes_nothing_else_for_one(void **state)
{
	static const char *const clients[] = { "", "192.0.2.1/33", "192.0.2.1/", "192.0.2.1/-1",
		"192.0.2.1/ffff::", "2001:db8::/129", "2001:db8::/255.0.0.0", "192.0.2.0/1e1",
		"192.0.2.", "/24", "$", "**", "host.example.com", "*.example.com", "@trusted",
		"gss/krb5", "-test-client-", ",", "*,", ",*" };

	(void)state;
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		if (is_client(clients[i], "192.0.2.1", "") ||
			is_client(clients[i], "2001:db8::1", ""))
			fail_msg("'%s' is taken for a client", clients[i]);
	}
}

/* The domain of an address is the list of all that it was taken for. */
static void knows_names_by_the_domain(void **state)
{
	(void)state;
	assert_true(is_client("*.example.com", "192.0.2.1", "*.example.com"));
	assert_true(is_client("@trusted", "192.0.2.1", "*.example.com,@trusted"));
	assert_false(is_client("@trust", "192.0.2.1", "*.example.com,@trusted"));
	assert_true(is_client("192.0.2.0/24,@trusted", "192.0.2.1", "192.0.2.0/24,@trusted"));
	assert_false(is_client("192.0.2.0/24,@trusted", "192.0.2.1", "192.0.2.0/24"));
	assert_false(is_client("192.0.2.0/24,@trusted", "192.0.2.1", ""));
}

static void tells_which_clients_have_names(void **state)
{
	(void)state;
	assert_false(canfs_nfsd_has_name("*"));
	assert_false(canfs_nfsd_has_name("192.0.2.0/24,2001:db8::1"));
	assert_true(canfs_nfsd_has_name("192.0.2.0/24,@trusted"));
	assert_true(canfs_nfsd_has_name("host"));
}

static void finds_domains(void **state)
{
	static const char content[] = "#class IP domain\n"
				      "# nfsd 192.0.2.9 expired\n"
				      "other 192.0.2.1 wrong\n"
				      "nfsd 192.0.2.1 *.example.com,@trusted\n"
				      "nfsd 2001:0db8:0000:0000:0000:0000:0000:0001 six\n"
				      "nfsd 192.0.2.2\n"
				      "nfsd 192.0.2.3 torn";
	char domain[CANFS_NFSD_CLIENT_MAX];
	struct in6_addr address;

	(void)state;
	address = address_of("192.0.2.1");
	assert_true(canfs_nfsd_find_domain(content, &address, domain));
	assert_string_equal(domain, "*.example.com,@trusted");
	address = address_of("2001:db8::1");
	assert_true(canfs_nfsd_find_domain(content, &address, domain));
	assert_string_equal(domain, "six");
	for (const char *const *text = (const char *const[]) { "192.0.2.9", "192.0.2.2",
		     "192.0.2.3", "192.0.2.4", NULL };
		*text; text++) {
		address = address_of(*text);
		assert_false(canfs_nfsd_find_domain(content, &address, domain));
		assert_string_equal(domain, "");
	}
}

static void compares_whole_components(void **state)
{
	(void)state;
	assert_true(canfs_path_is_below("/srv/data", "/srv/data"));
	assert_true(canfs_path_is_below("/srv/data/x", "/srv/data"));
	assert_false(canfs_path_is_below("/srv/database", "/srv/data"));
	assert_false(canfs_path_is_below("/srv", "/srv/data"));
	assert_true(canfs_path_is_below("/srv", "/"));
	assert_false(canfs_path_is_below("srv", "/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_kernels_list),
		cmocka_unit_test(reads_etab),
		cmocka_unit_test(several_clients_may_share_a_line),
		cmocka_unit_test(leaves_out_what_is_no_export),
		cmocka_unit_test(knows_addresses_and_networks),
		cmocka_unit_test(a_link_local_client_is_known_at_any_link),
		cmocka_unit_test(takes_nothing_else_for_one),
		cmocka_unit_test(knows_names_by_the_domain),
		cmocka_unit_test(tells_which_clients_have_names),
		cmocka_unit_test(finds_domains),
		cmocka_unit_test(compares_whole_components),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
