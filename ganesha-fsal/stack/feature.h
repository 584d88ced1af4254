/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A feature is a folder with a table of hooks, canfs_feature_FOLDER. The stack calls the hooks; features do not call each
 * other. To add one, add its folder, its name in CMakeLists.txt (the order is that of the hooks: price asks for the
 * command host of read), and what it may include in tests/style.
 *
 *	client --> stack: before[kind] of each feature --> FSAL below --> after[kind], last feature first --> client
 *	                       `-- one refuses --------------------------------^
 *
 * Every hook may be NULL. Hooks of operations run in Ganesha's workers with op_ctx on our export, so they wait only
 * with a timeout.
 */
#ifndef CANFS_GANESHA_FSAL_STACK_FEATURE_H
#define CANFS_GANESHA_FSAL_STACK_FEATURE_H

#include "common/options.h"
#include "ganesha-fsal/stack/stack.h"

struct canfs_control_command; /* common/control/request.h */
struct json_t;                /* jansson's */

enum canfs_op_kind {
	CANFS_OP_SPACE, /* get_fs_dynamic_info of the export */
	CANFS_OP_LOOK,  /* getattrs */
	CANFS_OP_SET_ATTRS,
	CANFS_OP_MAKE, /* mkdir, mknode or symlink in the directory `handle` */
	CANFS_OP_LINK, /* handle becomes `name` in dir */
	CANFS_OP_RENAME,
	CANFS_OP_UNLINK, /* handle is `name` in dir */
	CANFS_OP_OPEN,   /* handle; with a name, that name in the directory `handle` */
	CANFS_OP_REOPEN,
	CANFS_OP_READ,
	CANFS_OP_WRITE,
	CANFS_OP_COMMIT,
	CANFS_OP_ALLOCATE,
	CANFS_OP_SEEK,
	CANFS_OP_LOCK,
	CANFS_OP_CLOSE, /* cannot be refused */
	CANFS_OPS
};

#define CANFS_OP_PART_WORDS 6

/* An operation of a client. The comments name the kinds that use a member. */
struct canfs_op {
	enum canfs_op_kind kind;
	bool passed;     /* to the FSAL below; false: a feature refused it */
	bool truncates;  /* OPEN, REOPEN: to size 0 */
	bool creates;    /* OPEN */
	bool may_exist;  /* OPEN: creates without O_EXCL */
	bool writes;     /* OPEN, REOPEN: for writing; LOCK: not an unlock */
	bool was_stable; /* WRITE: the client asked for a stable write */
	struct fsal_obj_handle *handle, *dir;
	const char *name;
	struct fsal_obj_handle *made; /* OPEN, in after[]: the new object; NULL: opened by handle */
	struct state_t *state;        /* CLOSE; may be NULL */
	struct fsal_io_arg *io;       /* READ, WRITE */
	uint64_t offset;              /* ALLOCATE: start of the range */
	fsal_dynamicfsinfo_t *space;  /* SPACE */
	uint64_t part[CANFS_FEATURES + 1][CANFS_OP_PART_WORDS]; /* per feature; starts as 0 */
};

/* The part of a feature, as a pointer to its own type. */
#define CANFS_OP_PART(op_, feature_, type_)                                                        \
	({                                                                                         \
		_Static_assert(sizeof(type_) <= sizeof((op_)->part[0]), "CANFS_OP_PART_WORDS");    \
		(type_ *)(void *)(op_)->part[feature_];                                            \
	})

/* A READ or WRITE with its completion callback. */
struct canfs_io_call {
	struct canfs_op op;
	bool bypass; /* as in read2 and write2 */
	fsal_async_cb done;
	void *arg;
};

/* Options: rows of Ganesha's parser for a struct of `bytes`, ended by CONFIG_EOL. items NULL: none. */
struct canfs_option_items {
	struct config_item *items;
	size_t bytes;
};

/* The server's load, for features that adapt to it. Get it with canfs_load(). */
struct canfs_load {
	double (*readahead_scale)(
		const struct canfs_export *export); /* of the read-ahead distance, [0, 1] */
	double (*write_price)(
		const struct canfs_export *export); /* for op_ctx's client; 0: unknown */
	bool (*steps_aside)(void);                  /* does op_ctx's client pay a premium? */
	void (*fetched_ahead)(struct canfs_op *op, uint64_t bytes); /* because of this READ */
	/* Operations of clients other than op_ctx's in flight: the mean since the last call of this or of measure_others(). */
	double (*others_in_flight)(void);
	void (*measure_others)(void);
};

struct canfs_feature {
	struct canfs_option_items options;        /* in the CANFS { } block */
	struct canfs_option_items export_options; /* in an export's FSAL { } block */
	/* Options of earlier versions of the CANFS { } block, ended by a name NULL. They are refused with their hints. */
	const struct canfs_retired_option *retired;
	/* Prepares zeroed options for parsing. names: DNS lookups are allowed. */
	void (*prepare)(void *options, bool names);
	/* Derives values from parsed options. Logs errors; false rejects the whole block. */
	bool (*settle)(void *options);
	void (*forget)(void *options); /* frees what the options own */

	/* Server start. The options stay valid until end() or reload(). is_wrong: the block was rejected; the options are 0. */
	void (*start)(void *options, bool is_wrong);
	void (*stop)(void);    /* server shutdown, last feature first; requests may still run */
	void (*end)(void);     /* frees everything; skipped if any feature is_busy() */
	bool (*is_busy)(void); /* I/O is outstanding that will call back into the plugin */
	/* SIGHUP: `now` replaces `before`, which is freed. False: a change was rejected or needs a restart (logged). */
	bool (*reload)(void *before, void *now, bool names);

	/* Life of an export. op_ctx is on it, except perhaps in drain() and export_ends(). options NULL: they were wrong. */
	void (*export_begins)(struct canfs_export *export, const void *options);
	void (*export_changes)(struct canfs_export *export, const void *options);
	void (*before_update)(void);                      /* of any export; may block for seconds */
	void (*drain)(struct canfs_export *export);       /* answers outstanding requests */
	void (*export_ends)(struct canfs_export *export); /* frees the export's part */

	/* An error from before[] refuses the operation; the feature must have undone its own steps. after[] returns the client's status. */
	fsal_status_t (*before[CANFS_OPS])(struct canfs_op *op);
	fsal_status_t (*after[CANFS_OPS])(struct canfs_op *op, fsal_status_t status);

	/* Performs a READ: calls canfs_pass_read() now or canfs_answer_read() later. At most one feature sets this. */
	void (*read)(struct canfs_io_call *call);
	/* A WRITE failed with this status. True: the stack retries it. */
	bool (*retries)(struct canfs_op *op, fsal_status_t status);
	/* The file was truncated or extended to `bytes`. On an error it may have been. */
	void (*truncated)(struct fsal_obj_handle *handle, uint64_t bytes, fsal_status_t status);
	/* The object is about to be freed. True: the feature frees it later with canfs_release_handle(). */
	bool (*takes_object)(struct fsal_obj_handle *handle);
	/* True: the feature answered; the FSAL below is not asked. */
	bool (*get_attrs)(struct fsal_obj_handle *handle, struct fsal_attrlist *attrs);
	bool (*lease)(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
		fsal_deleg_t deleg, fsal_status_t *status);
	bool (*supports)(const struct fsal_export *export, fsal_fsinfo_options_t option);
	/* A request names the file with this key. */
	void (*named)(const struct gsh_buffdesc *key);
	/* Modifies the write verifier. */
	void (*verify)(struct gsh_buffdesc *verifier);

	/* The control socket: commands (of at most one feature) with the host to call them with, and counters. */
	const struct canfs_control_command *commands;
	void *(*command_host)(void);
	void (*count)(struct json_t *counters);
	const struct canfs_load *load; /* of at most one feature */
};

#define CANFS_FEATURE_TABLE(NAME, name) extern const struct canfs_feature canfs_feature_##name;
CANFS_FEATURE_ROWS(CANFS_FEATURE_TABLE)

extern const struct canfs_feature *const canfs_features[]; /* ended by NULL */

/* Call a hook of every feature, in order or last first. */
#define CANFS_TELL(hook_, ...)                                                                     \
	do {                                                                                       \
		for (int at_ = 0; at_ < CANFS_FEATURES; at_++) {                                   \
			if (canfs_features[at_]->hook_)                                            \
				canfs_features[at_]->hook_(__VA_ARGS__);                           \
		}                                                                                  \
	} while (0)
#define CANFS_TELL_BACK(hook_, ...)                                                                \
	do {                                                                                       \
		for (int at_ = CANFS_FEATURES; at_-- > 0;) {                                       \
			if (canfs_features[at_]->hook_)                                            \
				canfs_features[at_]->hook_(__VA_ARGS__);                           \
		}                                                                                  \
	} while (0)
/* Calls a hook until one returns true. */
#define CANFS_ANY(hook_, ...)                                                                      \
	({                                                                                         \
		bool any_ = false;                                                                 \
		for (int at_ = 0; at_ < CANFS_FEATURES && !any_; at_++)                            \
			any_ = canfs_features[at_]->hook_ &&                                       \
			       canfs_features[at_]->hook_(__VA_ARGS__);                            \
		any_;                                                                              \
	})

/*
 * Every operation starts with canfs_before(). If that fails, the operation is refused and over. Otherwise the caller passes it on
 * and then calls canfs_after() with the result, which returns the status for the client.
 */
fsal_status_t canfs_before(struct canfs_op *op);
fsal_status_t canfs_after(struct canfs_op *op, fsal_status_t status);

/* Never NULL. Without a feature that knows the load: nobody else is active, and nothing costs anything. */
const struct canfs_load *canfs_load(void);

/* file.c: passes a READ to the FSAL below, in its worker, with op_ctx on our export. */
void canfs_pass_read(const struct canfs_io_call *call);

/*
 * Passes a delayed READ to the FSAL below, in any thread, with op_ctx on the sub-FSAL's export. give_up: the pages cannot be
 * had, so the client is asked to retry.
 */
void canfs_answer_read(const struct canfs_io_call *call, bool give_up);

#endif
