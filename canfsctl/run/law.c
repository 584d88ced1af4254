// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/law.h"

#include <math.h>
#include <string.h>

#include "client-agent/auction/arithmetic.h"
#include "pricing/level.h"
#include "protocol/price_message.h"

const struct canfs_govern_terms canfs_govern_defaults = {
	.bid = 0.5,
	.at_least = 0,
	.patience_usec = 30000000,
};

/*
 * Chosen among some thousand combinations on the simulated server of tests/unit/governed.h, with
 * averages and with levels. The goal is to disturb others least, measured as the share of their
 * time in which the job runs. The bounds: alone, the job runs for nine tenths of the time. Beside
 * others that are busy half of the time, the job takes at most 2.3 times as long.
 *
 *	                              alone   beside a load of 3/4   beside bursts of 2, 5, 10, 20, 40 s
 *	this law                      92 %    11 %, 19 %             37, 29, 25, 22, 16 %; 2.2 ... 1.9 times as long
 *	told of others, and no share  94 %    2 %, 2 %               4, 2, 1, 0, 1 %; 2.4 ... 2.0
 *	growth 2, first run 2 s       94 %    11 %, 39 %             57, 48, 34, 22, 18 %; 1.8 ... 1.8
 *	any fall towards the bid      93 %    11 %, 77 %             41, 30, 26, 20, 16 %; 2.1 ... 1.9
 *	a probe of 0.5 s, runs of     85 %    11 %, 87 %             69, 35, 25, 20, 14 %; 2.4 ... 2.0
 *	0.5 ... 4 s that double
 *
 * Bursts as short as the server's averaging time cannot be attributed to any client.
 */
static const double first_sec = 1; /* the first run after others were there */
static const double growth = 1.5;  /* each run is this much longer than the last */
static const double worth = 16;    /* a run lasts at most this many times the pause before it */

/*
 * When the server says that nobody else is there, probing is rarely needed. first_alone_sec applies
 * when others were just seen to go.
 */
static const double growth_alone = 4;
static const double first_alone_sec = 8;

/* Others may pause for a moment without having gone. */
static const uint64_t gone_usec = 300000;

/* If the price falls within this time, the load was the job's own. */
static const double probe_sec = 1;

/*
 * A fall counts if it lasts this long and heads for this share of the bid. Near the bid, noise
 * would do.
 */
static const double fall_sec = 0.2;
static const double fall_share = 0.6;

/*
 * Pushed prices may arrive in bursts. If several prices are closer together than this, only the
 * last counts.
 */
static const uint64_t apart_usec = 80000;

/* The shortest run that gets something done, when the job's share is due. */
static const double least_slice_sec = 0.5;

/* If the price rises this far above the job's own, others have come. */
static const double rise = 0.15;

void canfs_govern_law_init(
	struct canfs_govern_law *law, const struct canfs_govern_terms *terms, uint64_t now_usec)
{
	double share = terms->at_least;

	*law = (struct canfs_govern_law) {
		.terms = *terms,
		.reason = CANFS_GOVERN_START,
		.since_usec = now_usec,
		.stepped_usec = now_usec,
		.high_price = NAN,
		.own_price = NAN,
		.others = -1,
	};
	/* A pause too short for probing would be wasted, so a larger share makes longer runs. */
	law->slice_sec = fmax(least_slice_sec, probe_sec * share / (1 - share));
	law->run_sec = fmax(first_sec, law->slice_sec);
}

static double seconds(uint64_t from_usec, uint64_t to_usec)
{
	return to_usec > from_usec ? (double)(to_usec - from_usec) / 1e6 : 0;
}

/* The run time owed at which a pause ends. The job earns the rest of the slice while it runs. */
static double due_sec(const struct canfs_govern_law *law)
{
	return law->slice_sec * (1 - law->terms.at_least);
}

static void account(struct canfs_govern_law *law, uint64_t now_usec)
{
	double sec = seconds(law->stepped_usec, now_usec);

	law->owed_sec += law->terms.at_least * sec;
	if (!law->is_paused)
		law->owed_sec -= sec;
	law->owed_sec = fmin(fmax(law->owed_sec, 0), law->slice_sec);
	law->stepped_usec = now_usec;
}

/* Is the newest price too close to the one before it to keep both? */
static bool is_last_for_now(const struct canfs_govern_law *law)
{
	return law->n_seen > 1 &&
	       law->seen[law->n_seen - 1].usec - law->seen[law->n_seen - 2].usec < apart_usec;
}

/* Ignores prices from before this pause, which include the job's own load. */
static void note_price(struct canfs_govern_law *law, struct canfs_govern_price price)
{
	uint64_t last_usec = law->n_seen > 0 ? law->seen[law->n_seen - 1].usec : law->since_usec;

	if (price.usec <= last_usec)
		return;
	if (is_last_for_now(law)) {
		law->n_seen--;
	} else if (law->n_seen == CANFS_GOVERN_PRICES) {
		memmove(law->seen, law->seen + 1, sizeof(law->seen) - sizeof(law->seen[0]));
		law->n_seen--;
	}
	law->seen[law->n_seen++] = price;
}

/* The newest price at least sec older than the given one. NULL: none. */
static const struct canfs_govern_price *price_before(
	const struct canfs_govern_law *law, const struct canfs_govern_price *price, double sec)
{
	for (unsigned int i = law->n_seen; i-- > 0;) {
		if (seconds(law->seen[i].usec, price->usec) >= sec)
			return &law->seen[i];
	}
	return NULL;
}

/* Where the price settles if it moves between the two points like the server's average. */
static double settles_at(const struct canfs_govern_price *from, const struct canfs_govern_price *to)
{
	double forgotten = -expm1(-seconds(from->usec, to->usec) / CANFS_RATE_TAU_SEC);

	return from->price - (from->price - to->price) / forgotten;
}

/* A negative value (unknown) counts as no others. */
static bool are_others(double others)
{
	return canfs_others_came(0, others);
}

/*
 * Pushed values arrive only on change. If others were there at the last step, they were there until
 * now.
 */
static void note_others(struct canfs_govern_law *law, double others, uint64_t now_usec)
{
	if (are_others(others) || are_others(law->others))
		law->others_usec = now_usec;
	law->others = others;
}

static bool have_gone(const struct canfs_govern_law *law, double others, uint64_t now_usec)
{
	return others >= 0 && !are_others(others) && law->others_usec != 0 &&
	       now_usec - law->others_usec >= gone_usec;
}

static bool falls(const struct canfs_govern_law *law)
{
	const struct canfs_govern_price *last, *middle, *first;

	const double enough = law->terms.bid * fall_share;

	if (law->n_seen == 0)
		return false;
	last = &law->seen[law->n_seen - 1];
	middle = price_before(law, last, fall_sec / 2);
	first = middle ? price_before(law, middle, fall_sec / 2) : NULL;
	return first && settles_at(first, middle) <= enough && settles_at(middle, last) <= enough;
}

static enum canfs_govern_reason reason_to_go_on(
	const struct canfs_govern_law *law, struct canfs_govern_price price, uint64_t now_usec)
{
	if (isnan(price.price))
		return CANFS_GOVERN_NO_PRICE;
	if (law->n_seen > 0 && price.price <= law->terms.bid)
		return CANFS_GOVERN_LOW;
	if (have_gone(law, price.others, now_usec))
		return CANFS_GOVERN_GONE;
	if (law->others_usec == 0 && falls(law))
		return CANFS_GOVERN_FALLS;
	if (now_usec - law->since_usec >= law->terms.patience_usec)
		return CANFS_GOVERN_PATIENCE;
	if (law->terms.at_least > 0 && law->owed_sec >= due_sec(law))
		return CANFS_GOVERN_SHARE;
	return CANFS_GOVERN_HIGH;
}

/* The shortest run, even if others have come. */
static double unheeding_sec(const struct canfs_govern_law *law)
{
	return fmax(first_sec, law->slice_sec);
}

/* According to the server, was no other client active during the pause? */
static bool was_alone(const struct canfs_govern_law *law)
{
	return law->others >= 0 && law->others_usec == 0;
}

/* How long the job runs before the next pause. */
static double next_run_sec(struct canfs_govern_law *law, double paused_sec)
{
	bool fell = law->reason == CANFS_GOVERN_LOW || law->reason == CANFS_GOVERN_FALLS;
	double longer_sec;

	if (law->reason == CANFS_GOVERN_SHARE || law->reason == CANFS_GOVERN_PATIENCE)
		return law->slice_sec;
	if (law->reason == CANFS_GOVERN_GONE)
		return first_alone_sec;
	if (!fell || paused_sec > probe_sec)
		return unheeding_sec(law);
	law->own_price = law->high_price;
	longer_sec = law->run_sec * (was_alone(law) ? growth_alone : growth);
	return fmax(fmin(longer_sec, worth * paused_sec), unheeding_sec(law));
}

static void go_on(struct canfs_govern_law *law, enum canfs_govern_reason reason, uint64_t now_usec)
{
	law->reason = reason;
	law->bearable = reason == CANFS_GOVERN_LOW ? fmax(law->others, 0) : 0;
	law->own_price = NAN;
	law->run_sec = next_run_sec(law, seconds(law->since_usec, now_usec));
	law->is_paused = false;
	law->since_usec = now_usec;
}

/* A slice that is due runs to its end, even beside others. */
static bool heeds_others(const struct canfs_govern_law *law, uint64_t now_usec)
{
	bool is_due = law->reason == CANFS_GOVERN_SHARE || law->reason == CANFS_GOVERN_PATIENCE;

	return !is_due || seconds(law->since_usec, now_usec) >= law->run_sec;
}

/* For a running job: the reason for a pause, or the present reason if there is none. */
static enum canfs_govern_reason reason_to_pause(
	const struct canfs_govern_law *law, struct canfs_govern_price price, uint64_t now_usec)
{
	double ran_sec = seconds(law->since_usec, now_usec);

	if (!(price.price > law->terms.bid))
		return law->reason;
	if (canfs_others_came(law->bearable, price.others) && heeds_others(law, now_usec))
		return CANFS_GOVERN_OTHERS;
	if (price.price > law->own_price + rise && ran_sec >= unheeding_sec(law))
		return CANFS_GOVERN_HIGH;
	return ran_sec >= law->run_sec ? CANFS_GOVERN_HIGH : law->reason;
}

static void pause_job(struct canfs_govern_law *law, enum canfs_govern_reason reason,
	struct canfs_govern_price price, uint64_t now_usec)
{
	law->is_paused = true;
	law->reason = reason;
	law->since_usec = now_usec;
	law->high_price = price.price;
	law->n_seen = 0;
	law->others_usec = are_others(price.others) ? now_usec : 0;
}

static void step_running(
	struct canfs_govern_law *law, struct canfs_govern_price price, uint64_t now_usec)
{
	enum canfs_govern_reason reason = reason_to_pause(law, price, now_usec);

	law->others = price.others;
	if (reason != law->reason)
		pause_job(law, reason, price, now_usec);
}

static void step_paused(
	struct canfs_govern_law *law, struct canfs_govern_price price, uint64_t now_usec)
{
	enum canfs_govern_reason reason;

	note_price(law, price);
	note_others(law, price.others, now_usec);
	reason = reason_to_go_on(law, price, now_usec);
	if (reason != CANFS_GOVERN_HIGH)
		go_on(law, reason, now_usec);
}

bool canfs_govern_law_step(
	struct canfs_govern_law *law, struct canfs_govern_price price, uint64_t now_usec)
{
	account(law, now_usec);
	if (law->is_paused)
		step_paused(law, price, now_usec);
	else
		step_running(law, price, now_usec);
	return law->is_paused;
}

/* When to pause a running job if the price stays the same. */
static uint64_t pause_due_usec(const struct canfs_govern_law *law)
{
	double ran_sec = seconds(law->since_usec, law->stepped_usec);
	double sec = ran_sec < unheeding_sec(law) ? fmin(unheeding_sec(law), law->run_sec)
						  : law->run_sec;

	if (!(sec > ran_sec) || !isfinite(sec))
		return UINT64_MAX;
	return law->stepped_usec + (uint64_t)ceil((sec - ran_sec) * 1e6);
}

uint64_t canfs_govern_law_due_usec(const struct canfs_govern_law *law)
{
	uint64_t due_usec = law->since_usec + law->terms.patience_usec;
	double sec;

	if (!law->is_paused)
		return pause_due_usec(law);
	if (law->others_usec != 0 && law->others >= 0 && !are_others(law->others))
		due_usec = canfs_smaller(due_usec, law->others_usec + gone_usec);
	if (!(law->terms.at_least > 0))
		return due_usec;
	sec = fmax(due_sec(law) - law->owed_sec, 0) / law->terms.at_least;
	sec = fmin(sec, (double)law->terms.patience_usec / 1e6);
	return canfs_smaller(due_usec, law->stepped_usec + (uint64_t)ceil(sec * 1e6));
}

const char *canfs_govern_reason_text(enum canfs_govern_reason reason)
{
	switch (reason) {
	case CANFS_GOVERN_START:
		return "it has just started";
	case CANFS_GOVERN_HIGH:
		return "the price is above the bid";
	case CANFS_GOVERN_OTHERS:
		return "other clients are active, and the price is above the bid";
	case CANFS_GOVERN_LOW:
		return "the price is not above the bid";
	case CANFS_GOVERN_FALLS:
		return "the price is falling";
	case CANFS_GOVERN_GONE:
		return "other clients are idle";
	case CANFS_GOVERN_SHARE:
		return "its share of the time is due";
	case CANFS_GOVERN_PATIENCE:
		return "the longest pause has passed";
	case CANFS_GOVERN_NO_PRICE:
		return "there is no price";
	}
	return "";
}
