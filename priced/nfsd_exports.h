/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Parses the exports of the kernel's NFS server, as the kernel and exportfs(8) list them. No I/O:
 * text in, plain data out.
 *
 *	/proc/fs/nfsd/exports               PATH <tab> CLIENT(OPTIONS) ...   what clients use now
 *	/var/lib/nfs/etab                   the same                         all exports
 *	/proc/net/rpc/auth.unix.ip/content  nfsd ADDRESS DOMAIN              the domain of each client
 *
 * A CLIENT is an address, a network, "*", or a name. A name is a host name, a wildcard pattern or a
 * netgroup. Names are not resolved here. mountd has resolved them for each address that has used
 * the server, and the kernel caches the result. The domain of an address is the list of all CLIENTs
 * that match it.
 */
#ifndef CANFS_PRICED_NFSD_EXPORTS_H
#define CANFS_PRICED_NFSD_EXPORTS_H

#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define CANFS_NFSD_CLIENT_MAX                                                                      \
	1024 /* bytes of a CLIENT or domain, NUL included; the kernel uses the same limit */

/* An export of one path to one client. */
struct canfs_nfsd_export {
	char path[PATH_MAX]; /* with its escapes decoded */
	char client[CANFS_NFSD_CLIENT_MAX];
	bool insecure;  /* clients may use any port; else only privileged ports */
	bool is_root;   /* fsid=0: the root of NFSv4 */
	bool is_v4root; /* v4root: only leads to exports below it, has no files of its own */
};

struct canfs_nfsd_cursor {
	const char *text; /* the rest of the text */
	bool in_line;     /* more clients of the same path may follow */
};

/*
 * Gets the next export. First set cursor->text to the whole text. A path with several clients is
 * returned once for each. The caller must keep *export unchanged between calls. Returns false at
 * the end. Comments, invalid lines and truncated lines are skipped.
 */
bool canfs_nfsd_next_export(struct canfs_nfsd_cursor *cursor, struct canfs_nfsd_export *export);

/*
 * Gets the domain of an address from the content of auth.unix.ip. Returns false if the kernel does
 * not know the address (yet, or any more); domain is "" then.
 */
bool canfs_nfsd_find_domain(
	const char *text, const struct in6_addr *address, char domain[CANFS_NFSD_CLIENT_MAX]);

/* Returns true if the address matches this CLIENT. domain: of the address; "": not known. */
bool canfs_nfsd_is_client(const char *client, const struct in6_addr *address, const char *domain);

/* Returns true if a domain is needed to match this CLIENT. */
bool canfs_nfsd_has_name(const char *client);

#endif
