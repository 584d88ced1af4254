/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The sidecar at work:
 *
 *	main thread      signals, the watchdog, one line of status
 *	exports thread   reads the lists of exports again (export_list.h); may have to wait for a file system
 *	market thread    samples and prices (server/market/sampler.h)
 *	service thread   answers and tells clients (server/price-service/price_service.h)
 *	control thread   answers canfsctl server (server/control/control.h)
 *
 * Nothing of the server is changed: it goes on as before when all of this ends, however it does.
 */
#ifndef CANFS_PRICED_DAEMON_H
#define CANFS_PRICED_DAEMON_H

#include "priced/config.h"

/* Runs until SIGTERM or SIGINT. config changes with SIGHUP; file is read then. 0, or -errno: it did not come to run. */
int canfs_priced_run(struct canfs_priced_config *config, const char *file);

#endif
