// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/doctor/checks.h"

#include <stdarg.h>
#include <stdio.h>

void canfs_finding_say(struct canfs_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->what, sizeof(finding->what), format, args);
	va_end(args);
}

bool canfs_finding_advise(struct canfs_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->remedy, sizeof(finding->remedy), format, args);
	va_end(args);
	return true;
}
