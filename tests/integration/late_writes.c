// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Loaded into NFS-Ganesha (LD_PRELOAD): while the file CANFS_LATE_WRITES is there, a request with data, which has been received, is begun 20 ms
 * later, as if its thread had got no CPU. What the client has sent after it overtakes it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
#include <rpc/types.h>
#include <rpc/rpc.h>
#include <rpc/svc.h>
#include <rpc/svc_auth.h>
#include <rpc/xdr_ioq.h>

#define LATE_USEC  20000
#define DATA_BYTES 16384 /* of a request; others have less */

static size_t bytes_of(const struct svc_req *request)
{
	struct poolq_entry *entry;
	size_t bytes = 0;

	TAILQ_FOREACH (entry, &XIOQ(request->rq_xdrs)->ioq_uv.uvqh.qh, q)
		bytes += ioquv_length(IOQ_(entry));
	return bytes;
}

/* The first that is called with a request. */
enum auth_stat svc_auth_authenticate(struct svc_req *request, bool *no_dispatch)
{
	enum auth_stat (*next)(struct svc_req *, bool *) =
		dlsym(RTLD_NEXT, "svc_auth_authenticate");
	const char *switched_on = getenv("CANFS_LATE_WRITES");

	if (bytes_of(request) >= DATA_BYTES && switched_on && access(switched_on, F_OK) == 0)
		usleep(LATE_USEC);
	return next(request, no_dispatch);
}
