/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the targets for text share: input as a string, and checks that end the run. */
#ifndef CANFS_TESTS_FUZZ_TEXT_H
#define CANFS_TESTS_FUZZ_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A string of exactly the input's size, so that a sanitizer sees a read beyond it. To be freed. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#endif
