// SPDX-License-Identifier: LGPL-3.0-or-later
/* Classes of clients: who is in which class, what they are told, and how classes change. */
#include "tests/unit/classes_scene.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "pricing/price.h"
#include "server/classes/shared_classes.h"

/* A class of these words, with blanks between them. Returns how many names were looked up. */
static unsigned int add(
	struct canfs_classes *classes, const char *name, int premium_pct, const char *words)
{
	char copy[256], *word, *rest = copy;
	unsigned int asked = 0;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((word = strtok_r(rest, " ", &rest)))
		assert_int_equal(
			canfs_classes_add_word(classes, word, find_name, &asked, error), 0);
	assert_int_equal(canfs_classes_end(classes, name, premium_pct, error), 0);
	return asked;
}

static void the_first_class_that_has_a_client_wins(void **state)
{
	struct canfs_classes classes = { .count = 0 };

	(void)state;
	assert_string_equal(class_of(&classes, "10.0.3.7"), "");
	add(&classes, "none", 1, "nobody.example");
	add(&classes, "one", 2, "10.0.3.7");
	add(&classes, "batch", 3, "10.0.3.0/24 fd00::/8 10.0.4.0/31");
	add(&classes, "empty", 4, "@nobody");
	add(&classes, "four", 5, "0.0.0.0/0");
	assert_string_equal(class_of(&classes, "10.0.3.7"), "one");
	assert_string_equal(class_of(&classes, "::ffff:10.0.3.7"), "one");
	assert_string_equal(class_of(&classes, "10.0.3.8"), "batch");
	assert_string_equal(class_of(&classes, "10.0.4.1"), "batch");
	assert_string_equal(class_of(&classes, "10.0.4.2"), "four");
	assert_string_equal(class_of(&classes, "fd00::7"), "batch");
	assert_string_equal(class_of(&classes, "fdff::7"), "batch");
	assert_string_equal(class_of(&classes, "fe00::7"), "");
	add(&classes, "six", 6, "::/0");
	add(&classes, "all", 7, "*");
	assert_string_equal(class_of(&classes, "10.9.9.9"), "four");
	assert_string_equal(class_of(&classes, "fe00::7"), "six");
	assert_string_equal(class_of(&classes, "::1"), "six");
	classes = (struct canfs_classes) { .count = 0 };
	add(&classes, "six", 6, "::/0");
	add(&classes, "all", 7, "*");
	assert_string_equal(class_of(&classes, "10.9.9.9"), "all");
	assert_string_equal(class_of(&classes, "fe00::7"), "six");
}

static void names_are_looked_up_once(void **state)
{
	struct canfs_classes classes = { .count = 0 };
	unsigned int asked = 0;

	(void)state;
	assert_int_equal(add(&classes, "batch", 30, "@group a.example 10.2.0.1"), 2);
	assert_int_equal(classes.network_count, 4); /* each once */
	assert_string_equal(class_of(&classes, "fd01::1"), "batch");
	assert_string_equal(class_of(&classes, "10.2.0.2"), "batch");
	assert_string_equal(class_of(&classes, "10.2.0.3"), "");
	/* Or not at all. */
	assert_int_equal(canfs_classes_add_word(&classes, "a.example", NULL, &asked, error), 0);
	assert_int_equal(classes.network_count, 4);
}

static void classes_are_bounded(void **state)
{
	struct canfs_classes classes = { .count = 0 };
	unsigned int asked = 0;
	char text[32];

	(void)state;
	for (unsigned int i = 0; i < CANFS_CLASSES_MAX; i++) {
		snprintf(text, sizeof(text), "class-%u", i);
		add(&classes, text, 0, "10.0.0.1");
	}
	assert_int_equal(canfs_classes_end(&classes, "more", 0, error), -ENOSPC);
	assert_string_equal(error, "class more: more than 16 classes");
	for (unsigned int i = CANFS_CLASSES_MAX; i < CANFS_CLASS_NETWORKS_MAX; i++) {
		snprintf(text, sizeof(text), "10.1.%u.1", i);
		assert_int_equal(canfs_classes_add_word(&classes, text, NULL, NULL, error), 0);
	}
	assert_int_equal(canfs_classes_add_word(&classes, "10.2.0.1", NULL, NULL, error), -ENOSPC);
	assert_string_equal(error, "10.2.0.1: more than 256 addresses and networks in all classes");
	/* What is there already needs no room. */
	assert_int_equal(canfs_classes_add_word(&classes, "10.1.16.1", NULL, NULL, error), 0);
	assert_int_equal(asked, 0);
}

static void wrong_classes_are_named(void **state)
{
	struct canfs_classes classes = { .count = 0 };

	(void)state;
	assert_int_equal(canfs_classes_end(&classes, "batch", 901, error), -EINVAL);
	assert_string_equal(error, "class batch: premium 901: not in -90 ... 900");
	assert_int_equal(canfs_classes_end(&classes, "batch", -91, error), -EINVAL);
	assert_int_equal(canfs_classes_end(&classes, "", 0, error), -EINVAL);
	assert_string_equal(error, "class : its name must have 1 to 31 letters, digits, . _ and -");
	assert_int_equal(canfs_classes_end(&classes, "a b", 0, error), -EINVAL);
	assert_int_equal(
		canfs_classes_end(&classes, "12345678901234567890123456789012", 0, error), -EINVAL);
	assert_int_equal(classes.count, 0);
	assert_int_equal(
		canfs_classes_end(&classes, "1234567890123456789012345678901", 900, error), 0);
	assert_int_equal(canfs_classes_end(&classes, "batch", -90, error), 0);
	assert_int_equal(canfs_classes_end(&classes, "batch", 0, error), -EINVAL);
	assert_string_equal(error, "class batch: this name is already in use");
}

static double told(int premium_pct, double price)
{
	struct canfs_tag tag = { .write = price, .readahead = price / 2, .bottleneck = CANFS_LOG };
	struct canfs_prices prices = { .quote = { { price, CANFS_LOG }, { price / 2, CANFS_CPU } },
		.age_usec = 7 };

	canfs_premium_to_tag(premium_pct, &tag);
	canfs_premium_to_prices(premium_pct, &prices);
	assert_true(prices.quote[CANFS_WRITE].price == tag.write);
	assert_true(prices.quote[CANFS_READAHEAD].price == tag.readahead);
	assert_true(tag.bottleneck == CANFS_LOG &&
		    prices.quote[CANFS_READAHEAD].bottleneck == CANFS_CPU && prices.age_usec == 7);
	return tag.write;
}

static void premiums_stay_within_prices(void **state)
{
	(void)state;
	assert_float_equal(told(30, 0.5), 0.65, 1e-6);
	assert_float_equal(told(-30, 0.5), 0.35, 1e-6);
	assert_true(told(0, 0.123) == 0.123);
	assert_true(told(900, 0) == 0);
	assert_float_equal(told(-90, CANFS_PRICE_MAX), 0.1, 1e-6);
	assert_true(told(900, 0.2) == CANFS_PRICE_MAX);
	assert_true(told(30, CANFS_PRICE_MAX) == CANFS_PRICE_MAX);
	/* While the server drains nobody has a discount. */
	assert_int_equal(canfs_premium_now(-30, true), 0);
	assert_int_equal(canfs_premium_now(-30, false), -30);
	assert_int_equal(canfs_premium_now(30, true), 30);
}

static int premium_of(struct canfs_shared_classes *shared, const char *text)
{
	struct sockaddr_in6 client = { .sin6_family = AF_INET6, .sin6_addr = address_of(text) };

	return canfs_shared_classes_premium(shared, (struct sockaddr *)&client);
}

static void classes_are_replaced(void **state)
{
	struct canfs_shared_classes shared = { .current = NULL };
	struct canfs_classes classes = { .count = 0 }, copy;
	struct sockaddr_in ipv4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000307) };
	struct sockaddr other = { .sa_family = AF_UNIX };

	(void)state;
	assert_int_equal(premium_of(&shared, "10.0.3.7"), 0);
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 0);
	assert_int_equal(canfs_shared_classes_changes(&shared), 0);
	add(&classes, "batch", 30, "10.0.3.0/24");
	add(&classes, "plain", 0, "10.0.4.0/24");
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 1);
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 0);
	assert_int_equal(canfs_shared_classes_changes(&shared), 1);
	assert_int_equal(premium_of(&shared, "10.0.3.7"), 30);
	assert_int_equal(canfs_shared_classes_premium(&shared, (struct sockaddr *)&ipv4), 30);
	assert_int_equal(canfs_shared_classes_premium(&shared, &other), 0);
	assert_int_equal(premium_of(&shared, "10.0.4.7"), 0);
	assert_int_equal(shared.told, 2);
	canfs_shared_classes_copy(&shared, &copy);
	assert_true(canfs_classes_are_same(&copy, &classes));
	classes.list[0].premium_pct = -30;
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 1);
	assert_int_equal(premium_of(&shared, "10.0.3.7"), -30);
	classes = (struct canfs_classes) { .count = 0 };
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 1);
	assert_int_equal(premium_of(&shared, "10.0.3.7"), 0);
	assert_int_equal(canfs_shared_classes_changes(&shared), 3);
	canfs_shared_classes_free(&shared);
}

static struct {
	struct canfs_shared_classes shared;
	_Atomic bool stop;
	_Atomic unsigned int looks;
} race;

static void *look_on(void *arg)
{
	(void)arg;
	while (!atomic_load(&race.stop)) {
		int premium_pct = premium_of(&race.shared, "10.0.3.7");

		/* All of one, or of the other. */
		if (premium_pct != 0 && premium_pct != 11 && premium_pct != 22)
			abort();
		atomic_fetch_add(&race.looks, 1);
		sched_yield();
	}
	return NULL;
}

/* Under ThreadSanitizer and AddressSanitizer: what a reader looks at is not freed. */
static void readers_are_not_disturbed(void **state)
{
	struct canfs_classes kinds[3] = { { .count = 0 } };
	pthread_t readers[3];
	unsigned int begun;

	(void)state;
	add(&kinds[1], "one", 11, "10.0.3.0/24");
	add(&kinds[2], "first", 5, "10.0.4.0/24 fd00::/8");
	add(&kinds[2], "two", 22, "10.0.3.7 @group");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, look_on, NULL), 0);
	for (unsigned int i = 0; i < 99; i++) {
		assert_true(canfs_shared_classes_set(&race.shared, &kinds[i % 3]) >= 0);
		begun = race.looks;
		while (i % 33 == 0 && race.looks == begun)
			sched_yield();
	}
	atomic_store(&race.stop, true);
	for (size_t i = 0; i < 3; i++)
		pthread_join(readers[i], NULL);
	canfs_shared_classes_free(&race.shared);
}

static const char *class_at(const struct canfs_classes *classes, struct in6_addr client)
{
	const struct canfs_class *client_class = canfs_classes_find(classes, &client);

	return client_class ? client_class->name : "none";
}

static void a_link_local_client_is_in_the_class_of_its_link(void **state)
{
	struct canfs_classes classes = { .count = 0 };

	(void)state;
	add(&classes, "first", 10, "fe80::1%1");
	add(&classes, "link", 20, "fe80::%2/64");
	add(&classes, "plain", 30, "fe80::3 fd00::/8");
	assert_string_equal(class_at(&classes, at_link("fe80::1", 1)), "first");
	assert_string_equal(class_at(&classes, at_link("fe80::1", 2)), "link");
	assert_string_equal(class_at(&classes, at_link("fe80::3", 2)), "link");
	assert_string_equal(class_at(&classes, at_link("fe80::3", 1)), "plain");
	assert_string_equal(class_at(&classes, at_link("fe80::3", 3)), "plain");
	assert_string_equal(class_at(&classes, at_link("fe80::2", 1)), "none");
	assert_string_equal(class_at(&classes, at_link("fd00::2", 7)), "plain");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_class_that_has_a_client_wins),
		cmocka_unit_test(a_link_local_client_is_in_the_class_of_its_link),
		cmocka_unit_test(names_are_looked_up_once),
		cmocka_unit_test(classes_are_bounded),
		cmocka_unit_test(wrong_classes_are_named),
		cmocka_unit_test(premiums_stay_within_prices),
		cmocka_unit_test(classes_are_replaced),
		cmocka_unit_test(readers_are_not_disturbed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
