// SPDX-License-Identifier: LGPL-3.0-or-later
/* The module: registration, configuration, and the life of the sampler. */
#include "ganesha-fsal/allocator.h"
#include "ganesha-fsal/canfs_methods.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Ganesha looks for libfsal<name in lower case>.so. */
static const char name[] = "CANFS";

/* Called once, after the server has forked into the background: threads may be started here. */
static fsal_status_t init_config(
	struct fsal_module *module, config_file_t file, struct config_error_type *err_type)
{
	struct canfs_fsal_config *config = &CANFS.config;
	int ret = canfs_read_config(file, config, err_type);

	if (ret == 0) {
		canfs_reads_open(config->ghost_memory_bytes);
		config->sampler.setup.ghosts = CANFS.ghosts;
		config->sampler.stepped = canfs_step_waiting;
		ret = canfs_sampler_new(&CANFS.sampler, &config->sampler);
	}
	if (ret == 0) {
		canfs_set_classes(&config->classes);
		canfs_set_peers(&config->sampler.setup);
		(void)canfs_change_scale(NULL, config);
		canfs_open_clients();
		ret = canfs_sampler_start(CANFS.sampler);
	}
	if (ret != -EINVAL)
		canfs_start_prefetcher(config);
	/* Files are served all the same. */
	if (ret == -EINVAL)
		LogCrit(COMPONENT_FSAL, "CANFS publishes no prices: the CANFS { } block is wrong");
	else if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS publishes no prices: %s", strerror(-ret));
	else {
		canfs_start_price_service(config->price_port);
		canfs_start_control(config->control_path);
	}
	display_fsinfo(module);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/*
 * Is the server's library the one this was built for? Structures may differ between releases that have the
 * same FSAL version, and Ganesha does not tell its release but in the name of its library.
 */
static bool server_is_ours(void)
{
	Dl_info library = { 0 };
	const char *file;

	if (dladdr((void *)register_fsal, &library) == 0 || !library.dli_fname)
		return false;
	file = strrchr(library.dli_fname, '/');
	file = file ? file + 1 : library.dli_fname;
	/* Not LogCrit, which is made of other symbols in other releases. */
	if (strcmp(file, CANFS_GANESHA_LIBRARY) != 0)
		DisplayLogComponentLevel(COMPONENT_FSAL, __FILE__, __LINE__, __func__, NIV_CRIT,
			"CANFS was built for %s, and this is %s: not used", CANFS_GANESHA_LIBRARY,
			file);
	else if (!canfs_library_has_server_allocator(library.dli_fname))
		DisplayLogComponentLevel(COMPONENT_FSAL, __FILE__, __LINE__, __func__, NIV_CRIT,
			"CANFS is not used: no FSAL below it works with the preloaded allocator "
			"(LD_PRELOAD)");
	else
		return true;
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
	canfs_file_ops_init(&CANFS.handle_ops);
	canfs_xattr_ops_init(&CANFS.handle_ops);
}

/* Runs after a failed registration too, and without init_config having been called. */
MODULE_FINI void canfs_unload(void)
{
	canfs_stop_control();
	canfs_stop_price_service();
	canfs_stop_prefetcher();
	canfs_close_clients();
	if (!CANFS.module.name)
		return; /* refused: the server may see another structure */
	if (unregister_fsal(&CANFS.module) != 0) {
		/* exit(3) runs this beside workers that still read: what they report to must stay. */
		fprintf(stderr, "CANFS: the FSAL could not be unregistered\n");
		return;
	}
	if (CANFS.prefetcher)
		return; /* so must what those report to that a disk has not let go */
	canfs_close_delegations();
	canfs_shared_classes_free(&CANFS.classes);
	canfs_ghosts_free(CANFS.ghosts);
	CANFS.ghosts = NULL;
	gsh_free(CANFS.config.control_path);
	CANFS.config.control_path = NULL;
}
