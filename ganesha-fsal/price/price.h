/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Prices in Ganesha: they are computed (server/market), sent in replies and by the price service,
 * and depend on the client's class.
 */
#ifndef CANFS_GANESHA_FSAL_PRICE_PRICE_H
#define CANFS_GANESHA_FSAL_PRICE_PRICE_H

#include "ganesha-fsal/stack/feature.h"
#include "server/classes/names.h"
#include "server/classes/shared_classes.h"
#include "server/clients/clients.h"
#include "server/control/control.h"
#include "server/market/sampler.h"
#include "server/monitors/ghosts.h"
#include "server/price-service/price_service.h"
#include "server/waiting/waiting.h"

/*
 * The CANFS { } block: the members that Ganesha's parser fills in, and below them the values
 * derived from them.
 */
struct canfs_price_options {
	bool publish;
	uint32_t monitors, known_monitors;
	uint32_t disk_read_queue, disk_write_queue;
	uint32_t k_disk;
	uint32_t pmax_percent;
	char *control_socket; /* "": none */
	uint16_t price_port;  /* UDP; 0: no price service */
	struct canfs_monitor_setup setup;
	struct canfs_classes classes; /* with the addresses of names that were looked up */
	struct canfs_names *names;    /* looks names up while parsing; NULL: they are left out */

	struct canfs_sampler_config sampler;
	double pmax; /* as in struct canfs_settings */
};
struct canfs_price_export_options {
	uint32_t disk_read_queue, disk_write_queue, k; /* 0: as the server's */
};
extern struct config_item canfs_price_items[], canfs_price_export_items[];
extern const struct canfs_retired_option canfs_price_retired[];
void canfs_price_prepare(void *options, bool names);
bool canfs_price_settle(void *options);
void canfs_price_forget(void *options);

/* Objects that exist once in the server. */
struct canfs_pricing {
	const struct canfs_price_options *options;
	struct canfs_sampler *sampler;       /* NULL: nothing is published */
	struct canfs_ghosts *ghosts;         /* NULL: reads are not tracked */
	struct canfs_control *control;       /* NULL: no socket */
	struct canfs_clients *clients;       /* NULL: clients are not counted */
	struct canfs_waiting *waiting;       /* NULL: waiting is not tracked */
	struct canfs_price_service *service; /* NULL: no price service */
	struct canfs_admissions *admissions; /* to its prices; NULL: no price service */
	struct canfs_shared_classes classes; /* of clients */
};
extern struct canfs_pricing canfs_pricing;

/* This feature's part of an export. */
struct canfs_export_prices {
	struct canfs_price_table *table;
	struct canfs_responses *responses; /* of the table */
	struct canfs_served *served;       /* NULL: unknown to the price service */
};

/* NULL: the export publishes no prices. */
static inline struct canfs_export_prices *canfs_prices_of(const struct canfs_export *export)
{
	return export->part[CANFS_FEATURE_PRICE];
}

/* control.c. Starts the control socket at path. Logs the reason if that fails. */
void canfs_start_control(const char *path);
void canfs_stop_control(void);

/* service.c. Logs the reason if the price service cannot start. */
void canfs_start_price_service(uint16_t port); /* 0: no price service */
void canfs_stop_price_service(void);
/* Sets the servers that may get prices as our peers. From any thread. */
void canfs_set_peers(const struct canfs_monitor_setup *setup);

/*
 * The price service answers for the export from canfs_serve_prices() to canfs_unserve_prices(), by
 * its current names. canfs_admit_anew() forgets which clients were admitted. Needs op_ctx on the
 * export.
 */
void canfs_serve_prices(struct canfs_export_prices *prices);
void canfs_admit_anew(const struct canfs_export_prices *prices);
void canfs_unserve_prices(struct canfs_export_prices *prices);

/*
 * Called for a reply about the export's space: Ganesha has admitted the client of op_ctx to the
 * export.
 */
void canfs_note_admitted(const struct canfs_export_prices *prices);

/* classes.c. Replaces the classes. Blocks only for replies that are being made. */
void canfs_set_classes(const struct canfs_classes *classes);

/* Adds the premium of op_ctx's client to the export's prices. Runs in the data path. */
void canfs_add_premium(struct canfs_price_table *table, struct canfs_tag *tag);

/* True: the client of op_ctx is in a class that pays a premium. */
bool canfs_client_steps_aside(void);

/* clients.c. canfs_close_clients() also ends the sampler. */
void canfs_open_clients(void);
void canfs_close_clients(void);
double canfs_others_in_flight(void);
void canfs_measure_clients(void);

/*
 * Called after each step of the sampler, in its thread. Updates which clients make which clients
 * wait.
 */
void canfs_step_waiting(uint64_t now_usec);

/* Hooks that count the operations of clients in flight. */
fsal_status_t canfs_begin_read(struct canfs_op *op);
fsal_status_t canfs_end_read(struct canfs_op *op, fsal_status_t status);
fsal_status_t canfs_begin_write(struct canfs_op *op);
fsal_status_t canfs_begin_commit(struct canfs_op *op);
fsal_status_t canfs_end_write(struct canfs_op *op, fsal_status_t status); /* or COMMIT */
void canfs_note_fetched(struct canfs_op *op, uint64_t bytes);

/* ghosts.c. Reports an answered read to the ghost caches. */
void canfs_open_ghosts(void);
void canfs_note_read(const struct canfs_op *op);

#endif
