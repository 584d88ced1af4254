/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Raw NFSv3 to a server of the lab, through libnfs: mounting, looking up, and waiting for replies.
 * Jobs send all other calls themselves and limit their number.
 *
 * Functions return 0 or -errno. `failed` holds a message about the first failure.
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
	bool udp;                /* set before connecting; calls are not retransmitted */
	struct rpc_context *rpc; /* NULL: not connected */
	const char *failed;      /* NULL: no failure; else failure, so do not copy this */
	char failure[128];
	/* of the call being waited for */
	struct canfs_nfs3_handle *wanted;
	bool done;
};

/* Stores a copy of the first failure's message, since libnfs overwrites its own. */
void canfs_nfs3_fail(struct canfs_nfs3 *nfs, const char *what);

/* Gets the handle of an export, through a separate connection. */
int canfs_nfs3_mount(struct canfs_nfs3 *nfs, const char *path, struct canfs_nfs3_handle *root);

int canfs_nfs3_connect(struct canfs_nfs3 *nfs);
void canfs_nfs3_disconnect(struct canfs_nfs3 *nfs); /* allowed at any time */

/* Looks up a name and waits for the reply. */
int canfs_nfs3_look_up(struct canfs_nfs3 *nfs, const struct canfs_nfs3_handle *dir, char *name,
	struct canfs_nfs3_handle *found);

/* Waits for events and runs the callbacks. */
int canfs_nfs3_serve(struct canfs_nfs3 *nfs);
int canfs_nfs3_serve_any(struct canfs_nfs3 *nfs, unsigned int connections); /* nfs: an array */

/* Copies the handle from a reply. Fails if it is too long. */
void canfs_nfs3_take(
	struct canfs_nfs3 *nfs, struct canfs_nfs3_handle *handle, const struct nfs_fh3 *from);

/* For use in a call; points into *handle. */
struct nfs_fh3 canfs_nfs3_fh(const struct canfs_nfs3_handle *handle);

#endif
