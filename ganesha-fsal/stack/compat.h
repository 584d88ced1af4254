/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Ganesha's headers, and all differences between its releases. Only this file tests
 * FSAL_MAJOR_VERSION.
 *
 *	Ganesha  FSAL  difference
 *	 4.3      11   the release that the code is written for;
 *	               counts the delegations of a file only to find conflicts: COMPAT_OWN_CONFLICTS
 *	 6.5      13   pre and post attributes of the parent; free_state moved into the state;
 *	               fsal_obj_handle_init/fini take a flag; items that may be given several times
 *	               (CONF_ITEM_PROC, CONF_ITEM_BLOCK) have other names;
 *	               the buffers of an fsal_io_arg are no longer part of it; init_op_context takes
 *	               the request; descriptors are in a list that must be empty at the end
 *	 9.14     14   readlink takes a UTF-8 string, readdir modes of an export; LogCrit and similar
 *	               macros use symbols of their own; if another client has a write delegation of
 *	               a file, GETATTR returns what that client reports (CB_GETATTR: size and times)
 *	               and no type, so to a Linux client the file does not exist
 */
#ifndef CANFS_GANESHA_FSAL_STACK_COMPAT_H
#define CANFS_GANESHA_FSAL_STACK_COMPAT_H

#include "config.h"
#include "fsal.h"
#include "fsal_api.h"
#include "fsal_convert.h"
#include "fsal_types.h"
#include "FSAL/fsal_commonlib.h"
#include "FSAL/fsal_config.h"
#include "FSAL/fsal_init.h"
#include "FSAL/fsal_localfs.h"
#include "config_parsing.h"
#include "export_mgr.h"
#include "log.h"

#if FSAL_MAJOR_VERSION < 11
#error "canfs needs NFS-Ganesha 4.3 or later"
#endif

#if FSAL_MAJOR_VERSION >= 13
#define COMPAT_FREE_STATE    0
#define COMPAT_OWN_CONFLICTS 0
#define COMPAT_ITEM_PROC     CONF_ITEM_PROC_MULT
#define COMPAT_ITEM_BLOCK    CONF_ITEM_BLOCK_MULT

/* Operations on a directory report how its attributes changed. */
#define COMPAT_PARENT_PARAMS                                                                       \
	, struct fsal_attrlist *parent_pre_attrs, struct fsal_attrlist *parent_post_attrs
#define COMPAT_PARENT_ARGS , parent_pre_attrs, parent_post_attrs
#define COMPAT_RENAME_PARAMS                                                                       \
	, struct fsal_attrlist *olddir_pre_attrs, struct fsal_attrlist *olddir_post_attrs,         \
		struct fsal_attrlist *newdir_pre_attrs, struct fsal_attrlist *newdir_post_attrs
#define COMPAT_RENAME_ARGS                                                                         \
	, olddir_pre_attrs, olddir_post_attrs, newdir_pre_attrs, newdir_post_attrs

#define compat_obj_handle_init(obj, export, type) fsal_obj_handle_init(obj, export, type, true)
#define compat_obj_handle_fini(obj)               fsal_obj_handle_fini(obj, true)
#define compat_set_iov(io, one)                   ((io)->iov = (one))
#define compat_init_op_context(context, gsh_export, fsal_export, caller, vers, minorvers)          \
	init_op_context(                                                                           \
		context, gsh_export, fsal_export, NULL, caller, vers, minorvers, UNKNOWN_REQUEST)
#define compat_close_given_up(handle) ((void)(handle)->obj_ops->close(handle))
#define compat_close_left(handle)     compat_close_given_up(handle)
#else
#define COMPAT_FREE_STATE    1
#define COMPAT_OWN_CONFLICTS 1
#define COMPAT_ITEM_PROC     CONF_ITEM_PROC
#define COMPAT_ITEM_BLOCK    CONF_ITEM_BLOCK
#define COMPAT_PARENT_PARAMS
#define COMPAT_PARENT_ARGS
#define COMPAT_RENAME_PARAMS
#define COMPAT_RENAME_ARGS

#define compat_obj_handle_init(obj, export, type) fsal_obj_handle_init(obj, export, type)
#define compat_obj_handle_fini(obj)               fsal_obj_handle_fini(obj)
#define compat_set_iov(io, one)                   ((io)->iov[0] = *(one))
#define compat_init_op_context(context, gsh_export, fsal_export, caller, vers, minorvers)          \
	init_op_context(context, gsh_export, fsal_export, caller, vers, minorvers, UNKNOWN_REQUEST)
#define compat_close_given_up(handle) ((void)(handle))
#define compat_close_left(handle)     ((void)fsal_close(handle))
#pragma weak open_fd_count /* fsal_close() counts in it; later releases do not */
#endif

#if FSAL_MAJOR_VERSION >= 14
#define COMPAT_DELEGATIONS 0
typedef utf8string compat_link_content;

/*
 * log.h of this release uses symbols that older releases lack. They are weak, so that older
 * releases can load the plugin, which then refuses to run.
 */
#pragma weak conditional_component_log_level
#pragma weak conditional_logging_configured
#pragma weak is_op_context_conditional_flag_set
#else
#define COMPAT_DELEGATIONS 1
typedef struct gsh_buffdesc compat_link_content;
#endif

#endif
