// SPDX-License-Identifier: LGPL-3.0-or-later
#include "priced/daemon.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "common/clock.h"
#include "common/control/socket.h"
#include "common/log.h"
#include "common/notify.h"
#include "priced/exports_thread.h"
#include "server/control/control.h"

#define TICK_MSEC 1000

struct daemon {
	struct canfs_priced_config *config; /* the running configuration */
	const char *file;
	int signal_fd;
	uint64_t notified_usec; /* see canfs_notify_alive() */
	uint64_t shown[2];      /* exports and subscribers in the current status line */
	struct canfs_sampler *sampler;
	struct canfs_shared_classes *classes;
	struct canfs_export_list *list;
	struct canfs_exports_thread *exports;
	struct canfs_price_service *service;
	struct canfs_control *control;
};

static void say(const char *message)
{
	canfs_log("%s", message);
}

static void name_market(void)
{
	pthread_setname_np(pthread_self(), "canfs_market");
}

static void name_service(void)
{
	pthread_setname_np(pthread_self(), "canfs_prices");
}

static void name_control(void)
{
	pthread_setname_np(pthread_self(), "canfs_control");
}

static void fill_in(const struct canfs_priced_config *config, struct canfs_sampler_config *sampler)
{
	canfs_priced_config_of_sampler(config, sampler);
	sampler->say = say;
	sampler->thread_begins = name_market;
}

/* before: NULL at the start. Returns true if anything changed. */
static bool change_pmax(struct daemon *daemon, const struct canfs_priced_config *before,
	const struct canfs_priced_config *now)
{
	struct canfs_settings found, wanted;

	canfs_sampler_settings(daemon->sampler, &found);
	wanted = found;
	return canfs_priced_config_pmax(before, now, &wanted) &&
	       canfs_sampler_set(daemon->sampler, &found, &wanted) == 0;
}

static int open_market(struct daemon *daemon)
{
	struct canfs_export_list_config list = {
		.root = "", .etab = daemon->config->etab, .say = say
	};
	struct canfs_sampler_config sampler;
	int ret;

	fill_in(daemon->config, &sampler);
	ret = canfs_sampler_new(&daemon->sampler, &sampler);
	if (ret != 0)
		return ret;
	(void)change_pmax(daemon, NULL, daemon->config);
	list.sampler = daemon->sampler;
	ret = canfs_export_list_new(&daemon->list, &list);
	return ret != 0 ? ret : canfs_sampler_start(daemon->sampler);
}

static void set_classes(struct daemon *daemon, const struct canfs_classes *classes)
{
	int ret = canfs_shared_classes_set(daemon->classes, classes);

	if (ret < 0)
		canfs_log("out of memory: keeping the old classes of clients");
	else if (ret > 0)
		canfs_log("classes of clients: %zu, of %zu addresses and networks", classes->count,
			classes->network_count);
}

static int open_classes(struct daemon *daemon)
{
	daemon->classes = calloc(1, sizeof(*daemon->classes));
	if (!daemon->classes)
		return -ENOMEM;
	set_classes(daemon, &daemon->config->classes);
	return 0;
}

static int open_service(struct daemon *daemon)
{
	struct canfs_price_service_config config = { .port = (uint16_t)daemon->config->price_port,
		.with_export = canfs_export_list_use,
		.host = daemon->list,
		.classes = daemon->classes,
		.thread_begins = name_service };
	int ret = canfs_price_service_start(&daemon->service, &config);

	if (ret != 0) {
		canfs_log("price_port = %u: %s", daemon->config->price_port, strerror(-ret));
		return ret;
	}
	canfs_export_list_serve(daemon->list, daemon->service);
	canfs_sampler_tell(daemon->sampler, canfs_price_service_posted, daemon->service);
	return 0;
}

/* Optional: clients get their prices without a control socket. */
static void open_control(struct daemon *daemon)
{
	struct canfs_control_config config = { .path = daemon->config->control_socket,
		.sampler = daemon->sampler,
		.classes = daemon->classes,
		.price_service = daemon->service,
		.say = say,
		.thread_begins = name_control };
	int ret;

	if (config.path[0] == '\0')
		return;
	ret = canfs_control_start(&daemon->control, &config);
	if (ret != 0)
		canfs_log("no control socket at %s: %s", config.path, canfs_socket_reason(ret));
}

static int open_signals(struct daemon *daemon)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	daemon->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return daemon->signal_fd < 0 ? -errno : 0;
}

static int open_all(struct daemon *daemon)
{
	int ret = open_signals(daemon);

	if (ret == 0)
		ret = open_market(daemon);
	if (ret == 0)
		ret = open_classes(daemon);
	if (ret == 0)
		ret = open_service(daemon);
	if (ret == 0)
		ret = canfs_exports_thread_start(&daemon->exports, daemon->list, say);
	if (ret != 0)
		return ret;
	open_control(daemon);
	return 0;
}

/*
 * If the exports thread does not end, everything that it may still use is kept until the process
 * ends.
 */
static void close_all(struct daemon *daemon)
{
	bool stopped = canfs_exports_thread_stop(daemon->exports);

	canfs_control_stop(daemon->control);
	if (daemon->signal_fd >= 0)
		close(daemon->signal_fd);
	if (!stopped) {
		canfs_log("a file system does not answer: exiting without waiting for it");
		return;
	}
	if (daemon->sampler)
		canfs_sampler_tell(daemon->sampler, NULL, NULL);
	canfs_price_service_stop(daemon->service);
	canfs_export_list_free(daemon->list);
	canfs_sampler_free(daemon->sampler);
	if (daemon->classes)
		canfs_shared_classes_free(daemon->classes);
	free(daemon->classes);
}

/* Keeps the options that are used only at the start. */
static void keep_open(struct daemon *daemon, struct canfs_priced_config *config)
{
	const struct canfs_priced_config *running = daemon->config;

	if (config->price_port != running->price_port ||
		strcmp(config->control_socket, running->control_socket) != 0 ||
		strcmp(config->etab, running->etab) != 0)
		canfs_log("%s: a new price_port, control_socket or etab needs a restart",
			daemon->file);
	config->price_port = running->price_port;
	memcpy(config->control_socket, running->control_socket, sizeof(config->control_socket));
	memcpy(config->etab, running->etab, sizeof(config->etab));
}

static void reload(struct daemon *daemon)
{
	struct canfs_sampler_config sampler;
	struct canfs_priced_config config;
	struct canfs_names names;
	char error[CANFS_OPTIONS_ERROR_MAX];

	canfs_exports_thread_hurry(daemon->exports);
	canfs_priced_config_defaults(&config);
	canfs_names_begin(&names, say);
	if (canfs_priced_config_parse_file(&config, daemon->file, &names, error) != 0) {
		canfs_log("%s; keeping the running configuration", error);
		return;
	}
	keep_open(daemon, &config);
	fill_in(&config, &sampler);
	(void)change_pmax(daemon, daemon->config, &config);
	(void)canfs_sampler_reload(daemon->sampler, &sampler, canfs_now_usec());
	set_classes(daemon, &config.classes);
	*daemon->config = config;
	canfs_log("%s: reloaded", daemon->file);
}

/* Returns false if the daemon must end. */
static bool take_signal(struct daemon *daemon)
{
	struct signalfd_siginfo info;

	if (read(daemon->signal_fd, &info, sizeof(info)) != sizeof(info))
		return true;
	if (info.ssi_signo != SIGHUP)
		return false;
	canfs_notify_reloading();
	reload(daemon);
	canfs_notify_ready();
	return true;
}

/*
 * Counting waits for the market's current step. If the step hangs, this thread hangs too, and the
 * watchdog expires.
 */
static void tick(struct daemon *daemon)
{
	struct canfs_sampler_counters sampler;
	struct canfs_price_service_counters service;

	canfs_sampler_count(daemon->sampler, &sampler);
	canfs_price_service_count(daemon->service, &service);
	canfs_notify_alive(canfs_now_usec(), &daemon->notified_usec);
	if (daemon->shown[0] == sampler.exports && daemon->shown[1] == service.of_table.subscribers)
		return;
	daemon->shown[0] = sampler.exports;
	daemon->shown[1] = service.of_table.subscribers;
	canfs_notify_status("exports: %llu, subscriptions: %llu",
		(unsigned long long)sampler.exports,
		(unsigned long long)service.of_table.subscribers);
}

static void serve(struct daemon *daemon)
{
	struct pollfd polled = { .fd = daemon->signal_fd, .events = POLLIN };

	canfs_log("canfs-priced " CANFS_VERSION ", %s%s: price service at UDP port %u",
		daemon->file, access(daemon->file, F_OK) == 0 ? "" : " (missing: defaults)",
		daemon->config->price_port);
	canfs_notify_ready();
	do
		tick(daemon);
	while (poll(&polled, 1, TICK_MSEC) <= 0 || take_signal(daemon));
	canfs_log("stopping");
	canfs_notify_stopping("Ending");
}

int canfs_priced_run(struct canfs_priced_config *config, const char *file)
{
	struct daemon daemon = {
		.config = config, .file = file, .signal_fd = -1, .shown = { UINT64_MAX, UINT64_MAX }
	};
	int ret = open_all(&daemon);

	if (ret == 0)
		serve(&daemon);
	else
		canfs_log("cannot start: %s", strerror(-ret));
	close_all(&daemon);
	return ret;
}
