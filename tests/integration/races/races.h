/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_RACES_H
#define CANFS_RACES_H

#include "tests/integration/races/past.h"

#include <stddef.h>
#include <nfsc/libnfs.h>

#define CLIENTS      4
#define SLOTS        6
#define LANES        8   /* of a client; each does one thing after another */
#define BLOCK_WORDS  256 /* libnfs 4 cannot encode a longer write of NFSv4 */
#define BLOCK_BYTES  ((uint64_t)BLOCK_WORDS * sizeof(uint64_t))
#define BLOCKS       ((uint64_t)4096) /* of a file, at most */
#define OP_BLOCKS    ((uint64_t)128)  /* of a read, at most */
#define WRITE_BLOCKS ((uint64_t)32)
#define ANSWER_MSEC  90000 /* later, it is lost */

enum op_kind { READ, WRITE, TRUNCATE, OP_KINDS };

/* One file, whatever it is called. One without a name is closed by each client whose lanes are done with it. */
struct shared_file {
	uint32_t id;
	char name[48];
	struct nfsfh *handles[CLIENTS];
	unsigned int users[CLIENTS]; /* lanes */
	uint32_t changes;            /* numbers them */
	bool doomed;                 /* its last name is taken away, or is being */
	struct past pasts[BLOCKS];
	struct shared_file *next; /* of those that are doomed */
};

struct client {
	struct races *races;
	struct nfs_context *nfs;
	unsigned int number;
	int version;
};

/* What a lane does: a run of reads or writes of one file. */
struct lane {
	struct client *client;
	const struct habit *habit;
	uint64_t chance, left; /* operations */
	struct shared_file *file;
	uint64_t at, blocks, run; /* blocks: of each; run: operations that are left of it */
	const struct order *order;
	struct op *op; /* chosen; not yet asked for if the past has no room */
	bool rests;
};

/* Asked for, and not answered. */
struct op {
	struct lane *lane;
	struct shared_file *file;
	enum op_kind kind;
	bool asked, may_fail;
	uint64_t first, count; /* blocks; TRUNCATE: all from first */
	uint64_t begin;        /* by races.now */
	uint32_t number;
	uint64_t *words; /* of a write */
	struct op *next;
};

struct races {
	const char *directory; /* where the server has the files */
	struct nfs_url *url;
	uint64_t seed, chance;
	uint64_t now;
	struct client clients[CLIENTS];
	struct lane lanes[CLIENTS * LANES];
	struct shared_file *slots[SLOTS], *doomed;
	struct op *ops; /* in flight */
	uint32_t files; /* numbers them */
	unsigned int connections;
	bool away;  /* the export is, or may be: what is asked now may fail */
	bool quiet; /* nothing new is asked for */
	bool failed;
	uint64_t done[OP_KINDS], stale, away_errors, names;
};

/* Uniform below bound, from and into *chance. */
uint64_t races_random(uint64_t *chance, uint64_t bound);

/* false, with a message: something is wrong. */
bool races_warn(struct races *races, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each lane that has nothing in flight asks for the next thing. */
void races_ask(struct races *races);

/* What a read of blocks from first has brought, and may: begin is when it was sent. */
bool races_check(struct races *races, struct shared_file *file, uint64_t first, uint64_t count,
	uint64_t begin, const void *data, uint64_t bytes);

/* The words of blocks that are written. */
void races_fill(const struct shared_file *file, uint64_t first, uint64_t count, uint32_t number,
	uint64_t *words);

/* The oldest read of the file that is in flight. */
uint64_t races_oldest_read(const struct races *races, const struct shared_file *file);

/* Whatever has come is dealt with; waits for at most msec. */
bool races_turn(struct races *races, int msec);

/* Until nothing is in flight. */
bool races_quiesce(struct races *races);

bool races_make_files(struct races *races);

/* A file is renamed, replaced by another, or deleted and made again, while all lanes go on. */
bool races_change_name(struct races *races);

/* The connections of NFSv4 are new: so must be what they have open. */
bool races_open_again(struct races *races);

/* All is quiet: over NFS and on the disk there is the same, and what there may be. Deletes the files. */
bool races_check_all(struct races *races);

#endif
