// SPDX-License-Identifier: LGPL-3.0-or-later
/* The module: registration, configuration, and the life of the exchange. */
#include "ganesha-fsal/canfs_methods.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

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

/* Called once, after the server has forked into the background: threads may be started here. */
static fsal_status_t init_config(
	struct fsal_module *module, config_file_t file, struct config_error_type *err_type)
{
	struct canfs_exchange_config config;
	size_t ghost_memory_bytes;
	int error = canfs_read_config(file, &config, &ghost_memory_bytes, err_type);

	if (error == 0) {
		canfs_reads_open(ghost_memory_bytes);
		config.setup.ghosts = CANFS.ghosts;
		error = canfs_exchange_new(&CANFS.exchange, &config);
	}
	if (error == 0)
		error = canfs_exchange_start(CANFS.exchange);
	/* Files are served all the same. */
	if (error == -EINVAL)
		LogCrit(COMPONENT_FSAL, "CANFS publishes no prices: the CANFS { } block is wrong");
	else if (error != 0)
		LogCrit(COMPONENT_FSAL, "CANFS publishes no prices: %s", strerror(-error));
	display_fsinfo(module);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

MODULE_INIT void canfs_load(void)
{
	struct fsal_module *module = &CANFS.module;

	if (register_fsal(module, name, FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION, FSAL_ID_NO_PNFS) !=
		0) {
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
	canfs_exchange_free(CANFS.exchange);
	CANFS.exchange = NULL;
	canfs_ghosts_free(CANFS.ghosts);
	CANFS.ghosts = NULL;
	if (unregister_fsal(&CANFS.module) != 0)
		fprintf(stderr, "CANFS: the FSAL could not be unregistered\n");
}
