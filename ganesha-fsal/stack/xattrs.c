// SPDX-License-Identifier: LGPL-3.0-or-later
/* Extended attributes: Ganesha's own interface, and below it that of NFSv4.2 (RFC 8276). */
#include "ganesha-fsal/stack/stack.h"

static fsal_status_t list_ext_attrs(struct fsal_obj_handle *handle, unsigned int cookie,
	fsal_xattrent_t *table, unsigned int table_size, unsigned int *returned, int *end_of_list)
{
	return PASS(handle, list_ext_attrs, cookie, table, table_size, returned, end_of_list);
}

static fsal_status_t get_id_by_name(
	struct fsal_obj_handle *handle, const char *name, unsigned int *id)
{
	return PASS(handle, getextattr_id_by_name, name, id);
}

static fsal_status_t get_value_by_name(struct fsal_obj_handle *handle, const char *name,
	void *buffer, size_t size, size_t *output_size)
{
	return PASS(handle, getextattr_value_by_name, name, buffer, size, output_size);
}

static fsal_status_t get_value_by_id(struct fsal_obj_handle *handle, unsigned int id, void *buffer,
	size_t size, size_t *output_size)
{
	return PASS(handle, getextattr_value_by_id, id, buffer, size, output_size);
}

static fsal_status_t set_value(
	struct fsal_obj_handle *handle, const char *name, void *buffer, size_t size, int create)
{
	return PASS(handle, setextattr_value, name, buffer, size, create);
}

static fsal_status_t set_value_by_id(
	struct fsal_obj_handle *handle, unsigned int id, void *buffer, size_t size)
{
	return PASS(handle, setextattr_value_by_id, id, buffer, size);
}

static fsal_status_t remove_by_id(struct fsal_obj_handle *handle, unsigned int id)
{
	return PASS(handle, remove_extattr_by_id, id);
}

static fsal_status_t remove_by_name(struct fsal_obj_handle *handle, const char *name)
{
	return PASS(handle, remove_extattr_by_name, name);
}

static fsal_status_t get_xattr(struct fsal_obj_handle *handle, xattrkey4 *name, xattrvalue4 *value)
{
	return PASS(handle, getxattrs, name, value);
}

static fsal_status_t set_xattr(struct fsal_obj_handle *handle, setxattr_option4 option,
	xattrkey4 *name, xattrvalue4 *value)
{
	return PASS(handle, setxattrs, option, name, value);
}

static fsal_status_t remove_xattr(struct fsal_obj_handle *handle, xattrkey4 *name)
{
	return PASS(handle, removexattrs, name);
}

static fsal_status_t list_xattrs(struct fsal_obj_handle *handle, count4 max_count,
	nfs_cookie4 *cookie, bool_t *eof, xattrlist4 *names)
{
	return PASS(handle, listxattrs, max_count, cookie, eof, names);
}

void canfs_xattr_ops_init(struct fsal_obj_ops *ops)
{
	ops->list_ext_attrs = list_ext_attrs;
	ops->getextattr_id_by_name = get_id_by_name;
	ops->getextattr_value_by_name = get_value_by_name;
	ops->getextattr_value_by_id = get_value_by_id;
	ops->setextattr_value = set_value;
	ops->setextattr_value_by_id = set_value_by_id;
	ops->remove_extattr_by_id = remove_by_id;
	ops->remove_extattr_by_name = remove_by_name;
	ops->getxattrs = get_xattr;
	ops->setxattrs = set_xattr;
	ops->removexattrs = remove_xattr;
	ops->listxattrs = list_xattrs;
}
