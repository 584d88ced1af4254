// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/stack/update.h"
#include "ganesha-fsal/stack/options.h"

#include <errno.h>

/* The options that were read last. */
static struct canfs_options running;

static struct {
	uint64_t number;   /* of the reload */
	uint64_t replaced; /* number of Ganesha's configuration before the reload */
	bool warned;       /* the reload has logged something */
} last;

void canfs_start(config_file_t file, struct config_error_type *err_type)
{
	bool is_wrong = canfs_read_options(file, &running, err_type) != 0;

	for (int i = 0; i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->start)
			canfs_features[i]->start(running.part[i], is_wrong);
	}
}

void canfs_forget_options(void)
{
	canfs_free_options(&running);
	canfs_free_option_items();
}

/*
 * Ganesha calls us for each export that it updates, not once for the whole reload. During a reload,
 * all exports still have the number of the previous configuration, and no export is updated twice.
 */
static bool is_same_reload(struct canfs_export *export)
{
	uint64_t replaced = op_ctx->ctx_export->config_gen;
	bool same = export->reload != last.number && last.replaced == replaced;

	if (!same)
		last.number++;
	last.replaced = replaced;
	export->reload = last.number;
	return same;
}

/* Returns false, after logging it, if something is wrong with the options or needs a restart. */
static bool take_over(struct canfs_options *options, bool names)
{
	bool holds = true;

	for (int i = 0; i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->reload &&
			!canfs_features[i]->reload(running.part[i], options->part[i], names))
			holds = false;
	}
	canfs_free_options(&running);
	running = *options;
	return holds;
}

/*
 * Looks up the names of clients only with the first export. A problem is logged once, not for each
 * export.
 */
void canfs_reload(struct canfs_export *export, void *node, struct config_error_type *err_type)
{
	bool is_first = !is_same_reload(export);
	struct canfs_options options;
	int ret;

	if (!is_first && last.warned)
		return;
	ret = canfs_reread_options(node, &options, is_first, err_type);
	last.warned = ret != -ENOENT;
	if (ret == 0)
		last.warned = !take_over(&options, is_first);
	else if (ret == -EINVAL)
		LogCrit(COMPONENT_FSAL, "CANFS goes on as before: the CANFS { } block is wrong");
}
