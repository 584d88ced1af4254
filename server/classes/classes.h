/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Classes of clients (CA-NFS §5: priorities, selective sharing). Who is in one is told the market's price with a premium:
 *
 *	address --> first class with a network that has it --> premium --> told = price * (1 + premium / 100), at most Pmax
 *
 * Clients that are told more defer before the others; with a premium below 0, a discount, after them. An idle server, whose
 * price is 0, tells all of them the same.
 *
 * Plain data without pointers. Names of hosts and netgroups have become addresses by then (names.h); how the classes are
 * replaced while they are read: shared_classes.h.
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
#define CANFS_CLASS_ERROR_MAX    256 /* room for any error line */
#define CANFS_PREMIUM_PCT_MIN    (-90)
#define CANFS_PREMIUM_PCT_MAX    900

/* All clients, or those whose address begins as this one. */
struct canfs_network {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d; no bit is set behind its prefix */
	uint8_t bits;            /* of the prefix, 0 ... 128 */
	bool is_all;             /* of IPv4 and IPv6; the rest is 0 then */
};

struct canfs_class {
	char name[CANFS_CLASS_NAME_MAX];
	int32_t premium_pct;
	uint32_t end; /* its networks: from the end of the class before to this one */
};

/* All zero: none. */
struct canfs_classes {
	size_t count;
	struct canfs_class list[CANFS_CLASSES_MAX];
	size_t network_count;
	struct canfs_network network[CANFS_CLASS_NETWORKS_MAX]; /* class by class */
};

enum canfs_client_word { CANFS_WORD_NETWORK, CANFS_WORD_HOST, CANFS_WORD_NETGROUP };

/*
 * What one word of Clients stands for:
 *
 *	*                      all clients
 *	10.0.3.7  fd00::7      an address
 *	10.0.3.0/24  fd00::/8  a network: 0.0.0.0/0 is all of IPv4, ::/0 all of IPv6
 *	@batch                 a netgroup
 *	host.example           a host
 *
 * 0 with *word, and *network if it is one; -EINVAL with *allowed, which says what would be right.
 */
int canfs_client_parse(const char *text, enum canfs_client_word *word,
	struct canfs_network *network, const char **allowed);

/* This address and no other. */
struct canfs_network canfs_network_of(const struct in6_addr *address);

/*
 * A class is made of its clients, one by one, and then its name. What is wrong is wrong with all of them: classes after an
 * error are good for nothing.
 */

/* 0; -ENOSPC: there are CANFS_CLASS_NETWORKS_MAX. What the class has already is not added again. */
int canfs_classes_add_network(struct canfs_classes *classes, const struct canfs_network *network);

/* Adds the addresses of a host, or of the hosts of a netgroup ("@..."), as far as there are any. */
typedef void canfs_find_name(void *arg, const char *name, struct canfs_classes *classes);

/*
 * Adds what one word of Clients stands for; find: NULL leaves names out. 0; -EINVAL, -ENOSPC with error, a line that says
 * what is wrong, and what is allowed.
 */
int canfs_classes_add_word(struct canfs_classes *classes, const char *text, canfs_find_name *find,
	void *arg, char error[CANFS_CLASS_ERROR_MAX]);

/* What was added since the class before is this one, behind it. 0; -EINVAL, -ENOSPC with error as above. */
int canfs_classes_end(struct canfs_classes *classes, const char *name, int premium_pct,
	char error[CANFS_CLASS_ERROR_MAX]);

/* The first one that the client is in; NULL: none. */
const struct canfs_class *canfs_classes_find(
	const struct canfs_classes *classes, const struct in6_addr *client);

/* Are they the same, in the same order? */
bool canfs_classes_are_same(const struct canfs_classes *one, const struct canfs_classes *other);

/* As Clients has it: "*", "10.0.3.7", "fd00::/8". Returns text. */
#define CANFS_NETWORK_TEXT_MAX (INET6_ADDRSTRLEN + 4)
const char *canfs_network_print(
	const struct canfs_network *network, char text[CANFS_NETWORK_TEXT_MAX]);

/* Prices as they are told with the premium, in [0, CANFS_PRICE_MAX]. */
void canfs_premium_to_tag(int premium_pct, struct canfs_tag *tag);
void canfs_premium_to_prices(int premium_pct, struct canfs_prices *prices);

/* What holds of it. drains: clients shall hold what they can (struct canfs_settings), and nobody has a discount. */
static inline int canfs_premium_now(int premium_pct, bool drains)
{
	return drains && premium_pct < 0 ? 0 : premium_pct;
}

#endif
