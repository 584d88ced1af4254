// SPDX-License-Identifier: LGPL-3.0-or-later
/* Finds the export that a client names, and decides whether the client may get its prices. */
#include "priced/export_list_internal.h"

#include <errno.h>
#include <string.h>
#include "common/address.h"
#include "common/clock.h"
#include "common/path.h"
#include "server/price-service/export_path.h"
#include "priced/nfsd_exports.h"
#include "server/monitors/source.h"

/* Limits on reading the kernel's client cache, and on the searches between two reads. */
#define DOMAINS_USEC    1000000
#define DOMAINS_LOOKUPS 1000

#define PRIVILEGED_PORTS 1024

static bool comes_from_privileged_port(const struct sockaddr_storage *client)
{
	in_port_t port = client->ss_family == AF_INET6
				 ? ((const struct sockaddr_in6 *)client)->sin6_port
				 : ((const struct sockaddr_in *)client)->sin_port;

	return ntohs(port) < PRIVILEGED_PORTS;
}

/* The client that asks. */
struct caller {
	struct in6_addr address;
	bool privileged;
	char domain[CANFS_NFSD_CLIENT_MAX];
};

static bool admits(const struct exported *export, const struct caller *caller)
{
	struct client *client;

	SLIST_FOREACH (client, &export->clients, link) {
		if ((client->insecure || caller->privileged) &&
			canfs_nfsd_is_client(client->name, &caller->address, caller->domain))
			return true;
	}
	return false;
}

/* Like mountd, returns the longest path that is exported to this client. */
static struct exported *find_export(
	const struct canfs_export_list *list, const char *path, const struct caller *caller)
{
	struct exported *export, *found = NULL;
	size_t longest = 0;

	LIST_FOREACH (export, &list->exports, link) {
		size_t len = strlen(export->path);

		if (len > longest && canfs_path_is_below(path, export->path) &&
			admits(export, caller)) {
			longest = len;
			found = export;
		}
	}
	return found;
}

/* Returns the NFSv4 root of this client; "": the root of the file systems. */
static const char *nfs4_root(const struct canfs_export_list *list, const struct caller *caller)
{
	struct exported *export;

	LIST_FOREACH (export, &list->exports, link) {
		if (export->is_root && strcmp(export->path, "/") != 0 && admits(export, caller))
			return export->path;
	}
	return "";
}

static bool admits_anywhere(const struct canfs_export_list *list, const struct caller *caller)
{
	struct exported *export;

	LIST_FOREACH (export, &list->exports, link) {
		if (admits(export, caller))
			return true;
	}
	return false;
}

/*
 * The exact name of an export needs no disk access. A client that may mount nothing causes none. If
 * the access takes too long, the name is taken literally.
 */
static struct exported *find_name(const struct canfs_export_list *list, const char *name,
	uint32_t nfs_version, const struct caller *caller)
{
	const char *nfs_root = nfs_version == 4 ? nfs4_root(list, caller) : "";
	struct exported *export;
	char path[PATH_MAX];

	if (canfs_export_path_resolve(NULL, "", nfs_root, name, path) != 0)
		return NULL;
	export = find_export(list, path, caller);
	if (export && strcmp(export->path, path) == 0 && canfs_export_path_is_plain(name))
		return export;
	if (admits_anywhere(list, caller) &&
		canfs_path_resolver_ask(list->resolver, nfs_root, name, path) == 0)
		export = find_export(list, path, caller);
	return export;
}

/*
 * Gets the caller's domain from the kernel. The kernel knows which names match a client that has
 * used the server. Returns 0, -ENOENT if no name matches, or -EAGAIN if there are too many lookups
 * at the moment.
 */
static int learn_domain(struct canfs_export_list *list, struct caller *caller)
{
	uint64_t now_usec = canfs_now_usec();

	if (!list->has_names)
		return -ENOENT;
	if (list->domains_usec == 0 || now_usec - list->domains_usec >= DOMAINS_USEC) {
		list->domains_usec = now_usec;
		list->lookups = 0;
		if (canfs_read_source(list->config.root, "/proc/net/rpc/auth.unix.ip/content",
			    list->domains, CANFS_EXPORT_TEXT_MAX) < 0)
			list->domains[0] = '\0';
	}
	if (list->lookups++ >= DOMAINS_LOOKUPS)
		return -EAGAIN;
	return canfs_nfsd_find_domain(list->domains, &caller->address, caller->domain) ? 0
										       : -ENOENT;
}

int canfs_export_list_use(void *host, const char *name, uint32_t nfs_version,
	const struct sockaddr_storage *client,
	void (*use)(struct canfs_price_table *prices, void *arg), void *arg)
{
	struct canfs_export_list *list = host;
	struct caller caller = { .privileged = comes_from_privileged_port(client) };
	struct exported *export;
	int ret = 0;

	if (!canfs_read_address((const struct sockaddr *)client, &caller.address))
		return -EACCES;
	pthread_mutex_lock(&list->mutex);
	export = find_name(list, name, nfs_version, &caller);
	if (!export)
		ret = learn_domain(list, &caller);
	if (!export && ret == 0)
		export = find_name(list, name, nfs_version, &caller);
	if (export && export->prices)
		use(export->prices, arg);
	else if (ret == 0)
		ret = -ENOENT;
	pthread_mutex_unlock(&list->mutex);
	return ret;
}
