// SPDX-License-Identifier: LGPL-3.0-or-later
/* Exports: passed on like the rest, but for the price tag in the answer to FSSTAT. */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/fs-journal/fs_journal.h"
#include "ganesha-fsal/prefetch/remote.h"
#include "common/clock.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * CA-NFS §3.3: prices travel in replies that clients get anyway. The sub-FSAL's counts are tagged
 * with what its price table shows, and the premium of the client's class; without fresh prices, or with counts that cannot
 * carry a tag, they go out as they are.
 */
static fsal_status_t get_fs_dynamic_info(
	struct fsal_export *export, struct fsal_obj_handle *handle, fsal_dynamicfsinfo_t *info)
{
	const struct canfs_export *ours = container_of(export, struct canfs_export, export);
	struct canfs_price_table *prices = ours->prices;
	fsal_status_t status;
	struct canfs_space space;
	struct canfs_tag tag;

	/* Ganesha's NFSv4 sends what stands here after an error too; it comes from the stack. */
	*info = (fsal_dynamicfsinfo_t) { .total_bytes = 0 };
	canfs_note_admitted(ours);
	status = PASS_EXPORT(export, get_fs_dynamic_info, canfs_sub(handle), info);
	if (FSAL_IS_ERROR(status) || !prices ||
		!canfs_price_table_read(prices, canfs_now_usec(), &tag))
		return status;
	canfs_add_premium(prices, &tag);
	space = (struct canfs_space) { .total_bytes = info->total_bytes,
		.free_bytes = info->free_bytes,
		.avail_bytes = info->avail_bytes };
	if (canfs_tag_encode(&space, &tag) == 0) {
		info->total_bytes = space.total_bytes;
		info->free_bytes = space.free_bytes;
		info->avail_bytes = space.avail_bytes;
	}
	return status;
}

/* At shutdown there may be no op_ctx any more. */
static void release(struct fsal_export *export)
{
	struct canfs_export *ours = container_of(export, struct canfs_export, export);
	struct fsal_module *sub_fsal = export->sub_export->fsal;

	canfs_prefetcher_close(ours->export_fs);
	canfs_remote_close(atomic_load(&ours->remote));
	canfs_fs_journal_close(atomic_load(&ours->journal));
	canfs_close_export_delegations(ours);
	canfs_unserve_prices(ours);
	canfs_price_table_close(ours->prices);
	PASS_EXPORT_VOID(export, release);
	fsal_put(sub_fsal);
	fsal_detach_export(export->fsal, &export->exports);
	free_export_ops(export);
	gsh_free(ours);
}

static void prepare_unexport(struct fsal_export *export)
{
	/* What waits for its pages must be answered while there is still an export. */
	canfs_drain_prefetch(container_of(export, struct canfs_export, export));
	canfs_let_states_go(UINT64_MAX);
	PASS_EXPORT_VOID(export, prepare_unexport);
}

static bool fs_supports(struct fsal_export *export, fsal_fsinfo_options_t option)
{
	if ((option == fso_delegations_r || option == fso_delegations_w) && canfs_delegates(export))
		return true;
	return PASS_EXPORT(export, fs_supports, option);
}

static uint64_t fs_maxfilesize(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_maxfilesize);
}

static uint32_t fs_maxread(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_maxread);
}

static uint32_t fs_maxwrite(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_maxwrite);
}

static uint32_t fs_maxlink(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_maxlink);
}

static uint32_t fs_maxnamelen(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_maxnamelen);
}

static uint32_t fs_maxpathlen(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_maxpathlen);
}

static fsal_aclsupp_t fs_acl_support(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_acl_support);
}

static attrmask_t fs_supported_attrs(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_supported_attrs);
}

static uint32_t fs_umask(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_umask);
}

static int32_t fs_expiretimeparent(struct fsal_export *export)
{
	return PASS_EXPORT(export, fs_expiretimeparent);
}

static fsal_status_t check_quota(struct fsal_export *export, const char *path, int quota_type)
{
	return PASS_EXPORT(export, check_quota, path, quota_type);
}

static fsal_status_t get_quota(struct fsal_export *export, const char *path, int quota_type,
	int quota_id, fsal_quota_t *quota)
{
	return PASS_EXPORT(export, get_quota, path, quota_type, quota_id, quota);
}

static fsal_status_t set_quota(struct fsal_export *export, const char *path, int quota_type,
	int quota_id, fsal_quota_t *quota, fsal_quota_t *result)
{
	return PASS_EXPORT(export, set_quota, path, quota_type, quota_id, quota, result);
}

static void get_write_verifier(struct fsal_export *export, struct gsh_buffdesc *verifier)
{
	PASS_EXPORT_VOID(export, get_write_verifier, verifier);
	canfs_add_write_errors(verifier);
}

static struct state_t *alloc_state(
	struct fsal_export *export, enum state_type type, struct state_t *related)
{
	return PASS_EXPORT(export, alloc_state, type, related);
}

#if COMPAT_FREE_STATE
static void free_state(struct fsal_export *export, struct state_t *state)
{
	PASS_EXPORT_VOID(export, free_state, state);
}
#endif

static bool is_superuser(struct fsal_export *export, const struct user_cred *creds)
{
	return PASS_EXPORT(export, is_superuser, creds);
}

static fsal_status_t wire_to_host(
	struct fsal_export *export, fsal_digesttype_t in_type, struct gsh_buffdesc *desc, int flags)
{
	fsal_status_t status = PASS_EXPORT(export, wire_to_host, in_type, desc, flags);

	if (!FSAL_IS_ERROR(status))
		canfs_note_named(desc);
	return status;
}

static fsal_status_t host_to_key(struct fsal_export *export, struct gsh_buffdesc *desc)
{
	return PASS_EXPORT(export, host_to_key, desc);
}

static void export_ops_init(struct export_ops *ops)
{
	ops->get_fs_dynamic_info = get_fs_dynamic_info;
	ops->release = release;
	ops->prepare_unexport = prepare_unexport;
	ops->lookup_path = canfs_lookup_path;
	ops->create_handle = canfs_create_handle;
	ops->wire_to_host = wire_to_host;
	ops->host_to_key = host_to_key;
	ops->fs_supports = fs_supports;
	ops->fs_maxfilesize = fs_maxfilesize;
	ops->fs_maxread = fs_maxread;
	ops->fs_maxwrite = fs_maxwrite;
	ops->fs_maxlink = fs_maxlink;
	ops->fs_maxnamelen = fs_maxnamelen;
	ops->fs_maxpathlen = fs_maxpathlen;
	ops->fs_acl_support = fs_acl_support;
	ops->fs_supported_attrs = fs_supported_attrs;
	ops->fs_umask = fs_umask;
	ops->fs_expiretimeparent = fs_expiretimeparent;
	ops->check_quota = check_quota;
	ops->get_quota = get_quota;
	ops->set_quota = set_quota;
	ops->get_write_verifier = get_write_verifier;
	ops->alloc_state = alloc_state;
#if COMPAT_FREE_STATE
	ops->free_state = free_state;
#endif
	ops->is_superuser = is_superuser;
}

/* FSAL { Name = CANFS; FSAL { Name = VFS; ... } } */
struct stack {
	struct subfsal_args sub;
};

static struct config_item sub_items[] = {
	CONF_ITEM_STR("name", 1, 10, NULL, subfsal_args, name),
	CONFIG_EOL,
};

static struct config_item stack_items[] = {
	CONF_ITEM_NOOP("name"),
	CONF_RELAX_BLOCK("FSAL", sub_items, noop_conf_init, subfsal_commit, stack, sub),
	CONFIG_EOL,
};

static struct config_block stack_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.canfs-export%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.flags = CONFIG_RELAX, /* the rest is for config.c */
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = stack_items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static void say_stacked_twice(void)
{
	LogCrit(COMPONENT_FSAL, "CANFS cannot be stacked on CANFS (%s): remove one of the two",
		CTX_FULLPATH(op_ctx));
}

/*
 * Finds the FSAL named in our block, with one reference; NULL after having said why. The caller
 * frees stack->sub.name in both cases.
 */
static struct fsal_module *find_sub_fsal(
	void *parse_node, struct stack *stack, struct config_error_type *err_type)
{
	struct fsal_module *sub;

	*stack = (struct stack) { .sub.name = NULL };
	if (load_config_from_node(parse_node, &stack_block, stack, true, err_type) != 0)
		return NULL;
	if (!stack->sub.name) {
		LogCrit(COMPONENT_FSAL, "CANFS serves no files itself: it needs a FSAL { Name = "
					"...; } block in its own, as VFS");
		return NULL;
	}
	sub = lookup_fsal(stack->sub.name);
	if (!sub) {
		LogCrit(COMPONENT_FSAL, "CANFS: there is no FSAL %s to stack on", stack->sub.name);
		return NULL;
	}
	fsal_put(sub); /* subfsal_commit() took a reference already */
	if (sub != &CANFS.module)
		return sub;
	say_stacked_twice();
	fsal_put(sub);
	return NULL;
}

/* False: the stack contains CANFS again, below another FSAL. */
static bool create_sub_export(struct fsal_module *sub, void *parse_node,
	struct config_error_type *err_type, const struct fsal_up_vector *up_ops,
	fsal_status_t *status)
{
	static __thread bool creating;

	if (creating) {
		say_stacked_twice();
		return false;
	}
	creating = true;
	*status = sub->m_ops.create_export(sub, parse_node, err_type, up_ops);
	creating = false;
	return !FSAL_IS_ERROR(*status);
}

const struct fsal_export *canfs_bottom(const struct fsal_export *export)
{
	while (export->sub_export)
		export = export->sub_export;
	return export;
}

/*
 * The file system's device, if files come from a local one; else 0. Looked up once, now: the
 * export path may hang later, and the market must not.
 */
dev_t canfs_local_device(const struct fsal_export *export)
{
	static const char *const local[] = { "VFS", "XFS" };
	const struct fsal_export *bottom = canfs_bottom(export);
	struct stat st;

	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		if (strcmp(bottom->fsal->name, local[i]) == 0 &&
			stat(CTX_FULLPATH(op_ctx), &st) == 0)
			return st.st_dev;
	}
	return 0;
}

/* Without one the export is served all the same, and publishes no prices. */
static struct canfs_price_table *open_price_table(
	const struct fsal_export *sub_export, const struct canfs_disk_options *own)
{
	struct canfs_price_table *prices = NULL;
	const char *path = CTX_FULLPATH(op_ctx);

	if (CANFS.sampler && canfs_price_table_open(&prices, CANFS.sampler, path,
				     canfs_local_device(sub_export), own) != 0)
		LogCrit(COMPONENT_FSAL, "CANFS: no memory: %s publishes no prices", path);
	return prices;
}

/* What is ours of an export. With op_ctx on it. */
static void open_ours(
	struct canfs_export *ours, void *parse_node, struct config_error_type *err_type)
{
	struct canfs_export_options own = { .prefetch = CANFS_PREFETCH_LOCAL };

	if (canfs_read_export_config(parse_node, &own, err_type) != 0)
		LogCrit(COMPONENT_FSAL,
			"CANFS: its FSAL { } block is wrong: %s publishes no prices",
			CTX_FULLPATH(op_ctx));
	else
		ours->prices = open_price_table(ours->export.sub_export, &own.disks);
	if (ours->prices)
		ours->responses = canfs_price_table_responses(ours->prices);
	canfs_serve_prices(ours);
	canfs_open_prefetch(ours, own.prefetch);
	canfs_set_delegations(ours, own.delegations);
	canfs_set_commit_metadata(ours);
}

fsal_status_t canfs_create_export(struct fsal_module *module, void *parse_node,
	struct config_error_type *err_type, const struct fsal_up_vector *up_ops)
{
	struct stack stack;
	struct canfs_export *ours; /* keeps the reference to sub until its release() */
	fsal_status_t status = fsalstat(ERR_FSAL_INVAL, EINVAL);
	struct fsal_module *sub = find_sub_fsal(parse_node, &stack, err_type);

	if (!sub)
		goto out;
	if (!create_sub_export(sub, stack.sub.fsal_node, err_type, up_ops, &status)) {
		LogCrit(COMPONENT_FSAL, "CANFS: FSAL %s could not create the export",
			stack.sub.name);
		fsal_put(sub);
		goto out;
	}

	ours = gsh_calloc(1, sizeof(*ours));
	ours->dir = -1;
	fsal_export_stack(op_ctx->fsal_export, &ours->export);
	fsal_export_init(&ours->export);
	export_ops_init(&ours->export.exp_ops);
	ours->export.up_ops = up_ops;
	ours->export.fsal = module;
	op_ctx->fsal_export = &ours->export;

	pthread_mutex_lock(&CANFS.config_mutex);
	open_ours(ours, parse_node, err_type);
	pthread_mutex_unlock(&CANFS.config_mutex);
out:
	gsh_free(stack.sub.name);
	return status;
}

/* What has changed in the export's options takes effect. */
static void update_ours(
	struct canfs_export *ours, void *parse_node, struct config_error_type *err_type)
{
	const char *path = CTX_FULLPATH(op_ctx);
	struct canfs_export_options own;
	int ret = canfs_reread_export_config(parse_node, &own, err_type);

	canfs_admit_anew(ours);
	canfs_set_commit_metadata(ours);
	if (ret == -ENOENT)
		return;
	if (ret == 0) {
		canfs_set_prefetch(ours, own.prefetch);
		canfs_set_delegations(ours, own.delegations);
	}
	if (!CANFS.sampler)
		return;
	if (!ours->prices)
		LogWarn(COMPONENT_FSAL,
			"CANFS: %s publishes no prices until the server is restarted", path);
	else if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS: the options of %s are wrong: it goes on as before",
			path);
	else if (canfs_price_table_change(ours->prices, &own.disks, canfs_now_usec()) > 0)
		LogEvent(COMPONENT_FSAL, "CANFS: the new disk options of %s hold now", path);
}

/*
 * SIGHUP: is the stack still the same, and what does the sub-FSAL say? Ganesha takes away an export whose
 * update fails. What is wrong below us is said, and the export goes on as it was.
 */
fsal_status_t canfs_update_export(struct fsal_module *module, void *parse_node,
	struct config_error_type *err_type, struct fsal_export *original,
	struct fsal_module *updated_super)
{
	struct canfs_export *ours = container_of(original, struct canfs_export, export);
	struct config_error_type errors = { .fp = err_type->fp };
	struct stack stack;
	struct fsal_module *sub;
	fsal_status_t below = fsalstat(ERR_FSAL_INVAL, EINVAL);
	fsal_status_t status = update_export(module, parse_node, err_type, original, updated_super);

	/* It may be another FSAL's that shall become ours. */
	if (FSAL_IS_ERROR(status))
		return status;
	canfs_recall_before_change();
	pthread_mutex_lock(&CANFS.config_mutex);
	canfs_reload(ours, parse_node, err_type);
	sub = find_sub_fsal(parse_node, &stack, &errors);
	if (sub) {
		below = sub->m_ops.update_export(
			sub, stack.sub.fsal_node, &errors, original->sub_export, module);
		fsal_put(sub);
	}
	if (FSAL_IS_ERROR(below))
		LogCrit(COMPONENT_FSAL,
			"CANFS: the FSAL block of %s is wrong, or cannot change: it goes on as "
			"before",
			CTX_FULLPATH(op_ctx));
	else
		update_ours(ours, parse_node, err_type);
	pthread_mutex_unlock(&CANFS.config_mutex);
	gsh_free(stack.sub.name);
	return status;
}
