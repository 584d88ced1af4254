/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Clients by their addresses and names, and the classes that they are in. */
#ifndef CANFS_TESTS_CLASSES_SCENE_H
#define CANFS_TESTS_CLASSES_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/address.h"
#include "server/classes/classes.h"

static char error[CANFS_CLASS_ERROR_MAX];

static inline struct in6_addr address_of(const char *text)
{
	struct in6_addr address;
	struct in_addr ipv4;

	if (inet_pton(AF_INET, text, &ipv4) == 1)
		return canfs_map_ipv4(&ipv4);
	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

/* "a.example" has two addresses, "@group" three, of which one is that of "a.example"; others none. */
static inline void find_name(void *arg, const char *name, struct canfs_classes *classes)
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

static inline struct in6_addr at_link(const char *text, uint32_t scope)
{
	struct sockaddr_in6 from = {
		.sin6_family = AF_INET6, .sin6_addr = address_of(text), .sin6_scope_id = scope
	};
	struct in6_addr address;

	assert_true(canfs_read_address((const struct sockaddr *)&from, &address));
	return address;
}

/* "" if it is in none. */
static inline const char *class_of(const struct canfs_classes *classes, const char *client)
{
	struct in6_addr address = address_of(client);
	const struct canfs_class *client_class = canfs_classes_find(classes, &address);

	return client_class ? client_class->name : "";
}

#endif
