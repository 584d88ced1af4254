// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Finds the NFS servers on this host by process name, and tests whether the price service's port is
 * bound.
 */
#include "canfsctl/doctor/facts.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "common/file.h"

#define PROCESSES_MAX 65536 /* processes whose names are read */

/*
 * Finds the kernel's server by its threads and the others by their processes. Reading
 * /proc/fs/nfsd/threads could block on a mutex. The kernel holds the mutex while a server starts or
 * stops, which may take as long as rpcbind does not answer.
 */
static void note_process(struct canfs_host_facts *host, const char *comm)
{
	if (strcmp(comm, "nfsd\n") == 0)
		host->kernel_threads++;
	else if (strcmp(comm, "ganesha.nfsd\n") == 0)
		host->ganesha_serves = true;
	else if (strcmp(comm, "canfs-priced\n") == 0)
		host->priced_runs = true;
}

static void gather_processes(const char *root, struct canfs_host_facts *host)
{
	char path[PATH_MAX], comm[32];
	struct dirent *entry;
	DIR *all;

	snprintf(path, sizeof(path), "%s/proc", root);
	all = opendir(path);
	for (int n = 0; all && n < PROCESSES_MAX && (entry = readdir(all));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		n++;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (canfs_read_file(root, path, comm, sizeof(comm)) > 0)
			note_process(host, comm);
	}
	if (all)
		closedir(all);
}

/* A line such as "  46: 00000000:506E 00000000:0000 07 ...". */
bool canfs_udp_line_has_port(const char *line, const char *end, uint16_t port)
{
	const char *number = memchr(line, ':', (size_t)(end - line));
	const char *local = number ? memchr(number + 1, ':', (size_t)(end - number - 1)) : NULL;
	char own[8];
	const size_t len = (size_t)snprintf(own, sizeof(own), ":%04X ", port);

	return local && (size_t)(end - local) >= len && memcmp(local, own, len) == 0;
}

static void take_socket(void *data, const char *line, const char *end)
{
	struct canfs_host_facts *host = data;

	if (canfs_udp_line_has_port(line, end, (uint16_t)host->config.price_port))
		host->price_port_bound = true;
}

/* A line such as "/srv\t10.0.0.0/8(rw,async,wdelay,...)". Readable by root only. */
static void take_export(void *data, const char *line, const char *end)
{
	struct canfs_host_facts *host = data;
	const char *tab = memchr(line, '\t', (size_t)(end - line));

	if (host->async_export[0] || !tab || !memmem(tab, (size_t)(end - tab), ",async,", 7))
		return;
	snprintf(host->async_export, sizeof(host->async_export), "%.*s",
		tab - line < INT_MAX ? (int)(tab - line) : INT_MAX, line);
}

void canfs_server_gather(const char *root, struct canfs_host_facts *host)
{
	host->kernel_threads = 0;
	host->ganesha_serves = false;
	host->priced_runs = host->price_port_bound = false;
	host->async_export[0] = '\0';
	gather_processes(root, host);
	host->kernel_serves = host->kernel_threads > 0;
	canfs_read_lines(root, "/proc/fs/nfs/exports", take_export, host);
	canfs_read_lines(root, "/proc/net/udp", take_socket, host);
	canfs_read_lines(root, "/proc/net/udp6", take_socket, host);
}
