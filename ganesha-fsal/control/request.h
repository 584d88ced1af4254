/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The commands of this server's control socket (common/control/); control.md is their manual. */
#ifndef CANFS_GANESHA_FSAL_CONTROL_REQUEST_H
#define CANFS_GANESHA_FSAL_CONTROL_REQUEST_H

#include "ganesha-fsal/control/clients.h"
#include "server/market/sampler.h"
#include "server/price-service/price_service.h"
#include "ganesha-fsal/prefetch/prefetcher.h"
#include "common/control/request.h"

/* What there is to show and to change. */
struct canfs_control_subject {
	struct canfs_sampler *sampler;
	struct canfs_clients *clients;
	struct canfs_control_counters *counters;
	canfs_say *say;                            /* told of every change */
	struct canfs_prefetcher *prefetcher;       /* NULL: there is none */
	struct canfs_price_service *price_service; /* likewise */
};

/* Answers about the subject, which must outlive it. */
struct canfs_control_service canfs_control_service(const struct canfs_control_subject *subject);

/* From here: for the commands only. */

canfs_control_run canfs_control_prices, canfs_control_history, canfs_control_clients,
	canfs_control_show_counters, canfs_control_show_config, canfs_control_set,
	canfs_control_prefetch, canfs_control_scheduler;

static inline const struct canfs_control_subject *canfs_control_subject_of(
	const struct canfs_control_call *call)
{
	return call->subject;
}

/* What canfs_control_set() takes: the table's names, NULL at its end. */
extern const char *const canfs_control_set_members[];

#endif
