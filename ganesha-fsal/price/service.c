// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The price service in Ganesha: its start and stop, the names of the exports, and which clients may
 * have their prices. Plugins cannot call Ganesha's own functions for the last two.
 */
#include "ganesha-fsal/price/price.h"
#include "server/price-service/admissions.h"
#include "server/price-service/export_path.h"
#include "common/address.h"
#include "common/clock.h"
#include "common/path.h"

#include <errno.h>
#include <string.h>
#include "nfs_core.h"
#include "nfs_exports.h"

/* An export as clients name it. */
struct canfs_served {
	LIST_ENTRY(canfs_served) link;
	struct canfs_price_table *table;
	char *path, *pseudo, *tag;   /* tag: NULL if it has none */
	_Atomic uint64_t config_gen; /* number of Ganesha's configuration that the names are from */
};

static LIST_HEAD(, canfs_served) served_exports;
static struct in6_addr peers[CANFS_PEERS_MAX];
static size_t peer_count;
/* Protects the exports above, their names, the peers, and canfs_pricing.service. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void name_thread(void)
{
	canfs_name_thread("canfs_pricing");
}

static struct canfs_served *find_tag(const char *name)
{
	struct canfs_served *served;

	LIST_FOREACH (served, &served_exports, link) {
		if (served->tag && strcmp(served->tag, name) == 0)
			return served;
	}
	return NULL;
}

/*
 * Finds the export as Ganesha does. MOUNT takes a name without a slash as a tag, and compares paths
 * literally. NFSv4 clients walk the path component by component.
 */
static struct canfs_served *find_export(const char *name, uint32_t nfs_version)
{
	bool by_pseudo = nfs_version == 4 || nfs_param.core_param.mount_path_pseudo;
	struct canfs_served *served, *found = NULL;
	char plain[PATH_MAX];
	size_t longest = 0;

	if (name[0] != '/')
		return nfs_version == 3 ? find_tag(name) : NULL;
	if (nfs_version == 4) {
		if (canfs_export_path_resolve(NULL, "", "", name, plain) != 0)
			return NULL;
		name = plain;
	}
	LIST_FOREACH (served, &served_exports, link) {
		const char *own = by_pseudo ? served->pseudo : served->path;

		if (canfs_path_is_below(name, own) && strlen(own) > longest) {
			longest = strlen(own);
			found = served;
		}
	}
	return found;
}

/*
 * True: the client is a server named in our configuration. Such servers ask us as we ask them. Call
 * it with the mutex held.
 */
static bool is_peer(const struct sockaddr_storage *client)
{
	struct in6_addr address;

	canfs_read_address((const struct sockaddr *)client, &address);
	for (size_t i = 0; i < peer_count; i++) {
		if (canfs_is_same_host(&peers[i], &address))
			return true;
	}
	return false;
}

void canfs_set_peers(const struct canfs_monitor_setup *setup)
{
	pthread_mutex_lock(&mutex);
	memcpy(peers, setup->peers, sizeof(peers));
	peer_count = setup->peer_count;
	pthread_mutex_unlock(&mutex);
}

/*
 * Finds the export by the path that another server of the export uses. NULL: no export has this
 * path, or several have.
 */
static struct canfs_served *find_path(const char *path)
{
	struct canfs_served *served, *found = NULL;

	LIST_FOREACH (served, &served_exports, link) {
		if (strcmp(served->path, path) != 0)
			continue;
		if (found)
			return NULL;
		found = served;
	}
	return found;
}

static int with_export(void *host, const char *name, uint32_t nfs_version,
	const struct sockaddr_storage *client,
	void (*use)(struct canfs_price_table *prices, void *arg), void *arg)
{
	struct canfs_served *served;
	bool from_peer;
	int ret = -ENOENT;

	(void)host;
	pthread_mutex_lock(&mutex);
	from_peer = is_peer(client);
	served = from_peer ? find_path(name) : NULL;
	if (!served)
		served = find_export(name, nfs_version);
	if (served) {
		ret = from_peer || canfs_admissions_has(canfs_pricing.admissions,
					   (const struct sockaddr *)client, served->table,
					   canfs_now_usec())
			      ? 0
			      : -EACCES;
		if (ret == 0)
			use(served->table, arg);
	}
	pthread_mutex_unlock(&mutex);
	return ret;
}

static void free_names(struct canfs_served *served)
{
	gsh_free(served->path);
	gsh_free(served->pseudo);
	gsh_free(served->tag);
}

/*
 * Takes the current names of the export. Call it with the mutex held, or before the export is
 * listed.
 */
static void take_names(struct canfs_served *served)
{
	const char *tag = op_ctx->ctx_export->FS_tag;

	free_names(served);
	served->path = gsh_strdup(CTX_FULLPATH(op_ctx));
	served->pseudo = gsh_strdup(CTX_PSEUDOPATH(op_ctx));
	served->tag = tag ? gsh_strdup(tag) : NULL;
	served->config_gen = op_ctx->ctx_export->config_gen;
}

void canfs_serve_prices(struct canfs_export_prices *prices)
{
	struct canfs_served *served;

	if (!canfs_pricing.service)
		return;
	served = prices->served = gsh_calloc(1, sizeof(*served));
	served->table = prices->table;
	take_names(served);
	pthread_mutex_lock(&mutex);
	LIST_INSERT_HEAD(&served_exports, served, link);
	pthread_mutex_unlock(&mutex);
}

/* A client that was admitted may no longer be. */
void canfs_admit_anew(const struct canfs_export_prices *prices)
{
	if (prices->served)
		canfs_admissions_forget(canfs_pricing.admissions, prices->table);
}

/*
 * Ganesha tells us of an export's new options before they take effect. Its names and its list of
 * clients change with the first request after that. Until then, clients may have been admitted by
 * the old list. Returns false if the names are in use: a worker must not wait.
 */
static bool follow_config(struct canfs_served *served)
{
	if (served->config_gen == op_ctx->ctx_export->config_gen)
		return true;
	if (pthread_mutex_trylock(&mutex) != 0)
		return false;
	if (served->config_gen != op_ctx->ctx_export->config_gen) {
		canfs_admissions_forget(canfs_pricing.admissions, served->table);
		take_names(served);
	}
	pthread_mutex_unlock(&mutex);
	return true;
}

void canfs_unserve_prices(struct canfs_export_prices *prices)
{
	struct canfs_served *served = prices->served;

	if (!served)
		return;
	pthread_mutex_lock(&mutex);
	LIST_REMOVE(served, link);
	if (canfs_pricing.service)
		canfs_price_service_forget(canfs_pricing.service, prices->table);
	pthread_mutex_unlock(&mutex);
	canfs_admissions_forget(canfs_pricing.admissions, prices->table);
	free_names(served);
	gsh_free(served);
	prices->served = NULL;
}

void canfs_note_admitted(const struct canfs_export_prices *prices)
{
	uint32_t options = op_ctx->export_perms.options;

	if (prices->served && op_ctx->caller_addr && follow_config(prices->served))
		canfs_admissions_note(canfs_pricing.admissions,
			(const struct sockaddr *)op_ctx->caller_addr, prices->table,
			(options & EXPORT_OPTION_PRIVILEGED_PORT) != 0, canfs_now_usec());
}

void canfs_start_price_service(uint16_t port)
{
	struct canfs_price_service_config config = { .port = port,
		.with_export = with_export,
		.classes = &canfs_pricing.classes,
		.clients = canfs_pricing.clients,
		.thread_begins = name_thread };
	int ret = -ENOMEM;

	if (port == 0)
		return;
	canfs_pricing.admissions = canfs_admissions_new();
	if (canfs_pricing.admissions)
		ret = canfs_price_service_start(&canfs_pricing.service, &config);
	if (ret != 0) {
		LogWarn(COMPONENT_FSAL, "CANFS: no price service at UDP port %u: %s", port,
			strerror(-ret));
		return;
	}
	canfs_sampler_tell(
		canfs_pricing.sampler, canfs_price_service_posted, canfs_pricing.service);
	LogEvent(COMPONENT_FSAL, "CANFS: price service at UDP port %u", port);
}

/* Keeps the admissions: exit(3) may unload the plugin while requests are answered. */
void canfs_stop_price_service(void)
{
	struct canfs_price_service *service = canfs_pricing.service;

	if (!service)
		return;
	canfs_sampler_tell(canfs_pricing.sampler, NULL, NULL);
	pthread_mutex_lock(&mutex); /* an export may be ending just now */
	canfs_pricing.service = NULL;
	pthread_mutex_unlock(&mutex);
	canfs_price_service_stop(service);
}
