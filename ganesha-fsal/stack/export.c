// SPDX-License-Identifier: LGPL-3.0-or-later
/* Exports: their operations, and their creation, update and release. */
#include "ganesha-fsal/stack/feature.h"
#include "ganesha-fsal/stack/options.h"
#include "ganesha-fsal/stack/update.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

/* Held while an export is made or updated: SIGHUP and DBus use different threads. */
static pthread_mutex_t config_mutex = PTHREAD_MUTEX_INITIALIZER;

static fsal_status_t get_fs_dynamic_info(
	struct fsal_export *export, struct fsal_obj_handle *handle, fsal_dynamicfsinfo_t *info)
{
	struct canfs_op op = { .kind = CANFS_OP_SPACE, .handle = handle, .space = info };
	fsal_status_t status;

	/*
	 * Ganesha's NFSv4 sends this struct even after an error, and the struct is uninitialized
	 * stack memory.
	 */
	*info = (fsal_dynamicfsinfo_t) { .total_bytes = 0 };
	status = canfs_before(&op);
	if (FSAL_IS_ERROR(status))
		return status;
	return canfs_after(&op, PASS_EXPORT(export, get_fs_dynamic_info, canfs_sub(handle), info));
}

/* At shutdown there may be no op_ctx. */
static void release(struct fsal_export *export)
{
	struct canfs_export *ours = container_of(export, struct canfs_export, export);
	struct fsal_module *sub_fsal = export->sub_export->fsal;

	CANFS_TELL_BACK(export_ends, ours);
	PASS_EXPORT_VOID(export, release);
	fsal_put(sub_fsal);
	fsal_detach_export(export->fsal, &export->exports);
	free_export_ops(export);
	gsh_free(ours);
}

static void prepare_unexport(struct fsal_export *export)
{
	/* Reads that wait for their pages must be answered while the export still exists. */
	CANFS_TELL_BACK(drain, container_of(export, struct canfs_export, export));
	PASS_EXPORT_VOID(export, prepare_unexport);
}

static bool fs_supports(struct fsal_export *export, fsal_fsinfo_options_t option)
{
	return CANFS_ANY(supports, export, option) || PASS_EXPORT(export, fs_supports, option);
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
	CANFS_TELL(verify, verifier);
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
		CANFS_TELL(named, desc);
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
	.blk_desc.flags = CONFIG_RELAX, /* options.c reads the rest */
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
 * Finds the FSAL named in our block, with one reference. Returns NULL after logging the reason. The
 * caller frees stack->sub.name in both cases.
 */
static struct fsal_module *find_sub_fsal(
	void *parse_node, struct stack *stack, struct config_error_type *err_type)
{
	struct fsal_module *sub;

	*stack = (struct stack) { .sub.name = NULL };
	if (load_config_from_node(parse_node, &stack_block, stack, true, err_type) != 0)
		return NULL;
	if (!stack->sub.name) {
		LogCrit(COMPONENT_FSAL,
			"CANFS needs an inner FSAL block, such as FSAL { Name = VFS; }");
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

/*
 * Returns false if the sub-FSAL failed, or if the stack contains CANFS again, below another FSAL.
 */
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
 * Returns the file system's device if files come from a local one, else 0. Call it only while an
 * export begins or changes: the export path may hang later, and the market must not.
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

static void begin(struct canfs_export *ours, void *parse_node, struct config_error_type *err_type)
{
	struct canfs_options own = { 0 };
	bool is_wrong = canfs_read_export_options(parse_node, &own, err_type) != 0;

	if (is_wrong)
		LogCrit(COMPONENT_FSAL,
			"CANFS: the FSAL { } block is wrong: using the defaults for %s",
			CTX_FULLPATH(op_ctx));
	for (int i = 0; i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->export_begins)
			canfs_features[i]->export_begins(ours, is_wrong ? NULL : own.part[i]);
	}
	canfs_free_export_options(&own);
}

fsal_status_t canfs_create_export(struct fsal_module *module, void *parse_node,
	struct config_error_type *err_type, const struct fsal_up_vector *up_ops)
{
	struct stack stack;
	struct canfs_export *ours; /* holds the reference to sub until its release() */
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
	fsal_export_stack(op_ctx->fsal_export, &ours->export);
	fsal_export_init(&ours->export);
	export_ops_init(&ours->export.exp_ops);
	ours->export.up_ops = up_ops;
	ours->export.fsal = module;
	op_ctx->fsal_export = &ours->export;

	pthread_mutex_lock(&config_mutex);
	begin(ours, parse_node, err_type);
	pthread_mutex_unlock(&config_mutex);
out:
	gsh_free(stack.sub.name);
	return status;
}

/* Applies changed options of the export. */
static void change(struct canfs_export *ours, void *parse_node, struct config_error_type *err_type)
{
	struct canfs_options own = { 0 };
	int ret = canfs_reread_export_options(parse_node, &own, err_type);

	if (ret == -EINVAL)
		LogCrit(COMPONENT_FSAL, "CANFS: the options of %s are wrong: it goes on as before",
			CTX_FULLPATH(op_ctx));
	for (int i = 0; i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->export_changes)
			canfs_features[i]->export_changes(ours, ret == 0 ? own.part[i] : NULL);
	}
	canfs_free_export_options(&own);
}

/*
 * SIGHUP: checks that the stack is still the same, and updates the sub-FSAL. Ganesha removes an
 * export whose update fails. An error below us is therefore only logged, and the export goes on as
 * before.
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

	/* `original` may belong to another FSAL and be about to become ours. */
	if (FSAL_IS_ERROR(status))
		return status;
	CANFS_TELL(before_update);
	pthread_mutex_lock(&config_mutex);
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
		change(ours, parse_node, err_type);
	pthread_mutex_unlock(&config_mutex);
	gsh_free(stack.sub.name);
	return status;
}
