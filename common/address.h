/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Addresses of clients, of one kind: IPv6, with IPv4 as ::ffff:a.b.c.d, whatever socket it came by. */
#ifndef CANFS_COMMON_ADDRESS_H
#define CANFS_COMMON_ADDRESS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

static inline struct in6_addr canfs_map_ipv4(const struct in_addr *ipv4)
{
	struct in6_addr address = IN6ADDR_ANY_INIT;

	address.s6_addr[10] = address.s6_addr[11] = 0xff;
	memcpy(&address.s6_addr[12], ipv4, sizeof(*ipv4));
	return address;
}

/* False: it is of another family, and *address is ::. */
static inline bool canfs_read_address(const struct sockaddr *from, struct in6_addr *address)
{
	*address = (struct in6_addr)IN6ADDR_ANY_INIT;
	if (from->sa_family == AF_INET6)
		*address = ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
	else if (from->sa_family == AF_INET)
		*address =
			canfs_map_ipv4(&((const struct sockaddr_in *)(const void *)from)->sin_addr);
	else
		return false;
	return true;
}

/* The other way, as NFS servers compare addresses with their lists of clients: IPv4 as such. With its port. */
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

/* As people write it: text[0 ... len), which is IPv4 or not. False: it is none. */
static inline bool canfs_parse_address(
	const char *text, size_t len, struct in6_addr *address, bool *is_ipv4)
{
	char copy[INET6_ADDRSTRLEN];
	struct in_addr ipv4;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*is_ipv4 = inet_pton(AF_INET, copy, &ipv4) == 1;
	if (!*is_ipv4)
		return inet_pton(AF_INET6, copy, address) == 1;
	*address = canfs_map_ipv4(&ipv4);
	return true;
}

/* The other way; returns text. */
static inline const char *canfs_print_address(
	const struct in6_addr *address, char text[INET6_ADDRSTRLEN])
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
	return text;
}

#endif
