// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The price service in Ganesha: its life, the names of the exports, and who may have their prices. Ganesha's own functions for
 * the last two are none of those that plugins can call.
 */
#include "ganesha-fsal/canfs_methods.h"
#include "server/price-service/admissions.h"
#include "server/price-service/export_path.h"
#include "common/address.h"
#include "common/path.h"

#include <errno.h>
#include <string.h>
#include "nfs_core.h"
#include "nfs_exports.h"

/* An export as clients name it. */
struct canfs_served {
	LIST_ENTRY(canfs_served) link;
	struct canfs_price_table *prices;
	char *path, *pseudo, *tag;   /* tag: NULL if it has none */
	_Atomic uint64_t config_gen; /* of Ganesha's, that these are from */
};

static LIST_HEAD(, canfs_served) served_exports;
static struct in6_addr peers[CANFS_PEERS_MAX];
static size_t peer_count;
static pthread_mutex_t mutex =
	PTHREAD_MUTEX_INITIALIZER; /* of these, the names, and CANFS.price_service */

static void name_thread(void)
{
	canfs_name_thread("canfs_prices");
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
 * Finds the export as Ganesha does. MOUNT takes a name without a slash as a tag, and compares a path literally. NFSv4 clients walk the path
 * component by component.
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

/* One of the servers that are named in our configuration, which asks as we ask it. Under the mutex. */
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

/* As one of the servers that serve it knows it; NULL: no export has it, or several. */
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
		ret = from_peer || canfs_admissions_has(CANFS.admissions,
					   (const struct sockaddr *)client, served->prices,
					   canfs_now_usec())
			      ? 0
			      : -EACCES;
		if (ret == 0)
			use(served->prices, arg);
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

/* As the export is named now. Under the mutex. */
static void take_names(struct canfs_served *served)
{
	const char *tag = op_ctx->ctx_export->FS_tag;

	free_names(served);
	served->path = gsh_strdup(CTX_FULLPATH(op_ctx));
	served->pseudo = gsh_strdup(CTX_PSEUDOPATH(op_ctx));
	served->tag = tag ? gsh_strdup(tag) : NULL;
	served->config_gen = op_ctx->ctx_export->config_gen;
}

void canfs_serve_prices(struct canfs_export *export)
{
	struct canfs_served *served;

	if (!CANFS.price_service || !export->prices)
		return;
	served = export->served = gsh_calloc(1, sizeof(*served));
	served->prices = export->prices;
	take_names(served);
	pthread_mutex_lock(&mutex);
	LIST_INSERT_HEAD(&served_exports, served, link);
	pthread_mutex_unlock(&mutex);
}

/* A client that was admitted may not be any more. */
void canfs_admit_anew(const struct canfs_export *export)
{
	if (export->served)
		canfs_admissions_forget(CANFS.admissions, export->prices);
}

/*
 * Ganesha tells us of an export's new options before they hold: its names and its list of clients are others with the first
 * request after that, and until then some may have been admitted by the old list. False: the names are in use just now, and a
 * worker does not wait.
 */
static bool follow_config(struct canfs_served *served)
{
	if (served->config_gen == op_ctx->ctx_export->config_gen)
		return true;
	if (pthread_mutex_trylock(&mutex) != 0)
		return false;
	if (served->config_gen != op_ctx->ctx_export->config_gen) {
		canfs_admissions_forget(CANFS.admissions, served->prices);
		take_names(served);
	}
	pthread_mutex_unlock(&mutex);
	return true;
}

void canfs_unserve_prices(struct canfs_export *export)
{
	struct canfs_served *served = export->served;

	if (!served)
		return;
	pthread_mutex_lock(&mutex);
	LIST_REMOVE(served, link);
	if (CANFS.price_service)
		canfs_price_service_forget(CANFS.price_service, export->prices);
	pthread_mutex_unlock(&mutex);
	canfs_admissions_forget(CANFS.admissions, export->prices);
	free_names(served);
	gsh_free(served);
	export->served = NULL;
}

void canfs_note_admitted(const struct canfs_export *export)
{
	uint32_t options = op_ctx->export_perms.options;

	if (export->served && op_ctx->caller_addr && follow_config(export->served))
		canfs_admissions_note(CANFS.admissions,
			(const struct sockaddr *)op_ctx->caller_addr, export->prices,
			(options & EXPORT_OPTION_PRIVILEGED_PORT) != 0, canfs_now_usec());
}

void canfs_start_price_service(uint16_t port)
{
	struct canfs_price_service_config config = { .port = port,
		.with_export = with_export,
		.classes = &CANFS.classes,
		.clients = CANFS.clients,
		.thread_begins = name_thread };
	int ret = -ENOMEM;

	if (port == 0)
		return;
	CANFS.admissions = canfs_admissions_new();
	if (CANFS.admissions)
		ret = canfs_price_service_start(&CANFS.price_service, &config);
	if (ret != 0) {
		LogWarn(COMPONENT_FSAL, "CANFS: no price service at UDP port %u: %s", port,
			strerror(-ret));
		return;
	}
	canfs_sampler_tell(CANFS.sampler, canfs_price_service_posted, CANFS.price_service);
	LogEvent(COMPONENT_FSAL, "CANFS: price service at UDP port %u", port);
}

/* Admissions stay: a server that ends in a hurry unloads us while requests are answered. */
void canfs_stop_price_service(void)
{
	struct canfs_price_service *service = CANFS.price_service;

	if (!service)
		return;
	canfs_sampler_tell(CANFS.sampler, NULL, NULL);
	pthread_mutex_lock(&mutex); /* an export may be on its way out just now */
	CANFS.price_service = NULL;
	pthread_mutex_unlock(&mutex);
	canfs_price_service_stop(service);
}
