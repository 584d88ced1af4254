// SPDX-License-Identifier: LGPL-3.0-or-later
/* Combines the options of all features into one block of Ganesha's parser. */
#include "ganesha-fsal/stack/options.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ganesha-fsal/stack/parse_tree.h"

#define BYTES_ALIGN _Alignof(max_align_t)

struct whole {
	struct config_item *items;
	size_t count;
	size_t at[CANFS_FEATURES + 1]; /* the offset of each feature's struct */
	size_t bytes;
};

static struct whole of_server, of_export;

static struct config_block block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.canfs",
	.blk_desc.name = "CANFS",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.flags = CONFIG_UNIQUE,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static struct config_block export_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.canfs-export-options%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

/*
 * export.c reads the options that are not ours. FSAL is a block here: as a NOOP it might have only
 * one option.
 */
struct no_options {
	char nothing;
};
static struct config_item no_items[] = { CONFIG_EOL };
static const struct config_item stack_items[] = {
	CONF_ITEM_NOOP("Name"),
	CONF_RELAX_BLOCK("FSAL", no_items, noop_conf_init, noop_conf_commit, no_options, nothing),
	CONFIG_EOL,
};

/* Adds rows, and space for their struct. */
static void add(struct whole *whole, const struct config_item *items, size_t bytes)
{
	size_t at = (whole->bytes + BYTES_ALIGN - 1) / BYTES_ALIGN * BYTES_ALIGN;

	for (; items && items->name; items++) {
		struct config_item *item;

		whole->items = gsh_realloc(whole->items, (whole->count + 1) * sizeof(*item));
		item = &whole->items[whole->count++];
		*item = *items;
		item->off += at;
		if (item->type == CONFIG_BOOLBIT)
			item->u.bit.set_off += at;
	}
	whole->bytes = at + bytes;
}

static const char *hint_of(const char *name)
{
	for (int i = 0; i < CANFS_FEATURES; i++) {
		const struct canfs_retired_option *retired = canfs_features[i]->retired;

		for (; retired && retired->name; retired++) {
			if (strcmp(retired->name, name) == 0)
				return retired->hint;
		}
	}
	return "";
}

/* Ganesha logs the file and the line of the block. */
static int refuse_retired(const char *token, enum term_type type, struct config_item *item,
	void *param, void *node, struct config_error_type *err_type)
{
	(void)token;
	(void)type;
	(void)param;
	(void)node;
	LogCrit(COMPONENT_CONFIG, "CANFS: %s is no longer an option: %s", item->name,
		hint_of(item->name));
	err_type->invalid = true;
	return 1;
}

static bool is_retired(const struct config_item *item)
{
	return item->type == CONFIG_PROC && item->u.proc.handler == refuse_retired;
}

static void add_retired(struct whole *whole, const struct canfs_retired_option *retired)
{
	struct config_item row[] = {
		COMPAT_ITEM_PROC("", noop_conf_init, refuse_retired, no_options, nothing),
		CONFIG_EOL,
	};

	for (; retired && retired->name; retired++) {
		row[0].name = (char *)retired->name; /* Ganesha does not change it */
		add(whole, row, 0);
	}
}

static void add_end(struct whole *whole, struct config_block *whose)
{
	static const struct config_item end = CONFIG_EOL;

	whole->items = gsh_realloc(whole->items, (whole->count + 1) * sizeof(end));
	whole->items[whole->count] = end;
	whose->blk_desc.u.blk.params = whole->items;
}

static void combine(void)
{
	add(&of_export, stack_items, sizeof(struct no_options));
	for (int i = 0; i < CANFS_FEATURES; i++) {
		const struct canfs_feature *feature = canfs_features[i];

		add(&of_server, feature->options.items, feature->options.bytes);
		of_server.at[i] = of_server.bytes - feature->options.bytes;
		add_retired(&of_server, feature->retired);
		add(&of_export, feature->export_options.items, feature->export_options.bytes);
		of_export.at[i] = of_export.bytes - feature->export_options.bytes;
	}
	add_end(&of_server, &block);
	add_end(&of_export, &export_block);
}

static void make(const struct whole *whole, struct canfs_options *options)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *memory;

	pthread_once(&once, combine);
	memory = gsh_calloc(1, whole->bytes + 1);
	for (int i = 0; i < CANFS_FEATURES; i++)
		options->part[i] = memory + whole->at[i];
	options->part[CANFS_FEATURES] = memory;
}

void canfs_free_export_options(struct canfs_options *options)
{
	gsh_free(options->part[CANFS_FEATURES]);
	*options = (struct canfs_options) { 0 };
}

void canfs_free_options(struct canfs_options *options)
{
	for (int i = 0; options->part[CANFS_FEATURES] && i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->forget)
			canfs_features[i]->forget(options->part[i]);
	}
	canfs_free_export_options(options);
}

void canfs_free_option_items(void)
{
	gsh_free(of_server.items);
	gsh_free(of_export.items);
}

/* Like snprintf(), but appends to the text. Drops what does not fit. */
static void append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

/*
 * True: an earlier row has the same name, so it has been listed. Two rows that read one list have
 * the same name.
 */
static bool is_said(const struct config_item *first, const struct config_item *item)
{
	for (; first != item; first++) {
		if (strcmp(first->name, item->name) == 0)
			return true;
	}
	return false;
}

/* Appends the allowed values of each item, and of the items of blocks in it. */
static void append_items(char *text, size_t size, const struct config_item *first)
{
	const char *between = "";

	for (const struct config_item *item = first; item->name; item++) {
		if (is_said(first, item) || is_retired(item))
			continue;
		append(text, size, "%s%s", between, item->name);
		between = "; ";
		if (item->type == CONFIG_UINT32)
			append(text, size, " %u to %u", item->u.ui32.minval, item->u.ui32.maxval);
		else if (item->type == CONFIG_INT32)
			append(text, size, " %d to %d", item->u.i32.minval, item->u.i32.maxval);
		else if (item->type == CONFIG_UINT16)
			append(text, size, " %u to %u", item->u.ui16.minval, item->u.ui16.maxval);
		else if (item->type == CONFIG_BOOL || item->type == CONFIG_BOOLBIT)
			append(text, size, " true or false");
		else if (item->type == CONFIG_BLOCK && item->u.blk.params->name) {
			append(text, size, " { ");
			append_items(text, size, item->u.blk.params);
			append(text, size, " }");
		}
		for (const struct config_item_list *token =
				item->type == CONFIG_LIST ? item->u.lst.tokens : NULL;
			token && token->token; token++)
			append(text, size, " %s", token->token);
	}
}

/*
 * Returns true if the block was loaded without an error, or only with harmless ones. Ganesha logs
 * the line of an error, but not the allowed values. This function logs the allowed values of all
 * options of the block.
 */
static bool check_block(
	const char *block_name, const struct config_item *item, struct config_error_type *errors)
{
	bool harmless = config_error_is_harmless(errors);
	char text[2048] = "";

	if (harmless && !errors->bogus)
		return true;
	append_items(text, sizeof(text), item);
	LogCrit(COMPONENT_CONFIG, "allowed in %s: %s", block_name, text);
	return harmless;
}

/* Derives values from the parsed options. False: the whole block is rejected. */
static bool settle(struct canfs_options *options)
{
	for (int i = 0; i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->settle && !canfs_features[i]->settle(options->part[i]))
			return false;
	}
	return true;
}

static void prepare(struct canfs_options *options, bool names)
{
	make(&of_server, options);
	for (int i = 0; i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->prepare)
			canfs_features[i]->prepare(options->part[i], names);
	}
}

static int take(struct canfs_options *options, struct config_error_type *errors)
{
	if (check_block("CANFS { }", of_server.items, errors) && settle(options))
		return 0;
	canfs_free_options(options);
	return -EINVAL;
}

/*
 * An error in the block must not count against the export that made Ganesha call us. Errors in
 * earlier exports must not count against the block. The messages go to the same stream.
 */
int canfs_read_options(
	config_file_t file, struct canfs_options *options, struct config_error_type *err_type)
{
	struct config_error_type errors = { .fp = err_type->fp };
	int ret;

	if (!canfs_parse_tree_check(file, block.blk_desc.name))
		LogWarn(COMPONENT_CONFIG, "CANFS: changes in CANFS { } will take effect only after "
					  "a restart of this server");
	prepare(options, true);
	(void)load_config_from_parse(file, &block, options->part[CANFS_FEATURES], true, &errors);
	ret = take(options, &errors);
	if (ret != 0)
		make(&of_server, options);
	return ret;
}

/* After a syntax error that Ganesha's parser recovers from, an empty block and a message remain. */
static bool had_syntax_error(const struct config_error_type *err_type)
{
	return err_type->fp && fflush(err_type->fp) == 0 &&
	       strstr(err_type->diag_buf, "Syntax error in");
}

int canfs_reread_options(
	void *node, struct canfs_options *options, bool names, struct config_error_type *err_type)
{
	struct config_error_type errors = { .fp = err_type->fp };
	void *own = canfs_parse_tree_find(node, block.blk_desc.name);

	if (!own)
		return -ENOENT;
	if (had_syntax_error(err_type))
		return -EINVAL;
	prepare(options, names);
	(void)load_config_from_node(own, &block, options->part[CANFS_FEATURES], true, &errors);
	return take(options, &errors);
}

int canfs_read_export_options(
	void *node, struct canfs_options *options, struct config_error_type *err_type)
{
	/*
	 * As above. An error costs the export its canfs features, but its files are still served.
	 */
	struct config_error_type errors = { .fp = err_type->fp };

	make(&of_export, options);
	(void)load_config_from_node(
		node, &export_block, options->part[CANFS_FEATURES], true, &errors);
	if (check_block("FSAL { Name = CANFS; }", of_export.items, &errors))
		return 0;
	canfs_free_export_options(options);
	return -EINVAL;
}

int canfs_reread_export_options(
	void *node, struct canfs_options *options, struct config_error_type *err_type)
{
	if (had_syntax_error(err_type))
		return -ENOENT;
	return canfs_read_export_options(node, options, err_type);
}
