/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A server's market after three seconds with a half-busy processor, and its control requests, text
 * to text.
 */
#ifndef CANFS_TESTS_CONTROL_SCENE_H
#define CANFS_TESTS_CONTROL_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/control/request.h"
#include "tests/unit/fake_root.h"

#define SEC UINT64_C(1000000)

static struct fake_root root;
static struct canfs_sampler *sampler;
static struct canfs_price_table *prices;
static struct canfs_control_counters counters;
static struct canfs_control_subject subject;
static uint64_t now_usec;
static char said[1024];

static inline void say(const char *message)
{
	snprintf(said, sizeof(said), "%s", message);
}

/* User and idle ticks since boot. */
static inline void cpu(unsigned int user, unsigned int idle)
{
	char text[128];

	snprintf(text, sizeof(text), "cpu %u 0 0 %u 0 0 0 0 0 0\n", user, idle);
	fake_root_write(&root, "/proc/stat", text);
}

static inline int set_up(void **state)
{
	struct canfs_sampler_config config = {
		.interval_ms = 100, .publish = true, .monitors = 1u << CANFS_CPU, .say = say
	};

	(void)state;
	fake_root_make(&root);
	config.setup.root = root.path;
	cpu(0, 0);
	said[0] = '\0';
	counters = (struct canfs_control_counters) { 0 };
	if (canfs_sampler_new(&sampler, &config) != 0 ||
		canfs_price_table_open(&prices, sampler, "/srv/data", 0, NULL) != 0)
		return -1;
	subject = (struct canfs_control_subject) { .sampler = sampler,
		.clients = canfs_clients_new(),
		.counters = &counters,
		.say = say };
	/* Half of the processor is busy for three seconds. */
	for (unsigned int second = 0; second <= 3; second++) {
		now_usec = (100 + second) * SEC;
		cpu(1000 + second * 50, 1000 + second * 50);
		canfs_sampler_step(sampler, now_usec);
	}
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	canfs_clients_free(subject.clients);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
	fake_root_remove(&root);
	return 0;
}

static inline json_t *ask(const char *request)
{
	struct canfs_control_time now = { now_usec, 1800000000.5 };
	struct canfs_control_service service = canfs_control_service(&subject);
	char *text = canfs_control_respond(&service, request, strlen(request), now);
	json_t *reply;

	assert_non_null(text);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	reply = json_loads(text, 0, NULL);
	assert_non_null(reply);
	free(text);
	return reply;
}

static inline json_t *must(const char *request)
{
	json_t *reply = ask(request);

	assert_true(json_is_true(json_object_get(reply, "ok")));
	return reply;
}

/* The request must be refused, and the error must contain this text. */
static inline void refused(const char *request, const char *of)
{
	json_t *reply = ask(request);
	const char *error = json_string_value(json_object_get(reply, "error"));

	assert_true(json_is_false(json_object_get(reply, "ok")));
	assert_non_null(error);
	if (!strstr(error, of))
		fail_msg("'%s' is answered '%s', without '%s'", request, error, of);
	json_decref(reply);
}

#endif
