// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/interface.h"

#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "common/text.h"

/* A request consists of these parts, without gaps. */
struct route_request {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr destination;
	uint8_t address[sizeof(struct in6_addr)];
};

/* Returns the length of the request, or 0 if the address is neither IPv4 nor IPv6. */
static size_t make_request(const struct sockaddr_storage *address, struct route_request *request)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	bool v6 = address->ss_family == AF_INET6;
	const void *bytes = v6 ? (const void *)&in6->sin6_addr
			       : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
	size_t len = v6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
	size_t size = offsetof(struct route_request, address) + len;

	if (!v6 && address->ss_family != AF_INET)
		return 0;
	*request = (struct route_request) {
		.head = { .nlmsg_len = (uint32_t)size,
			.nlmsg_type = RTM_GETROUTE,
			.nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = (unsigned char)address->ss_family,
			.rtm_dst_len = (unsigned char)(8 * len) },
		.destination = { .rta_len = (unsigned short)(sizeof(struct rtattr) + len),
			.rta_type = RTA_DST },
	};
	memcpy(request->address, bytes, len);
	return size;
}

/* Finds the interface's index in the attributes of the answer. Returns 0 or -ENETUNREACH. */
static int find_number(const struct nlmsghdr *head, unsigned int *number)
{
	size_t at = NLMSG_LENGTH(sizeof(struct rtmsg));

	while (at + sizeof(struct rtattr) <= head->nlmsg_len) {
		const char *bytes = (const char *)head + at;
		const struct rtattr *attribute = (const void *)bytes;
		size_t len = attribute->rta_len;

		if (len < sizeof(*attribute) || len > head->nlmsg_len - at)
			break;
		if (attribute->rta_type == RTA_OIF && len == RTA_LENGTH(sizeof(*number))) {
			memcpy(number, bytes + RTA_LENGTH(0), sizeof(*number));
			return 0;
		}
		at += RTA_ALIGN(len);
	}
	return -ENETUNREACH;
}

static int take_answer(const struct nlmsghdr *head, size_t len, unsigned int *number)
{
	const struct nlmsgerr *refusal = (const void *)((const char *)head + NLMSG_HDRLEN);

	if (len < sizeof(*head) || head->nlmsg_len > len)
		return -EPROTO;
	if (head->nlmsg_type == RTM_NEWROUTE)
		return find_number(head, number);
	if (head->nlmsg_type == NLMSG_ERROR && len >= NLMSG_LENGTH(sizeof(*refusal)) &&
		refusal->error < 0)
		return refusal->error;
	return -EPROTO;
}

static int ask_route(const struct sockaddr_storage *address, unsigned int *number)
{
	union {
		struct nlmsghdr head;
		uint8_t bytes[4096];
	} answer;
	struct route_request request;
	size_t size = make_request(address, &request);
	ssize_t len;
	int fd, ret;

	if (!size)
		return -EAFNOSUPPORT;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	len = send(fd, &request, size, 0);
	if (len >= 0)
		len = recv(fd, &answer, sizeof(answer), 0);
	ret = len < 0 ? -errno : take_answer(&answer.head, (size_t)len, number);
	close(fd);
	return ret;
}

int canfs_interface_of_route(const struct sockaddr_storage *address, char name[IF_NAMESIZE])
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	unsigned int number = address->ss_family == AF_INET6 ? in6->sin6_scope_id : 0;
	int ret = number ? 0 : ask_route(address, &number);

	if (!ret && !if_indextoname(number, name))
		ret = -errno;
	if (ret)
		name[0] = '\0';
	return ret;
}

static int read_number(const char *root, const char *name, const char *file, uint64_t *value)
{
	char path[96], text[32];
	const char *p = text;
	ssize_t len;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, file);
	len = canfs_read_file(root, path, text, sizeof(text));
	return len < 0 ? (int)len : canfs_parse_u64(&p, value);
}

int canfs_interface_bytes(
	const char *root, const char *name, uint64_t *received_bytes, uint64_t *sent_bytes)
{
	int ret = read_number(root, name, "statistics/rx_bytes", received_bytes);

	return ret ? ret : read_number(root, name, "statistics/tx_bytes", sent_bytes);
}

uint32_t canfs_interface_number(const char *root, const char *name, const char *file)
{
	uint64_t value;

	if (read_number(root, name, file, &value) || value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

static bool has(const char *root, const char *name, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/%s", root, name, file);
	return access(path, F_OK) == 0;
}

uint32_t canfs_interface_mbit(const char *root, const char *name)
{
	if (!has(root, name, "device") && !has(root, name, "bonding"))
		return 0;
	return canfs_interface_number(root, name, "speed");
}
