// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/config/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "common/text.h"

/* Parses the port. text must contain only its digits. */
static int parse_port(const char *text, in_port_t *port)
{
	uint64_t number;

	if (canfs_parse_u64(&text, &number) || *text || number < 1 || number > UINT16_MAX)
		return -EINVAL;
	*port = htons((uint16_t)number);
	return 0;
}

int canfs_listen_parse(const char *text, struct sockaddr_storage *address)
{
	const char *colon = strrchr(text, ':');
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	char host[INET6_ADDRSTRLEN];
	in_port_t port;
	bool bracketed = text[0] == '[';
	size_t len;

	if (!colon || parse_port(colon + 1, &port))
		return -EINVAL;
	len = (size_t)(colon - text);
	if (bracketed) {
		if (len < 2 || colon[-1] != ']')
			return -EINVAL;
		text++;
		len -= 2;
	}
	if (len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(bracketed ? AF_INET6 : AF_INET, host,
		    bracketed ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1)
		return -EINVAL;
	if (bracketed ? !IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)
		      : ntohl(v4.sin_addr.s_addr) >> IN_CLASSA_NSHIFT != IN_LOOPBACKNET)
		return -EACCES;
	v4.sin_port = v6.sin6_port = port;
	memset(address, 0, sizeof(*address));
	if (bracketed)
		memcpy(address, &v6, sizeof(v6));
	else
		memcpy(address, &v4, sizeof(v4));
	return 0;
}
