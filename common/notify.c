// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/notify.h"

#include <stdarg.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include "common/clock.h"

void canfs_notify_ready(void)
{
	sd_notify(0, "READY=1");
}

void canfs_notify_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)canfs_now_usec());
}

void canfs_notify_stopping(const char *status)
{
	sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status);
}

void canfs_notify_status(const char *format, ...)
{
	char status[256];
	va_list args;

	va_start(args, format);
	vsnprintf(status, sizeof(status), format, args);
	va_end(args);
	sd_notifyf(0, "STATUS=%s", status);
}

void canfs_notify_alive(uint64_t now_usec, uint64_t *fed_usec)
{
	uint64_t interval_usec;

	if (sd_watchdog_enabled(0, &interval_usec) <= 0 || now_usec - *fed_usec < interval_usec / 4)
		return;
	sd_notify(0, "WATCHDOG=1");
	*fed_usec = now_usec;
}
