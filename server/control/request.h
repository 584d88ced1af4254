/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The commands of every server's control socket (common/control/). Their manual is control.md. */
#ifndef CANFS_SERVER_CONTROL_REQUEST_H
#define CANFS_SERVER_CONTROL_REQUEST_H

#include "server/classes/shared_classes.h"
#include "server/clients/clients.h"
#include "server/market/sampler.h"
#include "server/price-service/price_service.h"
#include "server/waiting/waiting.h"
#include "common/control/request.h"

/* The objects that the commands show and change. */
struct canfs_control_subject {
	struct canfs_sampler *sampler;
	struct canfs_clients *clients;        /* NULL: clients are not counted */
	struct canfs_waiting *waiting;        /* NULL: waiting is not measured */
	struct canfs_shared_classes *classes; /* NULL: there are no classes */
	struct canfs_control_counters *counters;
	canfs_say *say;                            /* logs every change */
	struct canfs_price_service *price_service; /* NULL: no price service */
	const struct canfs_control_command *more;  /* commands of this server only; NULL: none */
	void *host;                                /* passed to them */
	uint64_t started_usec;                     /* start of the server, by common/clock.h */
	void (*count)(json_t *counters); /* adds counters of this server only; NULL: none */
};

/* The service that runs these commands on the subject. The subject must outlive it. */
struct canfs_control_service canfs_control_service(const struct canfs_control_subject *subject);

/* For the implementations of the commands only: */

canfs_control_run canfs_control_prices, canfs_control_history, canfs_control_clients,
	canfs_control_who, canfs_control_show_counters, canfs_control_show_config,
	canfs_control_set;

static inline const struct canfs_control_subject *canfs_control_subject_of(
	const struct canfs_control_call *call)
{
	return call->subject;
}

/* The members that canfs_control_set() takes, ended by NULL. */
extern const char *const canfs_control_set_members[];

#endif
