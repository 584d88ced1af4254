/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Raw NFSv3 to a server of the lab, through libnfs: mounting, looking up, and waiting for replies. What the
 * jobs send besides (and how much at a time) is their own affair.
 *
 * Functions return 0 or -errno; the first thing that went wrong, in words, is in `failed`.
 */
#ifndef CANFS_BENCH_JOBS_NFS3_H
#define CANFS_BENCH_JOBS_NFS3_H

#include <stdbool.h>
#include <sys/time.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#define CANFS_NFS3_HANDLE_MAX      64 /* NFS3_FHSIZE */
#define CANFS_NFS3_CONNECTIONS_MAX 64

struct canfs_nfs3_handle {
	unsigned int length;
	char bytes[CANFS_NFS3_HANDLE_MAX];
};

struct canfs_nfs3 {
	const char *server;
	bool udp;                /* set before connecting; there are no retransmissions */
	struct rpc_context *rpc; /* NULL: not connected */
	const char *failed;      /* NULL: nothing; else failure, so do not copy the struct */
	char failure[128];
	/* of a call that is waited for */
	struct canfs_nfs3_handle *wanted;
	bool done;
};

/* Remembers a copy of the first failure: what libnfs says of one is gone with the next. */
void canfs_nfs3_fail(struct canfs_nfs3 *nfs, const char *what);

/* The handle of an export, through a connection of its own. */
int canfs_nfs3_mount(struct canfs_nfs3 *nfs, const char *path, struct canfs_nfs3_handle *root);

int canfs_nfs3_connect(struct canfs_nfs3 *nfs);
void canfs_nfs3_disconnect(struct canfs_nfs3 *nfs); /* allowed at any time */

/* Waits for the reply. */
int canfs_nfs3_look_up(struct canfs_nfs3 *nfs, const struct canfs_nfs3_handle *dir, char *name,
	struct canfs_nfs3_handle *found);

/* Waits until something comes, and calls what is to be called for it. */
int canfs_nfs3_serve(struct canfs_nfs3 *nfs);
int canfs_nfs3_serve_any(struct canfs_nfs3 *nfs, unsigned int connections); /* of an array */

/* From a reply: fails if it is too long. */
void canfs_nfs3_take(
	struct canfs_nfs3 *nfs, struct canfs_nfs3_handle *handle, const struct nfs_fh3 *from);

/* For a call; it points into *handle. */
struct nfs_fh3 canfs_nfs3_fh(const struct canfs_nfs3_handle *handle);

#endif
