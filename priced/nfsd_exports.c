// SPDX-License-Identifier: LGPL-3.0-or-later
#include "priced/nfsd_exports.h"

#include <stdlib.h>
#include <string.h>
#include "common/address.h"
#include "common/unescape.h"

/* Returns true if word is in the comma-separated list text[0 ... len). */
static bool in_list(const char *text, size_t len, const char *word, size_t word_len)
{
	for (const char *end = text + len; text <= end;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		size_t here = (size_t)((comma ? comma : end) - text);

		if (here == word_len && memcmp(text, word, here) == 0)
			return true;
		text += here + 1;
	}
	return false;
}

static bool has_option(const char *options, size_t len, const char *name)
{
	return in_list(options, len, name, strlen(name));
}

static void pass_line(struct canfs_nfsd_cursor *cursor)
{
	cursor->text += strcspn(cursor->text, "\n");
	cursor->text += *cursor->text == '\n';
	cursor->in_line = false;
}

/* Gets the path at the start of a line, and moves the cursor past it. */
static bool take_path(struct canfs_nfsd_cursor *cursor, struct canfs_nfsd_export *export)
{
	size_t len = strcspn(cursor->text, " \t\n");

	if (cursor->text[0] != '/' ||
		canfs_unescape(cursor->text, len, export->path, sizeof(export->path)) != 0)
		return false;
	cursor->text += len;
	cursor->in_line = true;
	return true;
}

/* Gets CLIENT(OPTIONS), and moves the cursor past it. */
static bool take_client(struct canfs_nfsd_cursor *cursor, struct canfs_nfsd_export *export)
{
	const char *client = cursor->text + strspn(cursor->text, " \t");
	size_t client_len = strcspn(client, "( \t\n");
	const char *options = client + client_len + 1;
	size_t options_len;

	if (client[client_len] != '(' || client_len == 0)
		return false;
	options_len = strcspn(options, ")\n");
	if (options[options_len] != ')' ||
		canfs_unescape(client, client_len, export->client, sizeof(export->client)) != 0)
		return false;
	export->insecure = has_option(options, options_len, "insecure");
	export->is_root = has_option(options, options_len, "fsid=0");
	export->is_v4root = has_option(options, options_len, "v4root");
	cursor->text = options + options_len + 1;
	return true;
}

bool canfs_nfsd_next_export(struct canfs_nfsd_cursor *cursor, struct canfs_nfsd_export *export)
{
	while (*cursor->text != '\0') {
		if ((cursor->in_line || take_path(cursor, export)) && take_client(cursor, export))
			return true;
		pass_line(cursor);
	}
	return false;
}

static struct in6_addr mask_of(unsigned int bits)
{
	struct in6_addr mask = IN6ADDR_ANY_INIT;

	for (unsigned int bit = 0; bit < bits; bit++)
		mask.s6_addr[bit / 8] = (uint8_t)(mask.s6_addr[bit / 8] | 0x80 >> bit % 8);
	return mask;
}

/* Parses the part of a network after the slash: "24", "64" or "255.255.255.0". */
static bool parse_mask(const char *text, size_t len, bool is_ipv4, struct in6_addr *mask)
{
	const unsigned int above = is_ipv4 ? 96 : 0;
	unsigned int bits = 0;
	bool mask_is_ipv4;

	if (canfs_parse_address(text, len, mask, &mask_is_ipv4)) {
		if (mask_is_ipv4)
			memset(mask, 0xff, above / 8);
		return mask_is_ipv4 == is_ipv4;
	}
	if (len == 0 || len > 3)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		bits = bits * 10 + (unsigned int)(text[i] - '0');
	}
	if (above + bits > 128)
		return false;
	*mask = mask_of(above + bits);
	return true;
}

static bool is_within(
	const struct in6_addr *address, const struct in6_addr *network, const struct in6_addr *mask)
{
	for (size_t i = 0; i < sizeof(address->s6_addr); i++) {
		if ((address->s6_addr[i] ^ network->s6_addr[i]) & mask->s6_addr[i])
			return false;
	}
	return true;
}

/* Parses an address or a network. mountd writes "$ADDRESS" for an address that is a domain. */
static bool parse_network(const char *client, size_t len, struct in6_addr *network,
	struct in6_addr *mask, bool *is_ipv4)
{
	const char *slash;

	*mask = mask_of(128);
	if (len > 0 && *client == '$') {
		client++;
		len--;
	}
	slash = memchr(client, '/', len);
	if (!slash)
		return canfs_parse_address(client, len, network, is_ipv4);
	return canfs_parse_address(client, (size_t)(slash - client), network, is_ipv4) &&
	       parse_mask(slash + 1, len - (size_t)(slash + 1 - client), *is_ipv4, mask);
}

static bool is_everybody(const char *client, size_t len)
{
	return len == 1 && *client == '*';
}

static bool covers(const char *client, size_t len, const struct in6_addr *address)
{
	const struct in6_addr plain = canfs_with_scope(address, 0);
	struct in6_addr network, mask;
	uint32_t scope;
	bool is_ipv4;

	if (is_everybody(client, len))
		return true;
	/* No IPv6 network contains an IPv4 address, not even ::/0. */
	if (!parse_network(client, len, &network, &mask, &is_ipv4) ||
		is_ipv4 != !!IN6_IS_ADDR_V4MAPPED(address))
		return false;
	scope = canfs_scope_of(&network);
	network = canfs_with_scope(&network, 0);
	return (scope == 0 || scope == canfs_scope_of(address)) &&
	       is_within(&plain, &network, &mask);
}

bool canfs_nfsd_is_client(const char *client, const struct in6_addr *address, const char *domain)
{
	/*
	 * The kernel's clients are domains. An address is in a domain if it matches every CLIENT in
	 * it.
	 */
	for (;;) {
		size_t len = strcspn(client, ",");

		if (len == 0 || (!covers(client, len, address) &&
					!in_list(domain, strlen(domain), client, len)))
			return false;
		if (client[len] == '\0')
			return true;
		client += len + 1;
	}
}

bool canfs_nfsd_has_name(const char *client)
{
	struct in6_addr network, mask;
	bool is_ipv4;

	for (;;) {
		size_t len = strcspn(client, ",");

		if (!is_everybody(client, len) &&
			!parse_network(client, len, &network, &mask, &is_ipv4))
			return true;
		if (client[len] == '\0')
			return false;
		client += len + 1;
	}
}

/* Returns the next word of a line, and moves *text past it. */
static const char *next_word(const char **text, size_t *len)
{
	const char *word = *text + strspn(*text, " ");

	*len = strcspn(word, " \n");
	*text = word + *len;
	return word;
}

/* nfsd ADDRESS DOMAIN */
static bool is_domain_of(
	const char *line, const struct in6_addr *address, char domain[CANFS_NFSD_CLIENT_MAX])
{
	struct in6_addr here;
	const char *word;
	bool is_ipv4;
	size_t len;

	word = next_word(&line, &len);
	if (len != 4 || memcmp(word, "nfsd", 4) != 0)
		return false;
	word = next_word(&line, &len);
	if (!canfs_parse_address(word, len, &here, &is_ipv4) || !canfs_is_same_host(&here, address))
		return false;
	word = next_word(&line, &len);
	/* A truncated last line has no newline. */
	if (len == 0 || len >= CANFS_NFSD_CLIENT_MAX || *line == '\0')
		return false;
	memcpy(domain, word, len);
	domain[len] = '\0';
	return true;
}

bool canfs_nfsd_find_domain(
	const char *text, const struct in6_addr *address, char domain[CANFS_NFSD_CLIENT_MAX])
{
	while (*text != '\0') {
		if (is_domain_of(text, address, domain))
			return true;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	domain[0] = '\0';
	return false;
}
