// SPDX-License-Identifier: LGPL-3.0-or-later
/* Words of Clients, one a line: a network that prints as what it is, a name, or an error; and classes in their bounds. */
#include "tests/fuzz/text.h"

#include "server/classes/classes.h"

static void find(void *arg, const char *name, struct canfs_classes *classes)
{
	(void)arg;
	(void)classes;
	FUZZ_CHECK(name[0] != '\0' && strlen(name) <= 256);
}

/* Printed and read again, it is the same; and its own address is in it. */
static void check_network(const struct canfs_network *network)
{
	struct canfs_classes classes = { .count = 0 };
	char text[CANFS_NETWORK_TEXT_MAX], error[CANFS_CLASS_ERROR_MAX];
	enum canfs_client_word word;
	struct canfs_network again;
	const char *allowed;

	FUZZ_CHECK(network->bits <= 128);
	FUZZ_CHECK(canfs_client_parse(
			   canfs_network_print(network, text), &word, &again, &allowed) == 0);
	FUZZ_CHECK(word == CANFS_WORD_NETWORK && again.is_all == network->is_all);
	FUZZ_CHECK(again.bits == network->bits);
	FUZZ_CHECK(IN6_ARE_ADDR_EQUAL(&again.address, &network->address));
	FUZZ_CHECK(canfs_classes_add_network(&classes, network) == 0);
	FUZZ_CHECK(canfs_classes_end(&classes, "a", 0, error) == 0);
	if (network->bits != 0 || network->is_all)
		FUZZ_CHECK(canfs_classes_find(&classes, &network->address) == classes.list);
}

static void check_word(const char *text)
{
	enum canfs_client_word word;
	struct canfs_network network;
	const char *allowed = NULL;

	if (canfs_client_parse(text, &word, &network, &allowed) != 0)
		FUZZ_CHECK(allowed);
	else if (word == CANFS_WORD_NETWORK)
		check_network(&network);
	else
		FUZZ_CHECK((text[0] == '@') == (word == CANFS_WORD_NETGROUP));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *rest = text, *line;
	char error[CANFS_CLASS_ERROR_MAX];
	struct canfs_classes classes = { .count = 0 };

	while ((line = strsep(&rest, "\n"))) {
		check_word(line);
		/* A line with an exclamation mark ends a class. */
		if (line[0] == '!')
			(void)canfs_classes_end(&classes, line + 1, (int)strlen(line), error);
		else
			(void)canfs_classes_add_word(&classes, line, find, NULL, error);
		FUZZ_CHECK(classes.count <= CANFS_CLASSES_MAX);
		FUZZ_CHECK(classes.network_count <= CANFS_CLASS_NETWORKS_MAX);
	}
	free(text);
	return 0;
}
