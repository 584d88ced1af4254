/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * CANFS, a stackable FSAL: what its files share. The stacking glue follows the split of Ganesha's
 * own stackable FSALs (main, export, handle, file, xattrs); what is canfs proper is the price
 * sampler (server/market/sampler.h) and the call to it, in export.c.
 */
#ifndef CANFS_GANESHA_FSAL_CANFS_METHODS_H
#define CANFS_GANESHA_FSAL_CANFS_METHODS_H

#include "common/clock.h"
#include "ganesha-fsal/compat.h"
#include "ganesha-fsal/delegations/holders.h"
#include "server/classes/shared_classes.h"
#include "server/control/control.h"
#include "server/market/sampler.h"
#include "server/monitors/ghosts.h"
#include "ganesha-fsal/prefetch/prefetcher.h"
#include "server/price-service/price_service.h"
#include "server/waiting/waiting.h"

/* What the CANFS { } block says. */
struct canfs_fsal_config {
	struct canfs_sampler_config sampler;
	double pmax; /* both as in struct canfs_settings */
	double weight[CANFS_RESOURCES];
	size_t ghost_memory_bytes; /* 0: the read cache is not priced */
	char *control_path;        /* for gsh_free(); "": no socket */
	uint16_t price_port;       /* UDP; 0: no price service */
	bool commit_metadata;
	bool prefetch;
	struct canfs_prefetcher_config prefetcher;
	struct canfs_classes
		classes; /* with what their names have come to, if they were looked up */
};

/* What the FSAL { Name = CANFS; ... } block of an export says. */
enum canfs_prefetch_wish {
	CANFS_PREFETCH_OFF,
	CANFS_PREFETCH_LOCAL, /* if nothing is said: what is on a disk here */
	CANFS_PREFETCH_ALWAYS /* and through a sub-FSAL that is not */
};

struct canfs_export_options {
	struct canfs_disk_options disks;
	enum canfs_prefetch_wish prefetch;
	bool delegations;
};

struct canfs_module {
	struct fsal_module module;
	struct fsal_obj_ops handle_ops;
	struct canfs_sampler *sampler;             /* NULL before init_config */
	struct canfs_ghosts *ghosts;               /* NULL: reads are not looked at */
	struct canfs_control *control;             /* NULL: no socket */
	struct canfs_prefetcher *prefetcher;       /* NULL: nothing is prefetched */
	struct canfs_clients *clients;             /* NULL: nobody counts them */
	struct canfs_waiting *waiting;             /* NULL: nobody says who makes whom wait */
	struct canfs_price_service *price_service; /* NULL: there is none */
	struct canfs_admissions *admissions;       /* to its prices; NULL: likewise */
	struct canfs_shared_classes classes;       /* of clients */
	/* Protects the members below. Held while an export is made or updated: SIGHUP and DBus use different threads. */
	pthread_mutex_t config_mutex;
	struct canfs_fsal_config config; /* as read last; of ghosts and socket, as they run */
	uint64_t reload;                 /* counts them */
	bool warned;                     /* by the last one */
	uint64_t replaced;               /* number of the configuration before the last reload */
};

struct canfs_export {
	struct fsal_export export;
	struct canfs_price_table *prices;  /* NULL: it publishes no prices */
	struct canfs_responses *responses; /* of these; NULL likewise */
	struct canfs_served *served;       /* NULL: the price service does not know it */
	struct canfs_export_fs *export_fs; /* NULL: nothing of it can be prefetched */
	_Atomic bool prefetches;
	_Atomic(struct canfs_remote *)
		remote;  /* NULL: nothing is read ahead through the sub-FSAL */
	uint64_t reload; /* the last one that came to it; 0: none */
	int dir;         /* of its path, by which files are opened to be watched; -1: none */
	dev_t st_dev;    /* of that */
	_Atomic bool delegates;
	_Atomic bool commits_metadata;
	_Atomic(struct canfs_fs_journal *) journal; /* NULL: it has not been needed */
	dev_t journal_dev;
};

struct canfs_handle {
	struct fsal_obj_handle handle;
	struct fsal_obj_handle *sub; /* the sub-FSAL's handle, owned */
};
/* With what malloc(3) adds, the 160 bytes of ganesha-canfs-config(8), MEMORY. */
_Static_assert(sizeof(struct canfs_handle) <= 152, "the bound that is published");

/* The module object that Ganesha's API wants. Other state of the module is static in the file that owns it. */
extern struct canfs_module CANFS;

static inline struct fsal_obj_handle *canfs_sub(const struct fsal_obj_handle *handle)
{
	return container_of(handle, struct canfs_handle, handle)->sub;
}

/*
 * Every call into the sub-FSAL goes through one of these: it expects to find its own export in
 * op_ctx, and we must find ours there again afterwards. Ganesha's shutdown releases exports
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
		__auto_type passed_ = (export_); /* op_ctx's is another one below */               \
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
 * config.c: the CANFS { } block, with defaults for what it leaves out. 0, or -EINVAL if it is
 * wrong, which Ganesha then says with file and line; *config is set only on 0. May take as long as it takes to look up
 * the names of clients.
 */
int canfs_read_config(
	config_file_t file, struct canfs_fsal_config *config, struct config_error_type *err_type);

/*
 * The same for the file that an export is updated from; parse_node is a block in it. -ENOENT, without a log message, if it has no such block;
 * -EINVAL if anything in it is no syntax. look_up: the names of clients, too; without, its classes lack them.
 */
int canfs_reread_config(void *parse_node, struct canfs_fsal_config *config, bool look_up,
	struct config_error_type *err_type);

/* reload.c: applies the changes in the block. Called for each export that is updated, with the mutex held. */
void canfs_reload(
	struct canfs_export *export, void *parse_node, struct config_error_type *err_type);

/*
 * reload.c: pmax and weights, which are no part of canfs_sampler_config, where 0 is the default. What the block says as
 * before (NULL: at the start) stays as it was set since. Did anything change?
 */
bool canfs_change_scale(
	const struct canfs_fsal_config *before, const struct canfs_fsal_config *now);

/*
 * config.c: what the FSAL { Name = CANFS; ... } block of an export says. 0, or -EINVAL if
 * it is wrong, which Ganesha then says with file and line; *own is set only on 0.
 */
int canfs_read_export_config(
	void *parse_node, struct canfs_export_options *own, struct config_error_type *err_type);

/* The same while Ganesha updates the export. -ENOENT, without a word, if anything in the file is no syntax. */
int canfs_reread_export_config(
	void *parse_node, struct canfs_export_options *own, struct config_error_type *err_type);

/* control.c: the control socket at path, on the sampler. Says why there is none. */
void canfs_start_control(const char *path);
void canfs_stop_control(void);

/* price_service.c: on the sampler. Says why there is none. */
void canfs_start_price_service(uint16_t port); /* 0: none */
void canfs_stop_price_service(void);
/* Who may have prices as our peers. From any thread. */
void canfs_set_peers(const struct canfs_monitor_setup *setup);

/* The price service knows the export, with op_ctx on it, by the names that it has now; and no more. */
void canfs_serve_prices(struct canfs_export *export);
void canfs_admit_anew(const struct canfs_export *export);
void canfs_unserve_prices(struct canfs_export *export);

/* In a reply about the space of the export: Ganesha has admitted the client of op_ctx to it. */
void canfs_note_admitted(const struct canfs_export *export);

/* classes.c: these hold from now on. Waits for nothing but replies that are being made. */
void canfs_set_classes(const struct canfs_classes *classes);

/* Makes of the export's prices what the client of op_ctx is told. In the data path. */
void canfs_add_premium(struct canfs_price_table *prices, struct canfs_tag *tag);

/* Is the client of op_ctx in a class that pays a premium? */
bool canfs_client_steps_aside(void);

/* clients.c. Closing ends the sampler. */
void canfs_open_clients(void);
void canfs_close_clients(void);

/* How many operations of other clients than that of op_ctx are in flight, on average since this or the next was last called; 0: not known. */
double canfs_others_in_flight(void);
void canfs_measure_clients(void);

/* After each step of the sampler, in its thread: what came of it for who makes whom wait. */
void canfs_step_waiting(uint64_t now_usec);

/* An operation of a client that is in flight. */
struct canfs_timer {
	struct canfs_client_load *load;    /* NULL: nobody counts them */
	struct canfs_responses *responses; /* NULL: likewise */
	enum canfs_client_wait wait;
	unsigned int others; /* in flight */
	uint64_t bytes;
	uint64_t begun_usec;
};

/* In the data path, when the client of op_ctx asks for it. */
struct canfs_timer canfs_begin_read(const struct fsal_io_arg *io);
struct canfs_timer canfs_begin_write_of(const struct fsal_io_arg *io);
struct canfs_timer canfs_begin_commit(void);

/* From any thread. */
void canfs_end_timer(const struct canfs_timer *timer);
void canfs_end_read(const struct canfs_timer *timer, uint64_t bytes);

/* export.c: the export at the end of the stack; and the device of its file system, 0: files are on none here. */
const struct fsal_export *canfs_bottom(const struct fsal_export *export);
dev_t canfs_local_device(const struct fsal_export *export);

fsal_status_t canfs_create_export(struct fsal_module *module, void *parse_node,
	struct config_error_type *err_type, const struct fsal_up_vector *up_ops);
fsal_status_t canfs_update_export(struct fsal_module *module, void *parse_node,
	struct config_error_type *err_type, struct fsal_export *original,
	struct fsal_module *updated_super);

/* metadata.c: what the configuration says holds for the export, with op_ctx on it. */
void canfs_set_commit_metadata(struct canfs_export *export);

/*
 * A name or an attribute is to be changed. ERR_FSAL_DELAY: the client is to come again, since half of the server's threads are at such
 * changes, and wait for a journal; without an error, canfs_end_metadata() must follow. With op_ctx on our export.
 */
fsal_status_t canfs_begin_metadata(void);
void canfs_end_metadata(void);

/*
 * A name or an attribute was changed, on the file system of handle: status, when that is on the disk, if the export wants that;
 * or an error. With op_ctx on our export. Waits, with those of other threads.
 */
fsal_status_t canfs_commit_metadata(const struct fsal_obj_handle *handle, fsal_status_t status);

/* handle.c */
void canfs_handle_ops_init(struct fsal_obj_ops *ops);
fsal_status_t canfs_lookup_path(struct fsal_export *export, const char *path,
	struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out);
fsal_status_t canfs_create_handle(struct fsal_export *export, struct gsh_buffdesc *key,
	struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out);
/* module.c: a handle of ours around one of the sub-FSAL's, if status is no error; returns status. */
fsal_status_t canfs_wrap(struct fsal_export *export, struct fsal_obj_handle *sub,
	struct fsal_obj_handle **handle, fsal_status_t status);

/* module.c: in that thread; its name for Ganesha's log, and for top -H. */
void canfs_name_thread(const char *name);

/* reads.c: a read that was answered, for the ghost caches. */
void canfs_reads_open(size_t ghost_memory_bytes); /* 0: none */
void canfs_reads_note(struct fsal_obj_handle *handle, const struct fsal_io_arg *io);

/* The number of the object's file, for all that remember files. */
uint64_t canfs_name_file(const struct fsal_obj_handle *handle);

/* prefetch.c */
void canfs_start_prefetcher(const struct canfs_fsal_config *config);
void canfs_stop_prefetcher(void);

/* Both with op_ctx on it: when it is made; and what holds from now on. */
void canfs_open_prefetch(struct canfs_export *export, enum canfs_prefetch_wish wish);
void canfs_set_prefetch(struct canfs_export *export, enum canfs_prefetch_wish wish);

/* It goes: nothing of it is in flight any more; or, if a disk does not answer, that is left behind, for which we stay. */
void canfs_drain_prefetch(struct canfs_export *export);

/*
 * How far to read ahead, [0, 1]. What is read ahead and then asked for has cost no more than it would have cost later,
 * and often less; what it costs in vain, the table's accounts bound. So the highest price halves the distance, no more.
 */
static inline double canfs_readahead_scale(const struct canfs_export *export)
{
	return export->prices ? 1 - canfs_price_table_own_readahead(export->prices) / 2 : 1;
}

/* The configuration was read again. False: some of it waits for a restart. */
bool canfs_reload_prefetcher(
	const struct canfs_fsal_config *before, const struct canfs_fsal_config *now);

struct canfs_file_change {
	struct canfs_holders *holders; /* NULL: there are no delegations */
	uint64_t file;
	bool is_sent_again; /* perhaps, of a WRITE: delegations/holders.h */
	bool is_holders;    /* the client has a write delegation, or just had one */
	uint8_t tries;      /* to find space for it */
};

/* Who asked for a read or write, and what to call when it is done. */
struct canfs_caller {
	struct fsal_obj_handle *handle;
	fsal_async_cb done;
	void *arg;
	struct canfs_timer timer;
	/* Of a write: as it was asked for, and as it was when it began. */
	bool stable, bypass;
	uint32_t write_errors;
	uint64_t begun_usec; /* of a stable one */
	struct canfs_file_change change;
};

/*
 * write_errors.c. All with op_ctx on our export.
 *
 * What a client is to be told of a write (io: as it was done), and of a commit; and all clients from then on, if it failed.
 * RFC 1813 §3.3.7 and RFC 8881 §18.32.3: what was asked for as stable is stable, or an error.
 */
fsal_status_t canfs_check_write(
	const struct canfs_caller *caller, fsal_status_t status, const struct fsal_io_arg *io);
fsal_status_t canfs_check_commit(struct fsal_obj_handle *handle, fsal_status_t status);

void canfs_begin_write(struct canfs_caller *caller);

/* Makes of the server's write verifier ours. */
void canfs_add_write_errors(struct gsh_buffdesc *verifier);
uint32_t canfs_count_write_errors(void); /* since the start; from any thread */

/* The file is empty: what was lost is of no interest any more. */
void canfs_forget_write_errors(struct fsal_obj_handle *handle);

/*
 * A read, with op_ctx on our export. True: it will be answered, or was. False: the caller is to ask the
 * sub-FSAL, and then to call canfs_complete_read().
 */
struct canfs_io {
	struct canfs_read read;                                  /* the prefetcher's */
	void (*answer)(const struct canfs_io *io, bool give_up); /* if it is delayed */
	struct canfs_caller caller;
	bool bypass; /* this and the next as in read2 */
	struct fsal_io_arg *read_arg;
};
bool canfs_submit_read(struct canfs_io *io);
void canfs_complete_read(struct canfs_io *io);

/*
 * After these bytes of it were written, or, with CANFS_TO_THE_END, its contents or size changed from there on: before,
 * a read in between would bring the old ones back. With op_ctx on our export.
 */
#define CANFS_TO_THE_END UINT64_MAX
void canfs_invalidate(struct fsal_obj_handle *handle, uint64_t offset, uint64_t bytes);

/* Its size is this now, or was, for a while; or (status) may be. */
static inline void canfs_truncated(
	struct fsal_obj_handle *handle, uint64_t bytes, fsal_status_t status)
{
	canfs_invalidate(handle, bytes, CANFS_TO_THE_END);
	if (bytes == 0 && !FSAL_IS_ERROR(status))
		canfs_forget_write_errors(handle);
}

/* delegations.c. All with op_ctx on our export. What its block says holds from now on. */
void canfs_set_delegations(struct canfs_export *export, bool wanted);
void canfs_close_export_delegations(
	struct canfs_export *export); /* it is released; without op_ctx */
void canfs_close_delegations(void);   /* nobody asks any more */

struct canfs_delegation_counters {
	unsigned int exports; /* that grant any now */
	struct canfs_holders_counters now;
};

struct canfs_delegation_counters canfs_count_delegations(void); /* from any thread */

/* May there be any? */
bool canfs_delegates(const struct fsal_export *export);

/* state, owner: as in lease_op2. False: it is for the sub-FSAL. */
bool canfs_grant_lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
	bool writes, fsal_status_t *status);

/* Of any state that ends; more than once does no harm. owner: as in lease_op2; NULL: it may be gone. */
void canfs_return_lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner);

bool canfs_any_delegations(void);
struct canfs_holders *canfs_all_holders(void); /* NULL: no export wants delegations */
struct canfs_nfs_client canfs_client_here(void);

/* Like canfs_check_delegations(), by the file's number: may the client of op_ctx do this now? */
fsal_status_t canfs_check_conflicts(uint64_t file, enum canfs_access access);

/*
 * write_delegations.c: reserves space for a write delegation of this file, if the server can afford it. The space stays reserved until the
 * delegation of this name ends; its end may be reported more than once. 0 or -errno.
 */
int canfs_open_space(void (*recall)(uint64_t file));
void canfs_close_space(void);
int canfs_afford_write_delegation(
	const struct canfs_export *export, struct fsal_obj_handle *handle, const void *name);
void canfs_end_write_delegation(const void *name);
uint64_t canfs_count_not_afforded(void);

/* A WRITE of a holder found no space: releases some of the reserve. True: retry the WRITE. Call it with op_ctx on our export. */
bool canfs_spend_space(
	struct canfs_file_change *change, fsal_status_t status, const struct fsal_io_arg *io);

/* Access to exports is about to change. Waits for some seconds at most, until clients have written the data of files that they closed. */
void canfs_recall_before_change(void);

/* back_channel.c: it does not answer when it is asked for a delegation (once a second), or has answered just now. From any thread. */
void canfs_client_is_unheard(void *client_record);
void canfs_client_has_answered(void *client_record);

/* watched_files.c, with op_ctx on the export: processes of this machine that open the file from now on; no more. -errno. */
struct canfs_watch_config;
int canfs_start_watching(const struct canfs_watch_config *config);
void canfs_stop_watching(void);
int canfs_watch_file(const struct canfs_export *export, struct fsal_obj_handle *handle);
void canfs_unwatch_file(
	struct fsal_obj_handle *handle); /* op_ctx may be on any export of its file system */

/* Returns an O_PATH descriptor of the file, or -errno. */
int canfs_open_same(const struct canfs_export *export, struct fsal_obj_handle *handle);

/* recalls.c. Recalls a file's delegations from a thread of the server, with a reference to the export. */
void canfs_ask_back(const void *up_ops, const void *key, size_t key_bytes);

bool canfs_recall_is_overdue(const struct state_t *state);
bool canfs_recall_was_answered(const struct state_t *state); /* just now */

/* For the ticks of delegations/holders.h. The struct state_t must still belong to a holder. */
void *canfs_lock_state(void *state);
void canfs_unlock_state(void *locked);

/* The file is about to be deleted: closes its descriptor if its watch is settling (delegations/watch.h). */
bool canfs_any_file_settles(void);
void canfs_forget_watched(const struct fsal_obj_handle *handle);

/* kept_states.c, with op_ctx: of a delegation that is returned, or of locks that end. It stays for a second. */
void canfs_keep_state(struct state_t *state);

/* Those whose second is over by now; from any thread. */
void canfs_let_states_go(uint64_t now_usec);

/*
 * ganesha_states.c, with op_ctx and the lock of the file. Does another client's open of the file conflict with the delegation that is
 * requested (RFC 8881 §10.4)?
 */
bool canfs_opens_conflict(const struct state_t *delegation, uint64_t client, bool writes);

/* Likewise, for one that is granted, refused or returned (owner: as in lease_op2). Hides it from NFS-Ganesha's own search for conflicts. */
void canfs_hide_granted(struct state_t *delegation, bool is_refused);
void canfs_hide_returned(struct state_t *delegation, void *owner);

/* Does the request contain a WRITE? */
bool canfs_request_writes(void);

/*
 * Was it taken away from the client of op_ctx, and the file changed since? Then it is told once that what it opens to write is not there
 * (NFS4ERR_NOENT): to go on with what it had not sent, Linux opens it by its handle, and gives up; who opens a name looks it up again.
 */
bool canfs_open_was_revoked(struct fsal_obj_handle *handle);

/* Likewise, for a client that has not opened the file since. True: this WRITE was unsent at the loss, and fails with NFS4ERR_IO. */
bool canfs_write_was_revoked(struct fsal_obj_handle *handle, const struct fsal_io_arg *io);

/* file_changes.c. A request of the client of op_ctx has named the file with this key; see delegations/holders.h. */
void canfs_note_named(const struct gsh_buffdesc *key);

/* An operation of that request has come to us. */
void canfs_note_arrived(struct fsal_obj_handle *handle);

/* An open may have made it, in this directory. */
void canfs_note_made(struct fsal_obj_handle *handle, struct fsal_obj_handle *dir);

/*
 * May the client of op_ctx do this now? If another one has a delegation, that is recalled, and the client told to come again
 * (ERR_FSAL_DELAY). _named: to what has this name, if there is any.
 */
fsal_status_t canfs_check_delegations(struct fsal_obj_handle *handle, enum canfs_access access);
fsal_status_t canfs_check_named(
	struct fsal_obj_handle *dir, const char *name, enum canfs_access access);

/*
 * watched_files.c. Its attributes, without the open(2) of FSAL VFS, which the watch would have to let through (watch.h): with Attr_Expiration_Time = 0
 * each request asks for them several times. False: ask the sub-FSAL.
 */
bool canfs_stat_watched(struct fsal_obj_handle *handle, struct fsal_attrlist *attrs);

/* The same for a change of contents, attributes or names. No delegation is granted until canfs_end_change(), which must follow if there is no error. */
fsal_status_t canfs_begin_change(struct fsal_obj_handle *handle, struct canfs_file_change *change);
fsal_status_t canfs_begin_named_change(
	struct fsal_obj_handle *dir, const char *name, struct canfs_file_change *change);
void canfs_note_write(struct canfs_file_change *change); /* that has begun */
void canfs_end_change(const struct canfs_file_change *change);

/* handle.c: a number by which the file is known while it exists; unlike canfs_name_file(), not another file's after it. */
uint64_t canfs_hash_key(struct fsal_obj_handle *handle);
uint64_t canfs_hash_bytes(const void *key, size_t bytes);

/* handle.c: the last open by name gave this new handle, and truncated its file; NULL: it did not. */
void canfs_note_truncated(const struct fsal_obj_handle *handle);

/* How many bytes its buffers have. */
uint64_t canfs_bytes_of(const struct fsal_io_arg *io);

/* The object is about to be released. True: its reads ahead do that later, by canfs_release_handle(). */
bool canfs_object_gone(struct fsal_obj_handle *handle);

/*
 * A file is about to be deleted, or the file of this name, if there is one. Waits for its fetches, so that its space is free before the reply
 * (prefetch/prefetcher.h, CANFS_CLOSE_TIMEOUT_MSEC).
 */
void canfs_delete_file(struct fsal_obj_handle *handle);
void canfs_delete_named(struct fsal_obj_handle *dir, const char *name);

/* A descriptor of the FSAL below is about to be closed. If its file was deleted meanwhile, closes ours, too. Call it with op_ctx on our export. */
void canfs_file_closed(const struct fsal_obj_handle *handle);

/* module.c: releases both, with op_ctx on the sub-FSAL's export, or without any. */
void canfs_release_handle(struct fsal_obj_handle *handle);

/* prefetch_remote.c: -errno. */
int canfs_open_remote(struct canfs_export *export, const char *path);

/* A client reads; with op_ctx on our export. Does nothing if that has no `remote`. */
void canfs_read_ahead_remotely(struct canfs_export *export, struct fsal_obj_handle *handle,
	uint64_t offset, uint64_t bytes);
void canfs_remote_file_changed(
	struct canfs_export *export, struct fsal_obj_handle *handle, uint64_t from_offset);

/* file.c, xattrs.c */
void canfs_file_ops_init(struct fsal_obj_ops *ops);
void canfs_xattr_ops_init(struct fsal_obj_ops *ops);

#endif
