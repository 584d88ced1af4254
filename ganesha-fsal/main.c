// SPDX-License-Identifier: LGPL-3.0-or-later
/* The module: registration, configuration, and the life of the sampler. */
#include "ganesha-fsal/canfs_methods.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "common/clock.h"

/* Ganesha looks for libfsal<name in lower case>.so. */
static const char name[] = "CANFS";

/* What a file system can do is asked of the sub-FSAL, per export; this allows all of it. */
struct canfs_module CANFS = {
	.module.fs_info = {
		.maxfilesize = UINT64_MAX,
		.maxlink = _POSIX_LINK_MAX,
		.maxnamelen = 1024,
		.maxpathlen = 1024,
		.no_trunc = true,
		.chown_restricted = true,
		.case_insensitive = false,
		.case_preserving = true,
		.link_support = true,
		.symlink_support = true,
		.lock_support = true,
		.lock_support_async_block = false,
		.named_attr = true,
		.unique_handles = true,
		.acl_support = FSAL_ACLSUPPORT_ALLOW,
		.cansettime = true,
		.homogenous = true,
		.supported_attrs = ALL_ATTRIBUTES,
		.maxread = FSAL_MAXIOSIZE,
		.maxwrite = FSAL_MAXIOSIZE,
		.umask = 0,
		.auth_exportpath_xdev = false,
		.link_supports_permission_checks = true,
		.expire_time_parent = -1,
	},
};

/*
 * Pmax and weights are no part of canfs_sampler_config, where 0 is the default. As there, what the
 * block says as before (NULL: at the start) stays as it was set since. Did anything change?
 */
static bool change_scale(const struct canfs_config *before, const struct canfs_config *now)
{
	struct canfs_settings found, wanted;
	bool changed = before == NULL || now->pmax != before->pmax;

	canfs_sampler_settings(CANFS.sampler, &found);
	wanted = found;
	if (changed)
		wanted.pmax = now->pmax;
	for (int i = 0; i < CANFS_RESOURCES; i++) {
		if (before != NULL && now->weight[i] == before->weight[i])
			continue;
		wanted.weight[i] = now->weight[i];
		changed = true;
	}
	return changed && canfs_sampler_set(CANFS.sampler, &found, &wanted) == 0;
}

/* Called once, after the server has forked into the background: threads may be started here. */
static fsal_status_t init_config(
	struct fsal_module *module, config_file_t file, struct config_error_type *err_type)
{
	struct canfs_config *config = &CANFS.config;
	int error = canfs_read_config(file, config, err_type);

	if (error == 0) {
		canfs_reads_open(config->ghost_memory_bytes);
		config->sampler.setup.ghosts = CANFS.ghosts;
		error = canfs_sampler_new(&CANFS.sampler, &config->sampler);
	}
	if (error == 0) {
		(void)change_scale(NULL, config);
		error = canfs_sampler_start(CANFS.sampler);
	}
	if (error != -EINVAL)
		canfs_start_prefetcher(config);
	/* Files are served all the same. */
	if (error == -EINVAL)
		LogCrit(COMPONENT_FSAL, "CANFS publishes no prices: the CANFS { } block is wrong");
	else if (error != 0)
		LogCrit(COMPONENT_FSAL, "CANFS publishes no prices: %s", strerror(-error));
	else
		canfs_start_control(config->control_path);
	display_fsinfo(module);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/* What is allocated at the start, and used by all workers, stays. Only the monitor of memory asks for ghosts. */
static bool needs_restart(const struct canfs_config *running, const struct canfs_config *now)
{
	bool wants_ghosts = (now->sampler.monitors & 1u << CANFS_MEMORY) != 0;

	return (wants_ghosts && running->ghost_memory_bytes != now->ghost_memory_bytes) ||
	       strcmp(running->control_path, now->control_path) != 0;
}

/* Takes over what was read, but for what goes on as it was started. */
static void keep(struct canfs_config *config)
{
	gsh_free(config->control_path);
	config->control_path = CANFS.config.control_path;
	config->ghost_memory_bytes = CANFS.config.ghost_memory_bytes;
	CANFS.config = *config;
}

/*
 * Ganesha tells us of each export that it updates, not of the whole. But all of them still have the number of the
 * configuration that was before, and none comes twice.
 */
static bool is_same_reload(struct canfs_export *export)
{
	uint64_t replaced = op_ctx->ctx_export->config_gen;
	bool same = export->reload != CANFS.reload && CANFS.replaced == replaced;

	if (!same)
		CANFS.reload++;
	CANFS.replaced = replaced;
	export->reload = CANFS.reload;
	return same;
}

/* False: something is wrong with it, or waits for a restart, and this was said. */
static bool take_over(struct canfs_config *config)
{
	bool changed = change_scale(&CANFS.config, config);
	bool holds = !needs_restart(&CANFS.config, config);
	bool prefetch_holds = canfs_reload_prefetcher(&CANFS.config, config);

	if (canfs_sampler_reload(CANFS.sampler, &config->sampler, canfs_now_usec()) > 0 || changed)
		LogEvent(COMPONENT_FSAL, "CANFS: what has changed in CANFS { } holds now");
	if (!holds)
		LogWarn(COMPONENT_FSAL,
			"CANFS: a new Control_Socket or Ghost_Memory needs a restart");
	if (!prefetch_holds)
		LogWarn(COMPONENT_FSAL,
			"CANFS: a new Scheduler_Depth, Lag_Kib, Prefetch_Files or "
			"Prefetch_Open_Files, and the first Prefetch, need a restart");
	keep(config);
	return holds && prefetch_holds;
}

void canfs_reload(struct canfs_export *export, struct config_error_type *err_type)
{
	struct canfs_config config;
	int error;

	/* Whatever was said need not be said of each export. */
	if (is_same_reload(export) && CANFS.warned)
		return;
	error = canfs_reread_config(&config, err_type);
	CANFS.warned = error != -ENOENT;
	if (error == -ENOENT)
		return;
	if (error != 0) {
		LogCrit(COMPONENT_FSAL, "CANFS goes on as before: the CANFS { } block is wrong");
	} else if (CANFS.sampler == NULL) {
		LogWarn(COMPONENT_FSAL, "CANFS publishes no prices until the server is restarted");
		gsh_free(config.control_path);
	} else {
		CANFS.warned = !take_over(&config);
	}
}

/*
 * Is the server's library the one this was built for? Structures may differ between releases that have the
 * same FSAL version, and Ganesha does not tell its release but in the name of its library.
 */
static bool server_is_ours(void)
{
	Dl_info library = { 0 };
	const char *file;

	if (dladdr((void *)register_fsal, &library) == 0 || library.dli_fname == NULL)
		return false;
	file = strrchr(library.dli_fname, '/');
	file = file != NULL ? file + 1 : library.dli_fname;
	if (strcmp(file, CANFS_GANESHA_LIBRARY) == 0)
		return true;
	/* Not LogCrit, which is made of other symbols in other releases. */
	DisplayLogComponentLevel(COMPONENT_FSAL, __FILE__, __LINE__, __func__, NIV_CRIT,
		"CANFS was built for %s, and this is %s: not used", CANFS_GANESHA_LIBRARY, file);
	return false;
}

/*
 * On another release nothing may be touched but the symbols used here, which all have. Ganesha refuses an
 * FSAL of version 0, and of the exports only those that name it are lost.
 */
MODULE_INIT void canfs_load(void)
{
	struct fsal_module *module = &CANFS.module;
	uint32_t major = server_is_ours() ? FSAL_MAJOR_VERSION : 0;

	if (register_fsal(module, name, major, FSAL_MINOR_VERSION, FSAL_ID_NO_PNFS) != 0) {
		fprintf(stderr, "CANFS: the FSAL could not be registered\n");
		return;
	}
	module->m_ops.create_export = canfs_create_export;
	module->m_ops.update_export = canfs_update_export;
	module->m_ops.init_config = init_config;
	canfs_handle_ops_init(&CANFS.handle_ops);
}

/* Runs after a failed registration too, and without init_config having been called. */
MODULE_FINI void canfs_unload(void)
{
	canfs_stop_control();
	canfs_stop_prefetcher();
	canfs_sampler_free(CANFS.sampler);
	CANFS.sampler = NULL;
	if (CANFS.module.name == NULL)
		return; /* refused: the server may see another structure */
	if (unregister_fsal(&CANFS.module) != 0) {
		/* exit(3) runs this beside workers that still read: what they feed must stay. */
		fprintf(stderr, "CANFS: the FSAL could not be unregistered\n");
		return;
	}
	if (CANFS.prefetcher != NULL)
		return; /* so must what those feed that a disk has not let go */
	canfs_ghosts_free(CANFS.ghosts);
	CANFS.ghosts = NULL;
	gsh_free(CANFS.config.control_path);
	CANFS.config.control_path = NULL;
}
