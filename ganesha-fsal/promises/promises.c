// SPDX-License-Identifier: LGPL-3.0-or-later
/* The feature's option and hooks. */
#include "ganesha-fsal/promises/promises.h"

struct options {
	bool commit_metadata;
};

static struct config_item items[] = {
	CONF_ITEM_BOOL("Commit_Metadata", false, options, commit_metadata),
	CONFIG_EOL,
};

static bool commits_metadata;

static void start(void *own, bool is_wrong)
{
	const struct options *options = own;

	commits_metadata = !is_wrong && options->commit_metadata;
}

static bool reload(void *before, void *now, bool names)
{
	(void)before;
	(void)names;
	start(now, false);
	return true;
}

static void set_export(struct canfs_export *export, const void *own)
{
	(void)own;
	canfs_set_commit_metadata(export, commits_metadata);
}

/* An open may change nothing. */
static fsal_status_t begin_open(struct canfs_op *op)
{
	return op->truncates || op->creates ? canfs_begin_metadata(op)
					    : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static fsal_status_t end_open(struct canfs_op *op, fsal_status_t status)
{
	return op->truncates || op->creates ? canfs_commit_metadata(op, status) : status;
}

static fsal_status_t begin_reopen(struct canfs_op *op)
{
	return op->truncates ? canfs_begin_metadata(op) : fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static fsal_status_t end_reopen(struct canfs_op *op, fsal_status_t status)
{
	return op->truncates ? canfs_commit_metadata(op, status) : status;
}

const struct canfs_feature canfs_feature_promises = {
	.options = { items, sizeof(struct options) },
	.start = start,
	.reload = reload,
	.export_begins = set_export,
	.export_changes = set_export,
	.export_ends = canfs_end_commit_metadata,
	.before = { [CANFS_OP_MAKE] = canfs_begin_metadata,
		[CANFS_OP_LINK] = canfs_begin_metadata,
		[CANFS_OP_RENAME] = canfs_begin_metadata,
		[CANFS_OP_UNLINK] = canfs_begin_metadata,
		[CANFS_OP_SET_ATTRS] = canfs_begin_metadata,
		[CANFS_OP_OPEN] = begin_open,
		[CANFS_OP_REOPEN] = begin_reopen,
		[CANFS_OP_WRITE] = canfs_begin_write_errors },
	.after = { [CANFS_OP_MAKE] = canfs_commit_metadata,
		[CANFS_OP_LINK] = canfs_commit_metadata,
		[CANFS_OP_RENAME] = canfs_commit_metadata,
		[CANFS_OP_UNLINK] = canfs_commit_metadata,
		[CANFS_OP_SET_ATTRS] = canfs_commit_metadata,
		[CANFS_OP_OPEN] = end_open,
		[CANFS_OP_REOPEN] = end_reopen,
		[CANFS_OP_WRITE] = canfs_check_write,
		[CANFS_OP_COMMIT] = canfs_check_commit },
	.truncated = canfs_forget_write_errors,
	.verify = canfs_add_write_errors,
	.count = canfs_count_write_errors,
};
