// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/listing.h"

#include "ganesha-fsal/delegations/core/within.h"

#define LIST_USEC  10000000 /* longest pause between two looks; NFSv3 looks again after 5 s */
#define AGAIN_USEC 1000000

void canfs_listing_init(struct canfs_listing *listing)
{
	pthread_mutex_init(&listing->lock, NULL);
}

void canfs_listing_fini(struct canfs_listing *listing)
{
	pthread_mutex_destroy(&listing->lock);
}

/* Call it with the lock held. */
static bool is_on(const struct canfs_listing *listing, uint64_t parent, uint64_t now_usec)
{
	return parent != 0 && listing->parent == parent &&
	       canfs_is_within(listing->usec, LIST_USEC, now_usec);
}

bool canfs_listing_note(
	struct canfs_listing *listing, uint64_t file, uint64_t parent, uint64_t now_usec)
{
	bool is_second;

	pthread_mutex_lock(&listing->lock);
	is_second = is_on(listing, parent, now_usec) && listing->file != file &&
		    (listing->all_usec == 0 ||
			    !canfs_is_within(listing->all_usec, AGAIN_USEC, now_usec));
	listing->file = file;
	listing->parent = parent;
	listing->usec = now_usec;
	if (is_second)
		listing->all_usec = now_usec;
	pthread_mutex_unlock(&listing->lock);
	return is_second;
}

bool canfs_listing_is_on(struct canfs_listing *listing, uint64_t parent, uint64_t now_usec)
{
	bool ret;

	pthread_mutex_lock(&listing->lock);
	ret = is_on(listing, parent, now_usec);
	pthread_mutex_unlock(&listing->lock);
	return ret;
}
