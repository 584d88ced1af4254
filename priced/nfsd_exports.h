/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the kernel's NFS server exports to whom, as it and exportfs(8) write it. Pure: text in, plain data out.
 *
 *	/proc/fs/nfsd/exports               PATH <tab> CLIENT(OPTIONS) ...   what clients use now
 *	/var/lib/nfs/etab                   the same                         all that there is
 *	/proc/net/rpc/auth.unix.ip/content  nfsd ADDRESS DOMAIN              who a client was taken for
 *
 * A CLIENT is an address, a network, "*", or a name of whatever kind: of a host, with wildcards, of a netgroup. Names are
 * not resolved here. That mountd has done, for each address that has used the server, and the kernel remembers it: the
 * address's domain is the list of all the CLIENTs that it is.
 */
#ifndef CANFS_PRICED_NFSD_EXPORTS_H
#define CANFS_PRICED_NFSD_EXPORTS_H

#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define CANFS_NFSD_CLIENT_MAX                                                                      \
	1024 /* bytes of a CLIENT or domain, NUL included; the kernel's are as long */

/* An export to one client. */
struct canfs_nfsd_export {
	char path[PATH_MAX]; /* without its escapes */
	char client[CANFS_NFSD_CLIENT_MAX];
	bool insecure;  /* to any port; else to privileged ones only */
	bool is_root;   /* fsid=0: NFSv4 begins there */
	bool is_v4root; /* v4root: to lead to the exports below it, with no files of its own */
};

struct canfs_nfsd_cursor {
	const char *text; /* what is left of it */
	bool in_line;     /* of a path that more clients follow */
};

/*
 * The next export in cursor->text, which is set to the whole text first. A path with several clients comes once for each.
 * *export is kept by the caller from call to call. False: there is none left. Comments, and what is no export, or
 * torn, are passed over.
 */
bool canfs_nfsd_next_export(struct canfs_nfsd_cursor *cursor, struct canfs_nfsd_export *export);

/*
 * Who the address was taken for, in the content of auth.unix.ip. False: the kernel does not know (yet, or any more);
 * domain is "" then.
 */
bool canfs_nfsd_find_domain(
	const char *text, const struct in6_addr *address, char domain[CANFS_NFSD_CLIENT_MAX]);

/* Is the address this CLIENT of an export? domain: who it was taken for; "": not known. */
bool canfs_nfsd_is_client(const char *client, const struct in6_addr *address, const char *domain);

/* Does it take the domain to know who is this CLIENT? */
bool canfs_nfsd_has_name(const char *client);

#endif
