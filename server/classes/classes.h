/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Classes of clients (CA-NFS §5: priorities, selective sharing). A client of a class sees the
 * market's price with the premium of that class:
 *
 *	address --> first class with a network that has it --> premium --> told = price * (1 + premium / 100), at most Pmax
 *
 * Clients with a premium above 0 defer before the others. Clients with a premium below 0, a
 * discount, defer after the others. The price of an idle server is 0, with any premium.
 *
 * Plain data without pointers. names.h turns names of hosts and netgroups into addresses.
 * shared_classes.h replaces classes while other threads read them.
 */
#ifndef CANFS_SERVER_CLASSES_CLASSES_H
#define CANFS_SERVER_CLASSES_CLASSES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "protocol/price_message.h"
#include "protocol/tag.h"

#define CANFS_CLASSES_MAX        16
#define CANFS_CLASS_NETWORKS_MAX 256 /* of all classes together */
#define CANFS_CLASS_NAME_MAX     32  /* NUL included */
#define CANFS_CLASS_ERROR_MAX    256 /* large enough for any error message */
#define CANFS_PREMIUM_PCT_MIN    (-90)
#define CANFS_PREMIUM_PCT_MAX    900

/* All clients, or those whose address starts with this prefix. */
struct canfs_network {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d; bits after the prefix are 0 */
	uint8_t bits;            /* length of the prefix, 0 ... 128 */
	bool is_all;             /* all IPv4 and IPv6 clients; the other members are 0 */
};

struct canfs_class {
	char name[CANFS_CLASS_NAME_MAX];
	int32_t premium_pct;
	uint32_t end; /* index after its last network; the first is the previous end */
};

/* All zero: no classes. */
struct canfs_classes {
	size_t count;
	struct canfs_class list[CANFS_CLASSES_MAX];
	size_t network_count;
	struct canfs_network network[CANFS_CLASS_NETWORKS_MAX]; /* sorted by class */
};

enum canfs_client_word { CANFS_WORD_NETWORK, CANFS_WORD_HOST, CANFS_WORD_NETGROUP };

/*
 * The words that the option Clients takes:
 *
 *	*                      all clients
 *	10.0.3.7  fd00::7      an address
 *	10.0.3.0/24  fd00::/8  a network: 0.0.0.0/0 is all of IPv4, ::/0 all of IPv6
 *	@batch                 a netgroup
 *	host.example           a host
 *
 * Returns 0 and sets *word, and *network if the word is an address or a network. Returns -EINVAL
 * and sets *allowed to a text that says what is allowed.
 */
int canfs_client_parse(const char *text, enum canfs_client_word *word,
	struct canfs_network *network, const char **allowed);

/* The network that has this address only. */
struct canfs_network canfs_network_of(const struct in6_addr *address);

/*
 * To build classes, add the clients of a class one by one and then call canfs_classes_end(). After
 * an error, discard all of the classes.
 */

/*
 * Returns 0, or -ENOSPC if there are CANFS_CLASS_NETWORKS_MAX. Ignores a network that the class
 * already has.
 */
int canfs_classes_add_network(struct canfs_classes *classes, const struct canfs_network *network);

/*
 * Adds the addresses of a host, or of the hosts of a netgroup ("@..."), as far as they can be
 * found.
 */
typedef void canfs_find_name(void *arg, const char *name, struct canfs_classes *classes);

/*
 * Adds the clients that one word of Clients stands for. find: NULL ignores names. Returns 0, or
 * -EINVAL or -ENOSPC with an error message that says what is allowed.
 */
int canfs_classes_add_word(struct canfs_classes *classes, const char *text, canfs_find_name *find,
	void *arg, char error[CANFS_CLASS_ERROR_MAX]);

/*
 * Ends a class: the networks added since the previous class belong to it. Returns 0, or -EINVAL or
 * -ENOSPC with an error message.
 */
int canfs_classes_end(struct canfs_classes *classes, const char *name, int premium_pct,
	char error[CANFS_CLASS_ERROR_MAX]);

/* The first class that has this client; NULL: none. */
const struct canfs_class *canfs_classes_find(
	const struct canfs_classes *classes, const struct in6_addr *client);

/* True if both have the same classes in the same order. */
bool canfs_classes_are_same(const struct canfs_classes *one, const struct canfs_classes *other);

/* In the syntax of Clients: "*", "10.0.3.7", "fd00::/8". Returns text. */
#define CANFS_NETWORK_TEXT_MAX (INET6_ADDRSTRLEN + 4)
const char *canfs_network_print(
	const struct canfs_network *network, char text[CANFS_NETWORK_TEXT_MAX]);

/* Adds a premium to prices. The results are in [0, CANFS_PRICE_MAX]. */
void canfs_premium_to_tag(int premium_pct, struct canfs_tag *tag);
void canfs_premium_to_prices(int premium_pct, struct canfs_prices *prices);

/*
 * The premium in effect. While the server drains (struct canfs_settings), no class has a discount.
 */
static inline int canfs_premium_now(int premium_pct, bool drains)
{
	return drains && premium_pct < 0 ? 0 : premium_pct;
}

#endif
