/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The commands that the control socket of every server has (common/control/); control.md is their manual. */
#ifndef CANFS_SERVER_CONTROL_REQUEST_H
#define CANFS_SERVER_CONTROL_REQUEST_H

#include "server/classes/shared_classes.h"
#include "server/clients/clients.h"
#include "server/market/sampler.h"
#include "server/price-service/price_service.h"
#include "server/waiting/waiting.h"
#include "common/control/request.h"

/* What there is to show and to change. */
struct canfs_control_subject {
	struct canfs_sampler *sampler;
	struct canfs_clients *clients;        /* NULL: nobody counts them */
	struct canfs_waiting *waiting;        /* NULL: nobody knows who waits for whom */
	struct canfs_shared_classes *classes; /* of clients; NULL: there are none */
	struct canfs_control_counters *counters;
	canfs_say *say;                            /* told of every change */
	struct canfs_price_service *price_service; /* NULL: there is none */
	const struct canfs_control_command *more;  /* commands of this server only; NULL: none */
	void *host;                                /* for them */
	uint64_t started_usec;                     /* the server, by the clock of common/clock.h */
	void (*count)(json_t *counters);           /* adds those of this server only; NULL: none */
};

/* Answers about the subject, which must outlive it. */
struct canfs_control_service canfs_control_service(const struct canfs_control_subject *subject);

/* From here: for the commands only. */

canfs_control_run canfs_control_prices, canfs_control_history, canfs_control_clients,
	canfs_control_who, canfs_control_show_counters, canfs_control_show_config,
	canfs_control_set;

static inline const struct canfs_control_subject *canfs_control_subject_of(
	const struct canfs_control_call *call)
{
	return call->subject;
}

/* What canfs_control_set() takes: the table's names, NULL at its end. */
extern const char *const canfs_control_set_members[];

#endif
