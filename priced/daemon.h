/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The daemon's threads:
 *
 *	main thread      signals, the watchdog, the status line
 *	exports thread   rereads the lists of exports (export_list.h); may block on a file system
 *	market thread    samples and computes prices (server/market/sampler.h)
 *	service thread   answers clients and pushes prices (server/price-service/price_service.h)
 *	control thread   answers canfsctl server (server/control/control.h)
 *
 * The daemon changes nothing in the NFS server, which goes on unaffected however the daemon ends.
 */
#ifndef CANFS_PRICED_DAEMON_H
#define CANFS_PRICED_DAEMON_H

#include "priced/config.h"

/*
 * Runs until SIGTERM or SIGINT. SIGHUP rereads file and updates *config. Returns 0, or -errno if
 * the daemon could not start.
 */
int canfs_priced_run(struct canfs_priced_config *config, const char *file);

#endif
