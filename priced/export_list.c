// SPDX-License-Identifier: LGPL-3.0-or-later
#include "priced/export_list_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "priced/nfsd_exports.h"
#include "server/monitors/devices.h"
#include "server/monitors/mountinfo.h"
#include "server/monitors/source.h"

static void free_export(struct exported *export)
{
	struct client *client;

	while ((client = SLIST_FIRST(&export->clients))) {
		SLIST_REMOVE_HEAD(&export->clients, link);
		free(client);
	}
	free(export->path);
	free(export);
}

/* The price tables must be closed already, or be in use by another list. */
static void free_exports(struct exports *exports)
{
	struct exported *export;

	while ((export = LIST_FIRST(exports))) {
		LIST_REMOVE(export, link);
		free_export(export);
	}
}

static struct exported *find_path(const struct exports *exports, const char *path)
{
	struct exported *export;

	LIST_FOREACH (export, exports, link) {
		if (strcmp(export->path, path) == 0)
			return export;
	}
	return NULL;
}

static bool allocate(struct canfs_export_list *list)
{
	list->etab = strdup(list->config.etab);
	list->domains = calloc(1, CANFS_EXPORT_TEXT_MAX);
	for (int i = 0; i < TEXTS; i++) {
		list->text[i] = calloc(1, CANFS_EXPORT_TEXT_MAX);
		list->last_text[i] = calloc(1, CANFS_EXPORT_TEXT_MAX);
		if (!list->text[i] || !list->last_text[i])
			return false;
	}
	return list->etab && list->domains;
}

static void free_list(struct canfs_export_list *list)
{
	for (int i = 0; i < TEXTS; i++) {
		free(list->text[i]);
		free(list->last_text[i]);
	}
	canfs_path_resolver_stop(list->resolver);
	free(list->domains);
	free(list->etab);
	pthread_mutex_destroy(&list->mutex);
	free(list);
}

int canfs_export_list_new(
	struct canfs_export_list **list, const struct canfs_export_list_config *config)
{
	struct canfs_export_list *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->config = *config;
	pthread_mutex_init(&new->mutex, NULL);
	LIST_INIT(&new->exports);
	if (!allocate(new) || canfs_path_resolver_start(&new->resolver, config->root) != 0) {
		free_list(new);
		return -ENOMEM;
	}
	*list = new;
	return 0;
}

void canfs_export_list_free(struct canfs_export_list *list)
{
	struct exported *export;

	if (!list)
		return;
	LIST_FOREACH (export, &list->exports, link)
		canfs_price_table_close(export->prices);
	free_exports(&list->exports);
	free_list(list);
}

void canfs_export_list_serve(struct canfs_export_list *list, struct canfs_price_service *service)
{
	list->service = service;
}

static int read_text(struct canfs_export_list *list, enum text which, const char *path)
{
	int ret = canfs_read_source(
		list->config.root, path, list->text[which], CANFS_EXPORT_TEXT_MAX);

	if (ret < 0)
		list->text[which][0] = '\0';
	return ret;
}

/* The kernel's list is at two paths. The first exists only if the nfsd file system is mounted. */
static int read_texts(struct canfs_export_list *list)
{
	int kernel = read_text(list, KERNEL, "/proc/fs/nfsd/exports");
	int etab = -ENOENT, mounts;

	if (kernel == -ENOENT)
		kernel = read_text(list, KERNEL, "/proc/fs/nfs/exports");
	if (list->etab[0] != '\0')
		etab = read_text(list, ETAB, list->etab);
	mounts = read_text(list, MOUNTINFO, "/proc/self/mountinfo");
	/* A missing file means that the server does not run, so it exports nothing. */
	if (kernel < 0 && kernel != -ENOENT)
		return kernel;
	if (etab < 0 && etab != -ENOENT)
		return etab;
	return mounts < 0 ? mounts : 0;
}

static bool have_changed(const struct canfs_export_list *list)
{
	for (int i = 0; i < TEXTS; i++) {
		if (strcmp(list->text[i], list->last_text[i]) != 0)
			return true;
	}
	return false;
}

static void keep_texts(struct canfs_export_list *list)
{
	for (int i = 0; i < TEXTS; i++) {
		char *text = list->last_text[i];

		list->last_text[i] = list->text[i];
		list->text[i] = text;
	}
}

static bool has_disks_of_its_own(const char *type)
{
	static const char *const types[] = { "btrfs", "overlay", "bcachefs" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return false;
}

/*
 * Returns the device of an export, or 0 for no disks of this machine. To find the disks of an
 * anonymous device, the market follows the export's path. This could hang on NFS or FUSE, which
 * have no disks of their own, so the device is 0 there.
 */
static dev_t device_of(const char *mountinfo, const char *path)
{
	struct canfs_mountinfo_entry mount;

	if (canfs_find_mount(mountinfo, path, &mount) != 0)
		return 0;
	if (canfs_is_anonymous(mount.device) && !has_disks_of_its_own(mount.type))
		return 0;
	return mount.device;
}

static struct exported *add_path(struct exports *exports, const char *path)
{
	struct exported *export = calloc(1, sizeof(*export));

	if (!export)
		return NULL;
	export->path = strdup(path);
	if (!export->path) {
		free(export);
		return NULL;
	}
	SLIST_INIT(&export->clients);
	LIST_INSERT_HEAD(exports, export, link);
	return export;
}

static int add_client(struct exported *export, const struct canfs_nfsd_export *found)
{
	size_t bytes = strlen(found->client) + 1;
	struct client *client = malloc(sizeof(*client) + bytes);

	if (!client)
		return -ENOMEM;
	client->insecure = found->insecure;
	memcpy(client->name, found->client, bytes);
	SLIST_INSERT_HEAD(&export->clients, client, link);
	export->is_root |= found->is_root;
	return 0;
}

/* Adds the exports in text. Returns 0 or -ENOMEM. Sets *too_many if paths were left out. */
static int add_exports(struct exports *exports, const char *text, size_t *count, bool *too_many)
{
	struct canfs_nfsd_cursor cursor = { .text = text };
	struct canfs_nfsd_export found;
	int ret = 0;

	while (ret == 0 && canfs_nfsd_next_export(&cursor, &found)) {
		struct exported *export = find_path(exports, found.path);

		if (found.is_v4root)
			continue;
		if (!export && *count == CANFS_EXPORTS_MAX) {
			*too_many = true;
			continue;
		}
		if (!export) {
			export = add_path(exports, found.path);
			++*count;
		}
		ret = export ? add_client(export, &found) : -ENOMEM;
	}
	return ret;
}

static void say_too_many(struct canfs_export_list *list, bool too_many)
{
	char message[128];

	if (too_many && !list->too_many) {
		snprintf(message, sizeof(message),
			"more than %d paths are exported: the remaining ones have no prices",
			CANFS_EXPORTS_MAX);
		list->config.say(message);
	}
	list->too_many = too_many;
}

static int parse_texts(struct canfs_export_list *list, struct exports *exports)
{
	struct exported *export;
	bool too_many = false;
	size_t count = 0;
	int ret = add_exports(exports, list->text[ETAB], &count, &too_many);

	if (ret == 0)
		ret = add_exports(exports, list->text[KERNEL], &count, &too_many);
	say_too_many(list, too_many);
	LIST_FOREACH (export, exports, link)
		export->device = device_of(list->text[MOUNTINFO], export->path);
	return ret;
}

/* Takes the price table from the current list, or opens a new one. */
static int find_price_table(struct canfs_export_list *list, struct exported *export)
{
	struct exported *old = find_path(&list->exports, export->path);

	if (!old || old->device != export->device)
		return canfs_price_table_open(
			&export->prices, list->config.sampler, export->path, export->device, NULL);
	export->prices = old->prices;
	return 0;
}

static bool have_names(const struct exports *exports)
{
	struct exported *export;
	struct client *client;

	LIST_FOREACH (export, exports, link) {
		SLIST_FOREACH (client, &export->clients, link) {
			if (canfs_nfsd_has_name(client->name))
				return true;
		}
	}
	return false;
}

static void exchange(struct canfs_export_list *list, struct exports *exports)
{
	bool has_names = have_names(exports);
	struct exported *first;

	pthread_mutex_lock(&list->mutex);
	first = LIST_FIRST(&list->exports);
	LIST_FIRST(&list->exports) = LIST_FIRST(exports);
	LIST_FIRST(exports) = first;
	if (LIST_FIRST(&list->exports))
		LIST_FIRST(&list->exports)->link.le_prev = &LIST_FIRST(&list->exports);
	if (first)
		first->link.le_prev = &LIST_FIRST(exports);
	list->has_names = has_names;
	pthread_mutex_unlock(&list->mutex);
}

/* The table cannot be found any more, but it may have subscribers. */
static void close_prices(struct canfs_export_list *list, struct canfs_price_table *prices)
{
	if (list->service && prices)
		canfs_price_service_forget(list->service, prices);
	canfs_price_table_close(prices);
}

/* Frees exports, and closes those of their price tables that the current list does not use. */
static void drop_exports(struct canfs_export_list *list, struct exports *exports)
{
	struct exported *export;

	LIST_FOREACH (export, exports, link) {
		struct exported *stays = find_path(&list->exports, export->path);

		if (!stays || stays->prices != export->prices)
			close_prices(list, export->prices);
	}
	free_exports(exports);
}

/* Only this thread changes list->exports, so it reads the list without the lock. */
int canfs_export_list_refresh(struct canfs_export_list *list)
{
	struct exports exports = LIST_HEAD_INITIALIZER(exports);
	struct exported *export;
	int ret = read_texts(list);

	if (ret != 0 || !have_changed(list))
		return ret;
	ret = parse_texts(list, &exports);
	LIST_FOREACH (export, &exports, link) {
		if (ret == 0)
			ret = find_price_table(list, export);
	}
	if (ret == 0) {
		keep_texts(list);
		exchange(list, &exports);
	}
	drop_exports(list, &exports);
	return ret == 0 ? 1 : ret;
}
