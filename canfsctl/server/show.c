// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Prints replies of the control socket as tables of fixed width, so that columns do not move
 * between updates. Tables fit 80 columns, unless IPv6 addresses or client classes need more.
 */
#include "canfsctl/server/server.h"
#include "canfsctl/socket.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* jansson's iterators require a mutable object but do not change it. */
static json_t *unconst(const json_t *value)
{
	return (json_t *)(uintptr_t)value;
}

/* Returns NaN if the value is unknown. */
static double number_of(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void print_share(int width, double value)
{
	if (isnan(value))
		printf("%*s", width, "-");
	else
		printf("%*.3f", width, value);
}

static void print_time(double unix_sec)
{
	time_t seconds = isnan(unix_sec) ? 0 : (time_t)unix_sec;
	struct tm local;
	char text[16];

	strftime(text, sizeof(text), "%T", localtime_r(&seconds, &local));
	fputs(text, stdout);
}

bool ctl_publishes(const json_t *prices)
{
	const json_t *exports = json_object_get(prices, "exports");

	for (size_t i = 0; i < json_array_size(exports); i++) {
		if (json_is_true(json_object_get(json_array_get(exports, i), "publishes")))
			return true;
	}
	return false;
}

static void show_export(const json_t *export)
{
	json_t *resources = unconst(json_object_get(export, "resources"));
	json_t *operations = unconst(json_object_get(export, "operations"));
	const char *name;
	json_t *value;

	printf("\n%s%s\n", ctl_text(export, "export"),
		json_is_true(json_object_get(export, "publishes")) ? "" : " (publishes no prices)");
	printf("  %-10s%12s%8s%8s\n", "", "utilization", "price", "k");
	json_object_foreach(resources, name, value)
	{
		printf("  %-10s", name);
		print_share(12, ctl_number(value, "utilization"));
		print_share(8, ctl_number(value, "price"));
		printf("%8g", ctl_number(value, "k"));
		if (json_object_get(value, "type"))
			printf("  %s: %g reads, %g writes", ctl_text(value, "type"),
				ctl_number(value, "nominal_reads"),
				ctl_number(value, "nominal_writes"));
		if (json_object_get(value, "nominal_operations"))
			printf("  %.0f operations", ctl_number(value, "nominal_operations"));
		putchar('\n');
	}
	json_object_foreach(operations, name, value)
	{
		printf("  %-10s%12s", strcmp(name, "read_ahead") == 0 ? "read-ahead" : name, "");
		print_share(8, ctl_number(value, "price"));
		printf("  bottleneck %s\n", ctl_text(value, "bottleneck"));
	}
}

static double mib(const json_t *object, const char *name)
{
	return ctl_number(object, name) / (1 << 20);
}

static void show_memory(const json_t *memory)
{
	const json_t *cache = json_object_get(memory, "read_cache");

	if (!json_is_object(memory))
		return;
	printf("\nmemory: %.3f of the dirty limit is dirty; tasks wait for it %.3f of the time\n",
		ctl_number(memory, "dirty"), ctl_number(memory, "pressure"));
	if (!json_is_object(cache))
		return;
	printf("  a read cache of %.0f MiB is worth %.3f:\n"
	       "  reads hit %.3f, %.3f with half of it, %.3f with half as much again,\n",
		mib(cache, "bytes"), ctl_number(cache, "utilization"), ctl_number(cache, "hit"),
		ctl_number(cache, "hit_less"), ctl_number(cache, "hit_more"));
	printf("  measured by ghost caches in %.1f of %.1f MiB, which missed %.0f reads\n",
		mib(cache, "ghost_used_bytes"), mib(cache, "ghost_memory_bytes"),
		ctl_number(cache, "missed_reads"));
}

void ctl_show_prices(const json_t *reply)
{
	const json_t *exports = json_object_get(reply, "exports");

	print_time(ctl_number(reply, "time"));
	printf("  pmax %g%s%s\n", ctl_number(reply, "pmax"),
		json_is_false(json_object_get(reply, "publish")) ? ", NOT PUBLISHED" : "",
		json_is_true(json_object_get(reply, "drain")) ? ", DRAINING: writes at 1" : "");
	show_memory(json_object_get(reply, "memory"));
	for (size_t i = 0; i < json_array_size(exports); i++)
		show_export(json_array_get(exports, i));
	if (ctl_number(reply, "left_out") > 0)
		printf("\n%g more exports: use --export=PATH\n", ctl_number(reply, "left_out"));
}

/* Column width: the name or a number, and a blank. */
static int history_width(const json_t *columns, size_t i)
{
	const char *name = json_string_value(json_array_get(columns, i));

	return name && strlen(name) > 6 ? (int)strlen(name) + 1 : 7;
}

void ctl_show_history(const json_t *reply)
{
	const json_t *columns = json_object_get(reply, "columns");
	const json_t *rows = json_object_get(reply, "rows");

	printf("%s\n%-8s", ctl_text(reply, "export"), "time");
	for (size_t i = 1; i < json_array_size(columns); i++)
		printf("%*s", history_width(columns, i),
			json_string_value(json_array_get(columns, i)));
	putchar('\n');
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		print_time(number_of(json_array_get(row, 0)));
		for (size_t j = 1; j < json_array_size(row); j++) {
			const json_t *value = json_array_get(row, j);

			if (json_is_string(value))
				printf("%*s", history_width(columns, j), json_string_value(value));
			else
				print_share(history_width(columns, j), number_of(value));
		}
		putchar('\n');
	}
}

/* Does any client have a class? */
static bool have_classes(const json_t *clients)
{
	for (size_t i = 0; i < json_array_size(clients); i++) {
		if (json_is_string(json_object_get(json_array_get(clients, i), "class")))
			return true;
	}
	return false;
}

static void print_class(const json_t *client)
{
	if (json_is_string(json_object_get(client, "class")))
		printf("  %s %+.0f %%", ctl_text(client, "class"),
			ctl_number(client, "premium_percent"));
}

void ctl_show_clients(const json_t *reply)
{
	static const char *const columns[] = { "reads_per_sec", "read_bytes_per_sec",
		"writes_per_sec", "write_bytes_per_sec", "reads", "read_bytes", "writes",
		"write_bytes" };
	const json_t *clients = json_object_get(reply, "clients");
	int width = 15; /* the length of "255.255.255.255" */

	if (json_is_null(clients)) {
		puts("clients: not counted by this server");
		return;
	}
	for (size_t i = 0; i < json_array_size(clients); i++) {
		int length = (int)strlen(ctl_text(json_array_get(clients, i), "address"));

		width = length > width ? length : width;
	}
	printf("%-*s%8s%8s%8s%8s%8s%8s%8s%8s%s\n", width, "client", "read/s", "bytes/s", "write/s",
		"bytes/s", "reads", "bytes", "writes", "bytes",
		have_classes(clients) ? "  class" : "");
	for (size_t i = 0; i < json_array_size(clients); i++) {
		const json_t *client = json_array_get(clients, i);
		char text[CTL_SHORT_MAX];

		printf("%-*s", width, ctl_text(client, "address"));
		for (size_t j = 0; j < sizeof(columns) / sizeof(columns[0]); j++)
			printf("%8s", ctl_short(ctl_number(client, columns[j]), text));
		print_class(client);
		putchar('\n');
	}
}

/* Prints all members but those common to all replies. */
static void show_members(const json_t *reply)
{
	json_t *writable = unconst(reply);
	const char *name;
	json_t *value;

	json_object_foreach(writable, name, value)
	{
		if (strcmp(name, "ok") == 0 || strcmp(name, "command") == 0 ||
			strcmp(name, "time") == 0)
			continue;
		if (json_is_boolean(value))
			printf("%-22s %s\n", name, json_is_true(value) ? "on" : "off");
		else if (json_is_null(value))
			printf("%-22s default\n", name);
		else if (json_is_string(value))
			printf("%-22s %s\n", name, json_string_value(value));
		else
			printf("%-22s %.15g\n", name, json_number_value(value));
	}
}

void ctl_show_counters(const json_t *reply)
{
	show_members(reply);
}

static void print_option(const char *indent, const char *name, const json_t *value)
{
	printf("%s%s = ", indent, name);
	for (size_t i = 0; i < json_array_size(value); i++)
		printf("%s%s", i != 0 ? ", " : "", json_string_value(json_array_get(value, i)));
	if (json_is_number(value))
		printf("%.15g", json_number_value(value));
	else if (json_array_size(value) == 0)
		fputs("default", stdout);
	putchar('\n');
}

static void show_class(const json_t *client_class)
{
	const json_t *clients = json_object_get(client_class, "Clients");

	printf("\nclass %s\n", ctl_text(client_class, "Name"));
	print_option("  ", "Premium", json_object_get(client_class, "Premium"));
	if (json_array_size(clients) != 0)
		print_option("  ", "Clients", clients);
	else
		puts("  no clients: none of the names has an address");
}

void ctl_show_config(const json_t *reply)
{
	static const char *const of_server[] = { "Interfaces", "Link_Speed", "Peers" };
	static const char *const of_export[] = { "Disk_Read_Queue", "Disk_Write_Queue", "K_Disk" };
	const json_t *exports = json_object_get(reply, "exports");
	const json_t *classes = json_object_get(reply, "Class");

	for (size_t i = 0; i < sizeof(of_server) / sizeof(of_server[0]); i++)
		print_option("", of_server[i], json_object_get(reply, of_server[i]));
	for (size_t i = 0; i < json_array_size(classes); i++)
		show_class(json_array_get(classes, i));
	for (size_t i = 0; i < json_array_size(exports); i++) {
		const json_t *export = json_array_get(exports, i);

		printf("\n%s\n", ctl_text(export, "export"));
		for (size_t j = 0; j < sizeof(of_export) / sizeof(of_export[0]); j++)
			print_option("  ", of_export[j], json_object_get(export, of_export[j]));
	}
}

void ctl_show_settings(const json_t *reply)
{
	show_members(reply);
}
