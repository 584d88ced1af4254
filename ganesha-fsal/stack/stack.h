/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * CANFS, a stackable FSAL: it passes every operation to the FSAL below. The files follow the split
 * of Ganesha's own stackable FSALs (main, export, handle, file, xattrs). canfs adds features
 * (feature.h), each in a folder beside this one.
 */
#ifndef CANFS_GANESHA_FSAL_STACK_STACK_H
#define CANFS_GANESHA_FSAL_STACK_STACK_H

#include <stdint.h>
#include <sys/types.h>

#include "ganesha-fsal/stack/compat.h"
#include "feature_rows.h" /* made by CMake: row(NAME, name) for each feature that is built */

/*
 * In the order in which an operation reaches the features. A result passes them in reverse order.
 */
#define CANFS_FEATURE_NUMBER(NAME, name) CANFS_FEATURE_##NAME,
enum canfs_feature_number { CANFS_FEATURE_ROWS(CANFS_FEATURE_NUMBER) CANFS_FEATURES };

struct canfs_module {
	struct fsal_module module;
	struct fsal_obj_ops handle_ops;
};

struct canfs_export {
	struct fsal_export export;
	uint64_t reload;                /* the last one that reached it; 0: none (update.c) */
	void *part[CANFS_FEATURES + 1]; /* each feature's own data; NULL: none */
};

struct canfs_handle {
	struct fsal_obj_handle handle;
	struct fsal_obj_handle *sub; /* the sub-FSAL's handle, owned */
};
/*
 * Together with the overhead of malloc(3), these are the 160 bytes in ganesha-canfs-config(8),
 * MEMORY.
 */
_Static_assert(sizeof(struct canfs_handle) <= 152, "the bound that is published");

/* The module object that Ganesha's API requires. */
extern struct canfs_module CANFS;

static inline struct fsal_obj_handle *canfs_sub(const struct fsal_obj_handle *handle)
{
	return container_of(handle, struct canfs_handle, handle)->sub;
}

/* The export of op_ctx. */
static inline struct canfs_export *canfs_export_here(void)
{
	return container_of(op_ctx->fsal_export, struct canfs_export, export);
}

/*
 * Every call into the sub-FSAL goes through one of these macros. The sub-FSAL expects its own
 * export in op_ctx, and afterwards we need ours there again. At shutdown, Ganesha releases exports
 * without an op_ctx.
 *
 *	BELOW(export, call)           value of call, made with op_ctx on the export below `export`
 *	PASS(handle, op, args...)     the same operation on the sub-FSAL's handle
 *	PASS_EXPORT(export, op, ...)  the same operation on the sub-FSAL's export
 */
#define BELOW(export_, call_)                                                                      \
	({                                                                                         \
		struct fsal_export *export_here_ = canfs_descend((export_)->sub_export);           \
		__auto_type result_ = (call_);                                                     \
		canfs_ascend(export_here_);                                                        \
		result_;                                                                           \
	})
#define BELOW_VOID(export_, call_)                                                                 \
	do {                                                                                       \
		struct fsal_export *export_here_ = canfs_descend((export_)->sub_export);           \
		call_;                                                                             \
		canfs_ascend(export_here_);                                                        \
	} while (0)

#define CALL_SUB(handle_, op_, ...)                                                                \
	canfs_sub(handle_)->obj_ops->op_(canfs_sub(handle_), ##__VA_ARGS__)
#define CALL_SUB_EXPORT(export_, op_, ...)                                                         \
	(export_)->sub_export->exp_ops.op_((export_)->sub_export, ##__VA_ARGS__)

#define PASS(handle_, op_, ...) BELOW(op_ctx->fsal_export, CALL_SUB(handle_, op_, ##__VA_ARGS__))
#define PASS_VOID(handle_, op_, ...)                                                               \
	BELOW_VOID(op_ctx->fsal_export, CALL_SUB(handle_, op_, ##__VA_ARGS__))
#define PASS_EXPORT(export_, op_, ...)                                                             \
	({                                                                                         \
		__auto_type passed_ = (export_); /* BELOW changes op_ctx's export */               \
		BELOW(passed_, CALL_SUB_EXPORT(passed_, op_, ##__VA_ARGS__));                      \
	})
#define PASS_EXPORT_VOID(export_, op_, ...)                                                        \
	BELOW_VOID(export_, CALL_SUB_EXPORT(export_, op_, ##__VA_ARGS__))

static inline struct fsal_export *canfs_descend(struct fsal_export *sub_export)
{
	struct fsal_export *here = NULL;

	if (op_ctx) {
		here = op_ctx->fsal_export;
		op_ctx->fsal_export = sub_export;
	}
	return here;
}

static inline void canfs_ascend(struct fsal_export *here)
{
	if (op_ctx)
		op_ctx->fsal_export = here;
}

/*
 * export.c. canfs_bottom() returns the export at the end of the stack. canfs_local_device() returns
 * the device of its file system, or 0 if the files are not on a local file system.
 */
const struct fsal_export *canfs_bottom(const struct fsal_export *export);
dev_t canfs_local_device(const struct fsal_export *export);

/* module.c. Names the calling thread, in Ganesha's log and for top -H. */
void canfs_name_thread(const char *name);
/* Writes to Ganesha's log. */
void canfs_log_event(const char *message);

/* Wraps a handle of the sub-FSAL into one of ours, if status is no error. Returns status. */
fsal_status_t canfs_wrap(struct fsal_export *export, struct fsal_obj_handle *sub,
	struct fsal_obj_handle **handle, fsal_status_t status);

/* Releases both handles. Needs op_ctx on the sub-FSAL's export, or no op_ctx. */
void canfs_release_handle(struct fsal_obj_handle *handle);

/*
 * Returns a number for the object's file, for all code that remembers files. After the file is
 * deleted, another file may get the same number.
 */
uint64_t canfs_name_file(const struct fsal_obj_handle *handle);

/*
 * Returns another number, which no later file gets. canfs_hash_bytes() takes the bytes of the
 * file's key.
 */
uint64_t canfs_hash_key(struct fsal_obj_handle *handle);
uint64_t canfs_hash_bytes(const void *key, size_t bytes);

/* Returns the number of bytes in its buffers. */
uint64_t canfs_bytes_of(const struct fsal_io_arg *io);

/* Shared by the stack's own files. */
fsal_status_t canfs_create_export(struct fsal_module *module, void *parse_node,
	struct config_error_type *err_type, const struct fsal_up_vector *up_ops);
fsal_status_t canfs_update_export(struct fsal_module *module, void *parse_node,
	struct config_error_type *err_type, struct fsal_export *original,
	struct fsal_module *updated_super);
void canfs_handle_ops_init(struct fsal_obj_ops *ops);
void canfs_file_ops_init(struct fsal_obj_ops *ops);
void canfs_xattr_ops_init(struct fsal_obj_ops *ops);
fsal_status_t canfs_lookup_path(struct fsal_export *export, const char *path,
	struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out);
fsal_status_t canfs_create_handle(struct fsal_export *export, struct gsh_buffdesc *key,
	struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out);

/*
 * handle.c. The last open by name returned this new handle and truncated its file. NULL: it did not
 * truncate.
 */
void canfs_note_truncated(const struct fsal_obj_handle *handle);

#endif
