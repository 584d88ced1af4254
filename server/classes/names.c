// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/classes/names.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include "common/address.h"
#include "common/clock.h"

/* for one entry of a netgroup */
#define ENTRY_BYTES 1024

void canfs_names_begin(struct canfs_names *names, canfs_say *say)
{
	*names = (struct canfs_names) {
		.say = say, .class_name = "", .until_usec = canfs_now_usec() + CANFS_NAMES_USEC
	};
}

static void __attribute__((format(printf, 3, 4)))
say_left_out(const struct canfs_names *names, const char *name, const char *format, ...)
{
	char message[256];
	va_list args;
	int n = snprintf(message, sizeof(message),
		"class %.32s: %.64s is left out: ", names->class_name, name);

	va_start(args, format);
	vsnprintf(message + n, sizeof(message) - (size_t)n, format, args);
	va_end(args);
	names->say(message);
}

/* Returns 0 or an error for explain(): the host has no address, or not all of them were added. */
static int add_host(const struct canfs_names *names, const char *host, struct canfs_classes *to)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *found = NULL;
	int ret = 0, failed;

	if (canfs_now_usec() >= names->until_usec)
		return -ETIME;
	failed = getaddrinfo(host, NULL, &hints, &found);
	if (failed != 0)
		return failed == EAI_AGAIN ? -EAGAIN : -ENOENT;
	for (const struct addrinfo *info = found; info && ret == 0; info = info->ai_next) {
		struct canfs_network network;
		struct in6_addr address;

		if (!canfs_read_address(info->ai_addr, &address))
			continue;
		network = canfs_network_of(&address);
		ret = canfs_classes_add_network(to, &network);
	}
	freeaddrinfo(found);
	return ret;
}

static const char *explain(int why)
{
	switch (why) {
	case -ENOSPC:
		return "there are too many addresses";
	case -ETIME:
		return "earlier name lookups took too long";
	case -EAGAIN:
		return "the resolver does not answer";
	default:
		return "no such host";
	}
}

/* Hosts of a netgroup, and how many of them were not added completely. */
struct members {
	unsigned int hosts, missing;
	int why; /* the last error */
};

static struct members add_members(const struct canfs_names *names, struct canfs_classes *to)
{
	struct members members = { .hosts = 0 };
	char entry[ENTRY_BYTES], *host, *user, *domain;

	while (getnetgrent_r(&host, &user, &domain, entry, sizeof(entry)) == 1) {
		int ret;

		if (!host || host[0] == '\0')
			continue;
		members.hosts++;
		ret = add_host(names, host, to);
		if (ret == 0)
			continue;
		members.missing++;
		members.why = ret;
	}
	return members;
}

static void find_netgroup(
	const struct canfs_names *names, const char *name, struct canfs_classes *to)
{
	struct members members = { .hosts = 0 };

	if (setnetgrent(name + 1) == 1)
		members = add_members(names, to);
	endnetgrent();
	if (members.hosts == 0)
		say_left_out(names, name, "no such netgroup, or no hosts in it");
	else if (members.missing != 0)
		say_left_out(names, name, "%u of its %u hosts: %s", members.missing, members.hosts,
			explain(members.why));
}

void canfs_names_find(void *arg, const char *name, struct canfs_classes *classes)
{
	const struct canfs_names *names = arg;
	int ret;

	if (name[0] == '@') {
		find_netgroup(names, name, classes);
		return;
	}
	ret = add_host(names, name, classes);
	if (ret != 0)
		say_left_out(names, name, "%s", explain(ret));
}
