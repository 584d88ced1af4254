// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Loaded into NFS-Ganesha (LD_PRELOAD): while the file CANFS_LATE_WRITES is there, a request with data is begun after the next one of
 * the same connection, as if its thread had got no CPU. If none comes, after a second.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include <rpc/types.h>
#include <rpc/rpc.h>
#include <rpc/svc.h>
#include <rpc/svc_auth.h>
#include <rpc/xdr_ioq.h>

#define LATE_USEC   20000 /* the other has ended by then */
#define CHECK_USEC  2000
#define MOST_CHECKS 500
#define DATA_BYTES  16384 /* of a request; others have less */
#define CONNECTIONS 1024  /* two that share a slot may end each other's wait */

static unsigned int others_begun[CONNECTIONS]; /* requests without data */

static size_t bytes_of(const struct svc_req *request)
{
	struct poolq_entry *entry;
	size_t bytes = 0;

	TAILQ_FOREACH (entry, &XIOQ(request->rq_xdrs)->ioq_uv.uvqh.qh, q)
		bytes += ioquv_length(IOQ_(entry));
	return bytes;
}

static void wait_for_another(const unsigned int *begun)
{
	unsigned int at_first = __atomic_load_n(begun, __ATOMIC_RELAXED);

	for (int checks = 0; checks < MOST_CHECKS; checks++) {
		if (__atomic_load_n(begun, __ATOMIC_RELAXED) != at_first) {
			usleep(LATE_USEC);
			return;
		}
		usleep(CHECK_USEC);
	}
}

/* The first that is called with a request. */
enum auth_stat svc_auth_authenticate(struct svc_req *request, bool *no_dispatch)
{
	enum auth_stat (*next)(struct svc_req *, bool *) =
		dlsym(RTLD_NEXT, "svc_auth_authenticate");
	const char *switched_on = getenv("CANFS_LATE_WRITES");
	unsigned int *begun = &others_begun[(unsigned int)request->rq_xprt->xp_fd % CONNECTIONS];

	if (bytes_of(request) < DATA_BYTES)
		__atomic_fetch_add(begun, 1, __ATOMIC_RELAXED);
	else if (switched_on && access(switched_on, F_OK) == 0)
		wait_for_another(begun);
	return next(request, no_dispatch);
}
