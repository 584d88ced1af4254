// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canfsctl/ctl.h"
#include "common/control/request.h"

int ctl_put_json(const json_t *value, size_t flags)
{
	char *text = canfs_control_print(value, flags);

	if (!text)
		return -ENOMEM;
	fputs(text, stdout); /* ctl_end_output() reports a write error */
	free(text);
	return 0;
}

int ctl_end_output(int ret)
{
	if (fflush(stdout) != 0 && ret == 0)
		ret = -errno;
	else if (ferror(stdout) && ret == 0)
		ret = -EIO;
	if (ret == 0)
		return CTL_OK;
	ctl_warn("standard output: %s", strerrordesc_np(-ret));
	return CTL_ERROR;
}
