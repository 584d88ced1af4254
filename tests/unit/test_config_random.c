// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * 10,000 configurations made of sense and nonsense, always the same ones: what is accepted is within its
 * bounds, what is rejected names a line that there is, and leaves the configuration as it was.
 */
#include "tests/unit/fake_root.h"

#include "client-agent/config/config.h"

#define CONFIGURATIONS 10000
#define LINES_MAX      12

static unsigned int seed = 1;

static unsigned int draw(unsigned int n)
{
	return (unsigned int)rand_r(&seed) % n;
}

static const char *any_of(const char *const *words, size_t n)
{
	return words[draw((unsigned int)n)];
}

#define ANY_OF(words) any_of(words, sizeof(words) / sizeof((words)[0]))

/* Within the bounds more often than not, or few texts would be accepted. */
static void random_value(const struct canfs_option *option, char *buf, size_t size)
{
	static const char *const nonsense[] = { "", "-1", "0", "1e308", "nan", "0x40",
		"99999999999", "on off", "enforce", "3.5", "\xff\xfe", "%s%n", "/", "[", "=" };
	double at = option->min + (option->max - option->min) * draw(1001) / 1000;

	if (draw(20) == 0)
		snprintf(buf, size, "%s", ANY_OF(nonsense));
	else if (option->type == CANFS_COUNT)
		snprintf(buf, size, "%.0f", at);
	else if (option->type == CANFS_REAL)
		snprintf(buf, size, "%g", at);
	else if (option->type == CANFS_WORD || option->type == CANFS_SWITCH)
		snprintf(buf, size, "%s",
			option->type == CANFS_WORD ? option->words[draw(2)]
			: draw(2)                  ? "on"
						   : "off");
	else
		snprintf(buf, size, "/p%u", draw(4));
}

static void random_line(char *buf, size_t size, bool *mounts)
{
	static const char *const garbage[] = { "junk", "[", "]", "[mount", "[other]", "= 1",
		"holdpct = 7", " indented", "[mount x]", "\t[agent]", "[agent]" };
	static const char *const harmless[] = { "", "# comment", "; comment", "   ", "\r" };
	const struct canfs_option *option =
		&canfs_agent_options.option[draw((unsigned int)canfs_agent_options.n)];
	char value[64];

	switch (draw(40)) {
	case 0:
		snprintf(buf, size, "%s\n", ANY_OF(garbage));
		return;
	case 1:
	case 2:
	case 3:
		snprintf(buf, size, "%s\n", ANY_OF(harmless));
		return;
	case 4:
	case 5:
	case 6:
		snprintf(buf, size, "[mount /%u*]\n", draw(1000));
		*mounts = true;
		return;
	default:
		while (*mounts && !option->in_sections && draw(50))
			option = &canfs_agent_options
					  .option[draw((unsigned int)canfs_agent_options.n)];
		random_value(option, value, sizeof(value));
		snprintf(buf, size, "%s%s%s%s\n", option->name, draw(2) ? " = " : "=", value,
			draw(10) ? "" : " ; why");
	}
}

/* Returns the number of lines. */
static unsigned int random_text(char *text, size_t size)
{
	unsigned int lines = 1 + draw(LINES_MAX);
	bool mounts = false;
	size_t len = (size_t)snprintf(text, size, "[agent]\n");

	for (unsigned int i = 0; i < lines; i++) {
		random_line(text + len, size - len, &mounts);
		len += strlen(text + len);
	}
	if (draw(10) == 0)
		text[draw((unsigned int)len)] = (char)(1 + draw(255));
	return lines + 2; /* the header, and a newline that a changed byte may be */
}

static void assert_number_within(
	const struct canfs_agent_config *config, const struct canfs_option *option)
{
	const void *at = (const char *)config + option->offset;

	if (option->type == CANFS_COUNT)
		assert_in_range(
			*(const unsigned int *)at, (uintmax_t)option->min, (uintmax_t)option->max);
	else if (option->type == CANFS_REAL)
		assert_true(
			*(const double *)at >= option->min && *(const double *)at <= option->max);
	else if (option->type == CANFS_WORD)
		assert_in_range(*(const enum canfs_mode *)at, CANFS_OBSERVE, CANFS_ENFORCE);
}

static void assert_within(const struct canfs_agent_config *config)
{
	struct canfs_agent_config each = *config;

	for (size_t i = 0; i < canfs_agent_options.n; i++)
		assert_number_within(config, &canfs_agent_options.option[i]);
	assert_true(
		(double)canfs_config_lost_usec(config) / 1e6 >= 1.2 * config->price_idle_sec + 2);
	assert_true(config->mounts.n <= CANFS_CONFIG_LIST_MAX);
	assert_true(config->sections <= CANFS_CONFIG_SECTIONS_MAX);
	assert_int_equal(config->state_dir[0], '/');
	for (size_t s = 0; s <= config->sections; s++) {
		for (size_t i = 0; i < canfs_agent_options.n; i++)
			assert_number_within(&each, &canfs_agent_options.option[i]);
		if (s < config->sections)
			each.terms = config->section[s].terms;
	}
}

/* "agent.conf:LINE: " of a line that there is, and something said about it. */
static void assert_names_a_line(const char *error, unsigned int lines)
{
	static const char file[] = "agent.conf:";
	char *end;

	assert_memory_equal(error, file, sizeof(file) - 1);
	unsigned long line = strtoul(error + sizeof(file) - 1, &end, 10);
	assert_in_range(line, 1, lines);
	assert_memory_equal(end, ": ", 2);
	assert_true(strlen(end) > 6);
	assert_null(strchr(error, '\n'));
}

static void test_random_configurations(void **state)
{
	static struct canfs_agent_config config, before;
	char text[4096], error[CANFS_OPTIONS_ERROR_MAX];
	unsigned int accepted = 0, rejected = 0;

	(void)state;
	for (int i = 0; i < CONFIGURATIONS; i++) {
		unsigned int lines = random_text(text, sizeof(text));

		canfs_config_defaults(&config);
		before = config;
		if (canfs_config_parse_string(&config, "agent.conf", text, error) == 0) {
			accepted++;
			assert_string_equal(error, "");
			assert_within(&config);
			canfs_config_terms(&config, "/12/34");
		} else {
			rejected++;
			assert_names_a_line(error, lines);
			assert_int_equal(config.state_dir[0], '/');
			memcpy(before.state_dir, config.state_dir, sizeof(before.state_dir));
			assert_memory_equal(&config, &before, sizeof(config));
		}
	}
	/* Both happen, or the generator is of no use. */
	assert_true(accepted > CONFIGURATIONS / 10);
	assert_true(rejected > CONFIGURATIONS / 10);
	print_message("%u accepted, %u rejected\n", accepted, rejected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_configurations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
