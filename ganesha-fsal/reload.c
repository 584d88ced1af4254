// SPDX-License-Identifier: LGPL-3.0-or-later
/* What SIGHUP changes: the CANFS { } block, read again. */
#include "ganesha-fsal/canfs_methods.h"

#include <errno.h>
#include <string.h>
#include "common/clock.h"

bool canfs_change_scale(const struct canfs_fsal_config *before, const struct canfs_fsal_config *now)
{
	struct canfs_settings found, wanted;
	bool changed = !before || now->pmax != before->pmax;

	canfs_sampler_settings(CANFS.sampler, &found);
	wanted = found;
	if (changed)
		wanted.pmax = now->pmax;
	for (int i = 0; i < CANFS_RESOURCES; i++) {
		if (before && now->weight[i] == before->weight[i])
			continue;
		wanted.weight[i] = now->weight[i];
		changed = true;
	}
	return changed && canfs_sampler_set(CANFS.sampler, &found, &wanted) == 0;
}

/* What is allocated at the start, and used by all workers, stays. Only the monitor of memory asks for ghosts. */
static bool needs_restart(
	const struct canfs_fsal_config *running, const struct canfs_fsal_config *now)
{
	bool wants_ghosts = (now->sampler.monitors & 1u << CANFS_MEMORY) != 0;

	return (wants_ghosts && running->ghost_memory_bytes != now->ghost_memory_bytes) ||
	       running->price_port != now->price_port ||
	       strcmp(running->control_path, now->control_path) != 0;
}

/* Takes over what was read, but for what goes on as it was started. */
static void keep(struct canfs_fsal_config *config)
{
	gsh_free(config->control_path);
	config->control_path = CANFS.config.control_path;
	config->ghost_memory_bytes = CANFS.config.ghost_memory_bytes;
	config->price_port = CANFS.config.price_port;
	CANFS.config = *config;
}

/*
 * Ganesha tells us of each export that it updates, not of the whole. But all of them still have the number of the
 * configuration that was before, and none comes twice.
 */
static bool is_same_reload(struct canfs_export *export)
{
	uint64_t replaced = op_ctx->ctx_export->config_gen;
	bool same = export->reload != CANFS.reload && CANFS.replaced == replaced;

	if (!same)
		CANFS.reload++;
	CANFS.replaced = replaced;
	export->reload = CANFS.reload;
	return same;
}

/*
 * False: something is wrong with it, or waits for a restart, and this was said. has_classes: with the addresses that their
 * names have now, even if nothing else has changed.
 */
static bool take_over(struct canfs_fsal_config *config, bool has_classes)
{
	struct canfs_monitor_setup *setup = &config->sampler.setup;
	bool changed = canfs_change_scale(&CANFS.config, config);
	bool holds = !needs_restart(&CANFS.config, config);
	bool prefetch_holds = canfs_reload_prefetcher(&CANFS.config, config);

	/* The port is the one that we have: another needs a restart. */
	setup->peer_port = CANFS.config.price_port;
	if (setup->peer_port == 0)
		setup->peer_count = 0;
	if (canfs_sampler_reload(CANFS.sampler, &config->sampler, canfs_now_usec()) > 0 || changed)
		LogEvent(COMPONENT_FSAL, "CANFS: what has changed in CANFS { } holds now");
	canfs_set_peers(setup);
	if (has_classes)
		canfs_set_classes(&config->classes);
	if (!holds)
		LogWarn(COMPONENT_FSAL,
			"CANFS: a new Control_Socket, Price_Port or Ghost_Memory needs a restart");
	if (!prefetch_holds)
		LogWarn(COMPONENT_FSAL,
			"CANFS: a new Scheduler_Depth, Lag_Kib, Prefetch_Files or "
			"Prefetch_Open_Files, and the first Prefetch, need a restart");
	keep(config);
	return holds && prefetch_holds;
}

void canfs_reload(struct canfs_export *export, void *parse_node, struct config_error_type *err_type)
{
	bool is_first = !is_same_reload(export);
	struct canfs_fsal_config config;
	int ret;

	/* Whatever was said need not be said of each export, nor need names be looked up for each. */
	if (!is_first && CANFS.warned)
		return;
	ret = canfs_reread_config(parse_node, &config, is_first, err_type);
	CANFS.warned = ret != -ENOENT;
	if (ret == -ENOENT)
		return;
	if (ret != 0) {
		LogCrit(COMPONENT_FSAL, "CANFS goes on as before: the CANFS { } block is wrong");
	} else if (!CANFS.sampler) {
		LogWarn(COMPONENT_FSAL, "CANFS publishes no prices until the server is restarted");
		gsh_free(config.control_path);
	} else {
		CANFS.warned = !take_over(&config, is_first);
	}
}
