// SPDX-License-Identifier: LGPL-3.0-or-later
/* The module: registration, and start and end of the features. */
#include "ganesha-fsal/stack/allocator.h"
#include "ganesha-fsal/stack/feature.h"
#include "ganesha-fsal/stack/update.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Ganesha loads libfsal<name in lower case>.so. */
static const char name[] = "CANFS";

/* Called once, after the server has forked into the background: threads may be started here. */
static fsal_status_t init_config(
	struct fsal_module *module, config_file_t file, struct config_error_type *err_type)
{
	canfs_start(file, err_type);
	display_fsinfo(module);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/*
 * Returns true if the server's library is the one that the plugin was built for, and uses the main
 * program's allocator. Structures may differ between releases that have the same FSAL version.
 * Ganesha's release is known only from the name of its library.
 */
static bool server_is_ours(void)
{
	Dl_info library = { 0 };
	const char *file;

	if (dladdr((void *)register_fsal, &library) == 0 || !library.dli_fname)
		return false;
	file = strrchr(library.dli_fname, '/');
	file = file ? file + 1 : library.dli_fname;
	/* Not LogCrit, which uses other symbols in other releases. */
	if (strcmp(file, CANFS_GANESHA_LIBRARY) != 0)
		DisplayLogComponentLevel(COMPONENT_FSAL, __FILE__, __LINE__, __func__, NIV_CRIT,
			"CANFS was built for %s, but this is %s: CANFS is disabled",
			CANFS_GANESHA_LIBRARY, file);
	else if (!canfs_library_has_server_allocator(library.dli_fname))
		DisplayLogComponentLevel(COMPONENT_FSAL, __FILE__, __LINE__, __func__, NIV_CRIT,
			"CANFS is disabled: no FSAL below it works with the preloaded allocator "
			"(LD_PRELOAD)");
	else
		return true;
	return false;
}

/*
 * On another release, only the symbols used here may be touched; all releases have them. Ganesha
 * refuses an FSAL of version 0, and only the exports that name CANFS are lost.
 */
MODULE_INIT void canfs_module_load(void)
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

/* Also runs after a failed registration, and if init_config was never called. */
MODULE_FINI void canfs_module_unload(void)
{
	CANFS_TELL_BACK(stop);
	if (!CANFS.module.name)
		return; /* refused: the server's structure may differ */
	if (unregister_fsal(&CANFS.module) != 0) {
		/*
		 * exit(3) runs this while workers still read. The data that they report to must
		 * stay.
		 */
		fprintf(stderr, "CANFS: the FSAL could not be unregistered\n");
		return;
	}
	if (CANFS_ANY(is_busy))
		return; /* reads that hang on a disk still report to it */
	CANFS_TELL_BACK(end);
	canfs_forget_options();
}
