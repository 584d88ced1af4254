/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Client addresses. All are IPv6; IPv4 is stored as ::ffff:a.b.c.d whatever the socket. A
 * link-local address holds its interface number in its third and fourth group, which are 0 on the
 * wire, because the same address on two links belongs to two hosts.
 */
#ifndef CANFS_COMMON_ADDRESS_H
#define CANFS_COMMON_ADDRESS_H

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static inline struct in6_addr canfs_map_ipv4(const struct in_addr *ipv4)
{
	struct in6_addr address = IN6ADDR_ANY_INIT;

	address.s6_addr[10] = address.s6_addr[11] = 0xff;
	memcpy(&address.s6_addr[12], ipv4, sizeof(*ipv4));
	return address;
}

#define CANFS_SCOPE_AT 4 /* offset in octets */

/* Returns the interface of a link-local address; 0: unknown, or not link-local. */
static inline uint32_t canfs_scope_of(const struct in6_addr *address)
{
	uint32_t scope = 0;

	if (IN6_IS_ADDR_LINKLOCAL(address))
		memcpy(&scope, &address->s6_addr[CANFS_SCOPE_AT], sizeof(scope));
	return ntohl(scope);
}

/* Returns the address with this scope. Scope 0 gives the form on the wire. */
static inline struct in6_addr canfs_with_scope(const struct in6_addr *address, uint32_t scope)
{
	struct in6_addr with = *address;

	scope = htonl(scope);
	if (IN6_IS_ADDR_LINKLOCAL(address))
		memcpy(&with.s6_addr[CANFS_SCOPE_AT], &scope, sizeof(scope));
	return with;
}

/*
 * Returns true for addresses of the same host. An address without an interface matches any
 * interface.
 */
static inline bool canfs_is_same_host(const struct in6_addr *one, const struct in6_addr *other)
{
	const struct in6_addr a = canfs_with_scope(one, 0), b = canfs_with_scope(other, 0);
	const uint32_t scopes[] = { canfs_scope_of(one), canfs_scope_of(other) };

	return IN6_ARE_ADDR_EQUAL(&a, &b) &&
	       (scopes[0] == 0 || scopes[1] == 0 || scopes[0] == scopes[1]);
}

/* Returns false for another family; *address is then ::. */
static inline bool canfs_read_address(const struct sockaddr *from, struct in6_addr *address)
{
	*address = (struct in6_addr)IN6ADDR_ANY_INIT;
	if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)(const void *)from;

		*address = canfs_with_scope(&ipv6->sin6_addr, ipv6->sin6_scope_id);
	} else if (from->sa_family == AF_INET) {
		*address =
			canfs_map_ipv4(&((const struct sockaddr_in *)(const void *)from)->sin_addr);
	} else {
		return false;
	}
	return true;
}

/*
 * The inverse of canfs_read_address(), with IPv4 as AF_INET, because NFS servers compare addresses
 * with their client lists in this form. Keeps the port.
 */
static inline struct sockaddr_storage canfs_plain_address(const struct sockaddr_in6 *address)
{
	struct sockaddr_storage plain = { 0 };
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&plain;

	if (!IN6_IS_ADDR_V4MAPPED(&address->sin6_addr)) {
		memcpy(&plain, address, sizeof(*address));
		return plain;
	}
	ipv4->sin_family = AF_INET;
	ipv4->sin_port = address->sin6_port;
	memcpy(&ipv4->sin_addr, &address->sin6_addr.s6_addr[12], sizeof(ipv4->sin_addr));
	return plain;
}

/* Returns the number of an interface, given as "eth0" or as a number; 0: there is none. */
static inline uint32_t canfs_parse_scope(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && number <= UINT32_MAX
		       ? (uint32_t)number
		       : if_nametoindex(text);
}

/*
 * Parses text[0 ... len), IPv4 or IPv6, link-local as "fe80::1%eth0". Returns false if it is not an
 * address.
 */
static inline bool canfs_parse_address(
	const char *text, size_t len, struct in6_addr *address, bool *is_ipv4)
{
	char copy[INET6_ADDRSTRLEN + IF_NAMESIZE], *percent;
	struct in_addr ipv4;
	uint32_t scope = 0;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	percent = strchr(copy, '%');
	if (percent) {
		*percent = '\0';
		scope = canfs_parse_scope(percent + 1);
	}
	*is_ipv4 = inet_pton(AF_INET, copy, &ipv4) == 1;
	if (*is_ipv4)
		*address = canfs_map_ipv4(&ipv4);
	else if (inet_pton(AF_INET6, copy, address) != 1)
		return false;
	*address = canfs_with_scope(address, scope);
	return !percent || (scope != 0 && IN6_IS_ADDR_LINKLOCAL(address));
}

/* The inverse of canfs_parse_address(). Returns text. */
static inline const char *canfs_print_address(
	const struct in6_addr *address, char text[INET6_ADDRSTRLEN])
{
	const struct in6_addr wire = canfs_with_scope(address, 0);
	const uint32_t scope = canfs_scope_of(address);
	char name[IF_NAMESIZE];
	size_t len;

	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, &wire, text, INET6_ADDRSTRLEN);
	len = strlen(text);
	if (scope != 0 && if_indextoname(scope, name))
		snprintf(text + len, INET6_ADDRSTRLEN - len, "%%%s", name);
	else if (scope != 0)
		snprintf(text + len, INET6_ADDRSTRLEN - len, "%%%u", scope);
	return text;
}

#endif
