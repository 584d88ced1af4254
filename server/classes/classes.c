// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/classes/classes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/address.h"
#include "pricing/price.h"

#define BITS_OF_IPV6  128
#define BITS_ABOVE    96  /* prefix of IPv4 addresses in ::ffff:a.b.c.d */
#define HOST_NAME_LEN 255 /* maximum, for hosts and netgroups */

static const char digits[] = "0123456789";
static const char name_octets[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

static bool begins_as(
	const struct in6_addr *address, const struct in6_addr *prefix, unsigned int bits)
{
	unsigned int rest = bits % 8;

	if (memcmp(address->s6_addr, prefix->s6_addr, bits / 8) != 0)
		return false;
	return rest == 0 ||
	       (address->s6_addr[bits / 8] ^ prefix->s6_addr[bits / 8]) >> (8 - rest) == 0;
}

/* Clears the bits after the prefix. Keeps the interface of a link-local address. */
static void clear_behind(struct in6_addr *address, unsigned int bits)
{
	const uint32_t scope = canfs_scope_of(address);

	for (unsigned int bit = bits; bit < BITS_OF_IPV6; bit++)
		address->s6_addr[bit / 8] =
			(uint8_t)(address->s6_addr[bit / 8] & ~(0x80 >> bit % 8));
	*address = canfs_with_scope(address, scope);
}

static bool is_of_ipv4(const struct canfs_network *network)
{
	return network->bits >= BITS_ABOVE && IN6_IS_ADDR_V4MAPPED(&network->address);
}

/* IPv4 clients do not match ::/0, although ::/0 contains their mapped addresses. */
static bool has(const struct canfs_network *network, const struct in6_addr *client)
{
	const struct in6_addr here = canfs_with_scope(&network->address, 0);
	const struct in6_addr there = canfs_with_scope(client, 0);
	const uint32_t scope = canfs_scope_of(&network->address);

	if (network->is_all)
		return true;
	return is_of_ipv4(network) == !!IN6_IS_ADDR_V4MAPPED(client) &&
	       (scope == 0 || scope == canfs_scope_of(client)) &&
	       begins_as(&there, &here, network->bits);
}

struct canfs_network canfs_network_of(const struct in6_addr *address)
{
	return (struct canfs_network) { .address = *address, .bits = BITS_OF_IPV6 };
}

/* Parses the number of bits after the slash. False: no number, or above most. */
static bool parse_bits(const char *text, unsigned int most, unsigned int *bits)
{
	size_t len = strlen(text);

	*bits = 0;
	if (len == 0 || len > 3 || strspn(text, digits) != len)
		return false;
	for (; *text != '\0'; text++)
		*bits = *bits * 10 + (unsigned int)(*text - '0');
	return *bits <= most;
}

/* "0.0.0.0" and "::". NFS-Ganesha takes "0.0.0.0" for all clients; elsewhere it means none. */
static bool is_unspecified(const struct in6_addr *address)
{
	static const struct in_addr any = { INADDR_ANY };
	const struct in6_addr mapped = canfs_map_ipv4(&any);

	return IN6_IS_ADDR_UNSPECIFIED(address) || IN6_ARE_ADDR_EQUAL(address, &mapped);
}

static int parse_network(const char *text, struct canfs_network *network, const char **allowed)
{
	size_t len = strcspn(text, "/");
	unsigned int above, bits = BITS_OF_IPV6;
	bool is_ipv4;

	if (!canfs_parse_address(text, len, &network->address, &is_ipv4)) {
		*allowed = "must be an IPv4 or IPv6 address or network, such as 10.0.3.0/24";
		return -EINVAL;
	}
	above = is_ipv4 ? BITS_ABOVE : 0;
	if (text[len] == '/') {
		if (!parse_bits(text + len + 1, BITS_OF_IPV6 - above, &bits)) {
			*allowed = above != 0 ? "after the slash, 0 ... 32 bits are allowed"
					      : "after the slash, 0 ... 128 bits are allowed";
			return -EINVAL;
		}
		bits += above;
	}
	if (bits == BITS_OF_IPV6 && is_unspecified(&network->address)) {
		*allowed = "no client has this address; use * for all clients";
		return -EINVAL;
	}
	clear_behind(&network->address, bits);
	network->bits = (uint8_t)bits;
	return 0;
}

/*
 * Host names never end in a label of digits only. The resolver also takes such a name for an
 * address.
 */
static bool looks_like_address(const char *text)
{
	const char *dot = strrchr(text, '.');
	const char *label = dot ? dot + 1 : text;

	return strpbrk(text, ":/") || (*label != '\0' && label[strspn(label, digits)] == '\0');
}

static int parse_name(const char *text, const char **allowed)
{
	size_t len = strlen(text);

	if (len == 0 || len > HOST_NAME_LEN || text[0] == '-' || strspn(text, name_octets) != len) {
		*allowed = strpbrk(text, "*?[")
				   ? "names with wildcards are not allowed; use * for all clients"
				   : "must be *, an address, a network, a host name or @netgroup";
		return -EINVAL;
	}
	return 0;
}

int canfs_client_parse(const char *text, enum canfs_client_word *word,
	struct canfs_network *network, const char **allowed)
{
	*network = (struct canfs_network) { .bits = 0 };
	if (strcmp(text, "*") == 0) {
		network->is_all = true;
		*word = CANFS_WORD_NETWORK;
		return 0;
	}
	if (text[0] == '@') {
		*word = CANFS_WORD_NETGROUP;
		return parse_name(text + 1, allowed);
	}
	if (looks_like_address(text)) {
		*word = CANFS_WORD_NETWORK;
		return parse_network(text, network, allowed);
	}
	*word = CANFS_WORD_HOST;
	return parse_name(text, allowed);
}

static bool are_same(const struct canfs_network *one, const struct canfs_network *other)
{
	return one->is_all == other->is_all && one->bits == other->bits &&
	       IN6_ARE_ADDR_EQUAL(&one->address, &other->address);
}

/* Index of the first network of the class that is being built. */
static size_t begin_of_last(const struct canfs_classes *classes)
{
	return classes->count != 0 ? classes->list[classes->count - 1].end : 0;
}

int canfs_classes_add_network(struct canfs_classes *classes, const struct canfs_network *network)
{
	for (size_t i = begin_of_last(classes); i < classes->network_count; i++) {
		if (are_same(&classes->network[i], network))
			return 0;
	}
	if (classes->network_count == CANFS_CLASS_NETWORKS_MAX)
		return -ENOSPC;
	classes->network[classes->network_count++] = *network;
	return 0;
}

int canfs_classes_add_word(struct canfs_classes *classes, const char *text, canfs_find_name *find,
	void *arg, char error[CANFS_CLASS_ERROR_MAX])
{
	enum canfs_client_word word;
	struct canfs_network network;
	const char *allowed;
	int ret = canfs_client_parse(text, &word, &network, &allowed);

	if (ret != 0) {
		snprintf(error, CANFS_CLASS_ERROR_MAX, "%.64s: %s", text, allowed);
		return ret;
	}
	if (word == CANFS_WORD_NETWORK)
		ret = canfs_classes_add_network(classes, &network);
	else if (find)
		find(arg, text, classes);
	if (ret != 0)
		snprintf(error, CANFS_CLASS_ERROR_MAX,
			"%.64s: more than %d addresses and networks in all classes", text,
			CANFS_CLASS_NETWORKS_MAX);
	return ret;
}

static bool has_name(const struct canfs_classes *classes, const char *name)
{
	for (size_t i = 0; i < classes->count; i++) {
		if (strcmp(classes->list[i].name, name) == 0)
			return true;
	}
	return false;
}

int canfs_classes_end(struct canfs_classes *classes, const char *name, int premium_pct,
	char error[CANFS_CLASS_ERROR_MAX])
{
	struct canfs_class *client_class = &classes->list[classes->count];
	size_t len = strlen(name);

	if (len == 0 || len >= CANFS_CLASS_NAME_MAX || strspn(name, name_octets) != len) {
		snprintf(error, CANFS_CLASS_ERROR_MAX,
			"class %.64s: its name must have 1 to %d letters, digits, . _ and -", name,
			CANFS_CLASS_NAME_MAX - 1);
		return -EINVAL;
	}
	if (has_name(classes, name)) {
		snprintf(error, CANFS_CLASS_ERROR_MAX, "class %s: this name is already in use",
			name);
		return -EINVAL;
	}
	if (premium_pct < CANFS_PREMIUM_PCT_MIN || premium_pct > CANFS_PREMIUM_PCT_MAX) {
		snprintf(error, CANFS_CLASS_ERROR_MAX, "class %s: premium %d: not in %d ... %d",
			name, premium_pct, CANFS_PREMIUM_PCT_MIN, CANFS_PREMIUM_PCT_MAX);
		return -EINVAL;
	}
	if (classes->count == CANFS_CLASSES_MAX) {
		snprintf(error, CANFS_CLASS_ERROR_MAX, "class %s: more than %d classes", name,
			CANFS_CLASSES_MAX);
		return -ENOSPC;
	}
	*client_class = (struct canfs_class) { .premium_pct = premium_pct,
		.end = (uint32_t)classes->network_count };
	strcpy(client_class->name, name);
	classes->count++;
	return 0;
}

const struct canfs_class *canfs_classes_find(
	const struct canfs_classes *classes, const struct in6_addr *client)
{
	size_t of = 0;

	for (size_t i = 0; i < classes->network_count; i++) {
		while (classes->list[of].end == i)
			of++;
		if (has(&classes->network[i], client))
			return &classes->list[of];
	}
	return NULL;
}

bool canfs_classes_are_same(const struct canfs_classes *one, const struct canfs_classes *other)
{
	if (one->count != other->count || one->network_count != other->network_count)
		return false;
	for (size_t i = 0; i < one->count; i++) {
		const struct canfs_class *a = &one->list[i], *b = &other->list[i];

		if (strcmp(a->name, b->name) != 0 || a->premium_pct != b->premium_pct ||
			a->end != b->end)
			return false;
	}
	for (size_t i = 0; i < one->network_count; i++) {
		if (!are_same(&one->network[i], &other->network[i]))
			return false;
	}
	return true;
}

const char *canfs_network_print(
	const struct canfs_network *network, char text[CANFS_NETWORK_TEXT_MAX])
{
	unsigned int above = is_of_ipv4(network) ? BITS_ABOVE : 0;
	char address[INET6_ADDRSTRLEN];

	if (network->is_all)
		return strcpy(text, "*");
	canfs_print_address(&network->address, address);
	if (network->bits == BITS_OF_IPV6)
		return strcpy(text, address);
	snprintf(text, CANFS_NETWORK_TEXT_MAX, "%s/%u", address, network->bits - above);
	return text;
}

static double with_premium(int premium_pct, double price)
{
	double told = price * (1 + premium_pct / 100.0);

	return told < CANFS_PRICE_MAX ? told : CANFS_PRICE_MAX;
}

void canfs_premium_to_tag(int premium_pct, struct canfs_tag *tag)
{
	tag->write = with_premium(premium_pct, tag->write);
	tag->readahead = with_premium(premium_pct, tag->readahead);
}

void canfs_premium_to_prices(int premium_pct, struct canfs_prices *prices)
{
	for (int i = 0; i < CANFS_OPERATIONS; i++)
		prices->quote[i].price = with_premium(premium_pct, prices->quote[i].price);
}
