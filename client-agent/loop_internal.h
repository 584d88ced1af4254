/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Internals of the loop: loop_observe.c reads the kernel's state, loop.c waits, bids and acts. */
#ifndef CANFS_CLIENT_AGENT_LOOP_INTERNAL_H
#define CANFS_CLIENT_AGENT_LOOP_INTERNAL_H

#include "client-agent/actuators/act.h"
#include "client-agent/auction/cache_worth.h"
#include "client-agent/bidders.h"
#include "client-agent/interfaces.h"
#include "client-agent/loop.h"
#include "client-agent/sampling.h"
#include "client-agent/status/server.h"

struct loop {
	struct canfs_agent_config *config;
	const struct canfs_loop_options *options;
	struct canfs_actors actors;
	struct canfs_mounts *mounts;
	struct canfs_mountstats
		*stats; /* stats[i] belongs to mounts->mount[i]; as of the last sample */
	uint64_t low_priority_bytes; /* likewise */
	uint64_t flushing_bytes;     /* as in the host state */
	struct canfs_sampling sampling;
	struct canfs_bidders bidders;
	struct canfs_interfaces interfaces;
	bool mounts_changed;
	bool guarded;
	struct canfs_cache_worth cache_worth;
	bool ending;
	bool hurrying;       /* a second signal: end without draining */
	uint64_t blind_usec; /* /proc could not be read since then; 0: it can be read */
	bool gave_up;        /* after a long time without /proc, everything was restored */
	bool told_cgroup[CANFS_CONFIG_LIST_MAX]; /* see canfs_unread_note() */
	bool told_vmstat;
	uint64_t now_usec; /* when poll(2) returned */
	uint64_t ticked_usec;
	unsigned int answers;    /* since then */
	uint64_t suspended_usec; /* time in suspend since boot, as of the last tick */
	uint64_t notified_usec;  /* see canfs_notify_alive() */
	uint64_t ended_usec;     /* when ending began */
	int mountinfo_fd;
	int signal_fd;
	struct canfs_status_server status_server;
};

/* Returns true if anything is paced: held with a known price, or being sent. */
bool canfs_loop_is_busy(const struct loop *loop);

/* Reads the kernel's state and updates each bidder. Returns 0, -EAGAIN if nothing has happened, or -errno. */
int canfs_loop_observe(struct loop *loop, struct canfs_host_state *host);

#endif
