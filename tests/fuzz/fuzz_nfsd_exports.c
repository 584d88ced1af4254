// SPDX-License-Identifier: LGPL-3.0-or-later
/* What the kernel's server exports to whom: only exports that are whole come out, and nobody unknown is a client. */
#include "tests/fuzz/text.h"

#include "common/path.h"
#include "server/price-service/export_path.h"
#include "priced/nfsd_exports.h"

static void check_client(const struct canfs_nfsd_export *export, const char *domain)
{
	struct in6_addr address = IN6ADDR_LOOPBACK_INIT;
	bool is_client = canfs_nfsd_is_client(export->client, &address, "");

	FUZZ_CHECK(!is_client || !canfs_nfsd_has_name(export->client));
	/* To be known makes nobody a stranger. */
	FUZZ_CHECK(!is_client || canfs_nfsd_is_client(export->client, &address, domain));
	if (!strchr(export->client, ','))
		FUZZ_CHECK(canfs_nfsd_is_client(export->client, &address, export->client));
}

/* The resolved path is plain, and below the root. */
static void check_path(const char *name, const char *nfs_root)
{
	char resolved[PATH_MAX];

	if (canfs_export_path_resolve(NULL, "", nfs_root, name, resolved) != 0)
		return;
	FUZZ_CHECK(canfs_export_path_is_plain(resolved));
	FUZZ_CHECK(canfs_path_is_below(resolved, nfs_root[0] != '\0' ? nfs_root : "/"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct canfs_nfsd_export export;
	const struct in6_addr address = IN6ADDR_LOOPBACK_INIT;
	char *text = fuzz_text(data, size);
	struct canfs_nfsd_cursor cursor = { .text = text };
	char domain[CANFS_NFSD_CLIENT_MAX];
	bool is_known = canfs_nfsd_find_domain(text, &address, domain);

	FUZZ_CHECK(is_known == (domain[0] != '\0'));
	FUZZ_CHECK(strlen(domain) < CANFS_NFSD_CLIENT_MAX);
	while (canfs_nfsd_next_export(&cursor, &export)) {
		FUZZ_CHECK(export.path[0] == '/' && strlen(export.path) < PATH_MAX);
		FUZZ_CHECK(export.client[0] != '\0');
		FUZZ_CHECK(strlen(export.client) < CANFS_NFSD_CLIENT_MAX);
		FUZZ_CHECK(canfs_path_is_below(export.path, "/"));
		FUZZ_CHECK(canfs_path_is_below(export.path, export.path));
		check_client(&export, domain);
		check_path(export.path, "");
		check_path(export.path, "/srv/nfs");
	}
	free(text);
	return 0;
}
