/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READs in Ganesha: prefetched, and delayed while their pages are being fetched
 * (prefetch/prefetcher.h).
 */
#ifndef CANFS_GANESHA_FSAL_READ_READ_H
#define CANFS_GANESHA_FSAL_READ_READ_H

#include <stdatomic.h>

#include "ganesha-fsal/stack/feature.h"
#include "ganesha-fsal/read/prefetch/prefetcher.h"
#include "ganesha-fsal/read/prefetch/remote.h"

/* The options of the CANFS { } block. */
struct canfs_read_options {
	bool prefetch;
	uint32_t files;
	uint32_t scheduler; /* options.c */
	uint32_t lag_kib;
	struct canfs_prefetcher_config prefetcher; /* derived from the options */
};
extern struct config_item canfs_read_items[], canfs_read_export_items[];
extern const struct canfs_retired_option canfs_read_retired[];
bool canfs_read_settle(void *options);

/* The options of an export's FSAL { } block: 1 or 0, each. */
struct canfs_read_export_options {
	uint32_t prefetch, prefetch_given;
};

/* NULL: nothing is prefetched. */
extern struct canfs_prefetcher *canfs_prefetcher;

/* The read feature's part of an export. */
struct canfs_export_reads {
	struct canfs_export_fs *export_fs; /* NULL: it has no local disk to prefetch from */
	_Atomic bool prefetches;
	_Atomic(struct canfs_remote *) remote; /* NULL: no read-ahead through the sub-FSAL */
};

/* Never NULL. op_ctx must be on the export. */
static inline struct canfs_export_reads *canfs_reads_here(void)
{
	return canfs_export_here()->part[CANFS_FEATURE_READ];
}

/* delayed_reads.c */
void canfs_make_read(struct canfs_io_call *call);

/*
 * remote_reads.c. canfs_open_remote() returns 0 or -errno. files: how many active files the table
 * holds.
 */
int canfs_open_remote(struct canfs_export_reads *reads, const char *path, uint32_t files);

/* A client reads. op_ctx must be on our export. Does nothing if the export has no `remote`. */
void canfs_read_ahead_remotely(struct canfs_export_reads *reads, struct fsal_obj_handle *handle,
	uint64_t offset, uint64_t bytes);
void canfs_remote_file_changed(
	struct canfs_export_reads *reads, struct fsal_obj_handle *handle, uint64_t from_offset);

#endif
