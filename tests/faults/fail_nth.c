// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * A library to preload (LD_PRELOAD): one call of the C library fails, in a program that is otherwise as it is.
 *
 * A point is the n-th call from one call stack. The number of a call alone would mean another call in each run of a program that waits
 * for something; its stack does not. Only calls below a function of the program itself count, its libraries' on its behalf included
 * (malloc() in json_pack()), those of the dynamic linker excluded.
 *
 *	CANFS_FAULTS_LOG=FILE   each point is a line there: STACK NUMBER FUNCTION WAYS OBJECT+OFFSET, the caller in the program
 *	CANFS_FAULTS_MAX=N      but no more of one stack
 *	CANFS_FAULTS_FAIL="STACK NUMBER WAY"   that one fails, in one of its ways, and is the only line in FILE
 *	CANFS_FAULTS_OBJECT=NAME   the program is the shared object with this in its name, a plugin; what it asks of its host, which
 *	                        has names with "ganesha", "libfsal" or "ntirpc", does not count
 *
 * Made-up files of the kernel's (below /proc, /sys) are as the real ones in this: O_TRUNC takes nothing away, no write is cut short.
 *
 * All functions here take no more than six integers or pointers, so that one type serves for all.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#define ARGUMENTS long a, long b, long c, long d, long e, long f
#define PASSED    a, b, c, d, e, f

typedef long function(ARGUMENTS);

/* How a caller is told: -1 or NULL with errno; by what is returned; likewise, but after it has been done. */
enum how { MINUS_ONE, IS_NULL, RETURNED, CLOSED };

/* Another way to fail: half is done; a signal. */
enum { NO_OTHER, HALF, SIGNAL };

/* Name, how its failure is told, with which error, another way. */
#define FUNCTIONS(X)                                                                               \
	X(malloc, IS_NULL, ENOMEM, NO_OTHER)                                                       \
	X(calloc, IS_NULL, ENOMEM, NO_OTHER)                                                       \
	X(realloc, IS_NULL, ENOMEM, NO_OTHER)                                                      \
	X(aligned_alloc, IS_NULL, ENOMEM, NO_OTHER)                                                \
	X(posix_memalign, RETURNED, ENOMEM, NO_OTHER)                                              \
	X(mmap, MINUS_ONE, ENOMEM, NO_OTHER)                                                       \
	X(madvise, MINUS_ONE, EAGAIN, NO_OTHER)                                                    \
	X(mincore, MINUS_ONE, EAGAIN, NO_OTHER)                                                    \
	X(memfd_create, MINUS_ONE, EMFILE, NO_OTHER)                                               \
	X(open, MINUS_ONE, EMFILE, NO_OTHER)                                                       \
	X(open64, MINUS_ONE, EMFILE, NO_OTHER)                                                     \
	X(openat, MINUS_ONE, EMFILE, NO_OTHER)                                                     \
	X(mkstemp, MINUS_ONE, ENOSPC, NO_OTHER)                                                    \
	X(name_to_handle_at, MINUS_ONE, EOPNOTSUPP, NO_OTHER)                                      \
	X(open_by_handle_at, MINUS_ONE, ESTALE, NO_OTHER)                                          \
	X(fopen, IS_NULL, EMFILE, NO_OTHER)                                                        \
	X(fdopen, IS_NULL, ENOMEM, NO_OTHER)                                                       \
	X(open_memstream, IS_NULL, ENOMEM, NO_OTHER)                                               \
	X(getline, MINUS_ONE, ENOMEM, NO_OTHER)                                                    \
	X(fflush, CLOSED, ENOSPC, NO_OTHER)                                                        \
	X(fclose, CLOSED, ENOSPC, NO_OTHER)                                                        \
	X(close, CLOSED, EIO, NO_OTHER)                                                            \
	X(opendir, IS_NULL, EMFILE, NO_OTHER)                                                      \
	X(readdir, IS_NULL, EIO, NO_OTHER)                                                         \
	X(read, MINUS_ONE, EIO, SIGNAL)                                                            \
	X(pread, MINUS_ONE, EIO, SIGNAL)                                                           \
	X(write, MINUS_ONE, ENOSPC, HALF)                                                          \
	X(pwrite, MINUS_ONE, ENOSPC, HALF)                                                         \
	X(ioctl, MINUS_ONE, EIO, NO_OTHER)                                                         \
	X(fcntl, MINUS_ONE, EMFILE, NO_OTHER)                                                      \
	X(flock, MINUS_ONE, ENOLCK, NO_OTHER)                                                      \
	X(fsync, MINUS_ONE, EIO, NO_OTHER)                                                         \
	X(syncfs, MINUS_ONE, EIO, NO_OTHER)                                                        \
	X(sync_file_range, MINUS_ONE, EIO, NO_OTHER)                                               \
	X(posix_fadvise, RETURNED, EIO, NO_OTHER)                                                  \
	X(ftruncate, MINUS_ONE, EIO, NO_OTHER)                                                     \
	X(fchmod, MINUS_ONE, EROFS, NO_OTHER)                                                      \
	X(rename, MINUS_ONE, ENOSPC, NO_OTHER)                                                     \
	X(unlink, MINUS_ONE, EROFS, NO_OTHER)                                                      \
	X(mkdir, MINUS_ONE, ENOSPC, NO_OTHER)                                                      \
	X(rmdir, MINUS_ONE, EBUSY, NO_OTHER)                                                       \
	X(access, MINUS_ONE, EIO, NO_OTHER)                                                        \
	X(stat, MINUS_ONE, EIO, NO_OTHER)                                                          \
	X(fstat, MINUS_ONE, EIO, NO_OTHER)                                                         \
	X(lstat, MINUS_ONE, EIO, NO_OTHER)                                                         \
	X(fstatat, MINUS_ONE, EIO, NO_OTHER)                                                       \
	X(statx, MINUS_ONE, EIO, NO_OTHER)                                                         \
	X(statfs, MINUS_ONE, EIO, NO_OTHER)                                                        \
	X(readlink, MINUS_ONE, EIO, NO_OTHER)                                                      \
	X(realpath, IS_NULL, EIO, NO_OTHER)                                                        \
	X(socket, MINUS_ONE, EMFILE, NO_OTHER)                                                     \
	X(socketpair, MINUS_ONE, EMFILE, NO_OTHER)                                                 \
	X(pipe2, MINUS_ONE, EMFILE, NO_OTHER)                                                      \
	X(dup2, MINUS_ONE, EMFILE, NO_OTHER)                                                       \
	X(bind, MINUS_ONE, EADDRINUSE, NO_OTHER)                                                   \
	X(bindresvport_sa, MINUS_ONE, EADDRINUSE, NO_OTHER)                                        \
	X(listen, MINUS_ONE, EADDRINUSE, NO_OTHER)                                                 \
	X(accept4, MINUS_ONE, EMFILE, SIGNAL)                                                      \
	X(connect, MINUS_ONE, ECONNREFUSED, NO_OTHER)                                              \
	X(getsockopt, MINUS_ONE, ENOBUFS, NO_OTHER)                                                \
	X(setsockopt, MINUS_ONE, ENOBUFS, NO_OTHER)                                                \
	X(getsockname, MINUS_ONE, ENOBUFS, NO_OTHER)                                               \
	X(recv, MINUS_ONE, ECONNRESET, SIGNAL)                                                     \
	X(recvmsg, MINUS_ONE, ENOMEM, SIGNAL)                                                      \
	X(send, MINUS_ONE, EPIPE, HALF)                                                            \
	X(sendmsg, MINUS_ONE, ENOBUFS, SIGNAL)                                                     \
	X(sendmmsg, MINUS_ONE, ENOBUFS, SIGNAL)                                                    \
	X(getaddrinfo, RETURNED, EAI_MEMORY, NO_OTHER)                                             \
	X(getnameinfo, RETURNED, EAI_MEMORY, NO_OTHER)                                             \
	X(getifaddrs, MINUS_ONE, ENOMEM, NO_OTHER)                                                 \
	X(poll, MINUS_ONE, ENOMEM, SIGNAL)                                                         \
	X(eventfd, MINUS_ONE, EMFILE, NO_OTHER)                                                    \
	X(eventfd_read, MINUS_ONE, EAGAIN, NO_OTHER)                                               \
	X(signalfd, MINUS_ONE, EMFILE, NO_OTHER)                                                   \
	X(fanotify_init, MINUS_ONE, EMFILE, NO_OTHER)                                              \
	X(fanotify_mark, MINUS_ONE, ENOSPC, NO_OTHER)                                              \
	X(pidfd_open, MINUS_ONE, EMFILE, NO_OTHER)                                                 \
	X(fork, MINUS_ONE, EAGAIN, NO_OTHER)                                                       \
	X(execvp, MINUS_ONE, ENOMEM, NO_OTHER)                                                     \
	X(posix_spawnp, RETURNED, ENOMEM, NO_OTHER)                                                \
	X(waitpid, MINUS_ONE, EINTR, NO_OTHER)                                                     \
	X(prctl, MINUS_ONE, EINVAL, NO_OTHER)                                                      \
	X(setrlimit, MINUS_ONE, EPERM, NO_OTHER)                                                   \
	X(pthread_create, RETURNED, EAGAIN, NO_OTHER)                                              \
	X(getrandom, MINUS_ONE, ENOSYS, NO_OTHER)                                                  \
	X(nanosleep, MINUS_ONE, EINTR, NO_OTHER)                                                   \
	X(dlopen, IS_NULL, ENOMEM, NO_OTHER)                                                       \
	X(syscall, MINUS_ONE, ENOSYS, NO_OTHER)

struct wrapped {
	const char *name;
	enum how how;
	int errnum;
	int other;
	function *real;
};

#define NUMBER(name, how, error, other) NUMBER_##name,
#define ROW(name, how, error, other)    [NUMBER_##name] = { #name, how, error, other, NULL },

enum { FUNCTIONS(NUMBER) FUNCTIONS_COUNT };

static struct wrapped wrapped[FUNCTIONS_COUNT] = { FUNCTIONS(ROW) };

enum { STACK_MAX = 32, SEEN_MAX = 1 << 16, DESCRIPTORS_MAX = 1024 };

static bool is_kernels[DESCRIPTORS_MAX]; /* what was opened last with this descriptor */

struct stack {
	uint64_t hash;
	size_t depth;
	const char *object; /* of the first caller in the program; NULL: there is none */
	bool is_passed_on; /* by a function of the plugin's that has the same name: its caller is told */
	uintptr_t offset;
};

static struct {
	bool active;
	char log[256];
	unsigned int most; /* calls of one stack */
	uint64_t stack;
	unsigned int number, way; /* of what is to fail; number 0: nothing */
	const char *object;
} asked;

/* Calls so far of each stack; a hash of 0 is free. */
static struct {
	int lock;
	struct {
		uint64_t hash;
		unsigned int calls;
	} stack[SEEN_MAX];
} seen;

/* What this library itself calls, or the C library below a function here, passes through. */
static __thread bool inside __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void read_environment(void)
{
	const char *log = getenv("CANFS_FAULTS_LOG"), *most = getenv("CANFS_FAULTS_MAX"),
		   *fail = getenv("CANFS_FAULTS_FAIL");
	unsigned long long stack;

	unsetenv("LD_PRELOAD"); /* of what the program starts */
	asked.object = getenv("CANFS_FAULTS_OBJECT");
	asked.most = most ? (unsigned int)atoi(most) : 1;
	if (!log)
		return;
	snprintf(asked.log, sizeof(asked.log), "%s", log);
	if (fail && sscanf(fail, "%llx %u %u", &stack, &asked.number, &asked.way) == 3)
		asked.stack = stack;
	asked.active = true;
}

static bool is_program(const struct link_map *map)
{
	return asked.object ? !!strstr(map->l_name, asked.object) : map->l_name[0] == '\0';
}

/* Whose calls do not count. */
static bool is_host(const struct link_map *map)
{
	const char *slash = strrchr(map->l_name, '/');

	if (slash && strncmp(slash, "/ld-linux", 9) == 0)
		return true;
	return asked.object &&
	       (map->l_name[0] == '\0' ||
		       (slash && (strstr(slash, "ganesha") || strstr(slash, "libfsal") ||
					 strstr(slash, "ntirpc"))));
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct stack *stack = arg;
	uintptr_t at = _Unwind_GetIP(context);
	struct dl_find_object found;

	if (_dl_find_object((void *)(at - 1), &found) != 0)
		return _URC_END_OF_STACK;
	at -= found.dlfo_link_map->l_addr;
	stack->hash = (stack->hash ^ at) * UINT64_C(0x100000001b3);
	if (!stack->object && is_program(found.dlfo_link_map)) {
		if (!stack->is_passed_on) {
			stack->object = found.dlfo_link_map->l_name;
			stack->offset = at - 1;
		}
		stack->is_passed_on = false;
	} else if (!stack->object && is_host(found.dlfo_link_map)) {
		return _URC_END_OF_STACK;
	}
	return ++stack->depth < STACK_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* The number of this call, from 1; more than those asked for if there is no more room. */
static unsigned int count(uint64_t hash)
{
	size_t at = (hash ^ hash >> 32) % SEEN_MAX;
	unsigned int calls = UINT32_MAX;

	while (__atomic_exchange_n(&seen.lock, 1, __ATOMIC_ACQUIRE))
		continue;
	for (size_t i = 0; i < SEEN_MAX; i++, at = (at + 1) % SEEN_MAX) {
		if (seen.stack[at].hash != 0 && seen.stack[at].hash != hash)
			continue;
		seen.stack[at].hash = hash;
		calls = ++seen.stack[at].calls;
		break;
	}
	__atomic_store_n(&seen.lock, 0, __ATOMIC_RELEASE);
	return calls;
}

/* Opened each time: some programs close all descriptors. */
static void note(const struct wrapped *call, const struct stack *stack, unsigned int number)
{
	char line[512];
	int length = snprintf(line, sizeof(line), "%016llx %u %s %d %s+0x%lx\n",
		(unsigned long long)stack->hash, number, call->name,
		call->other == NO_OTHER ? 1 : 2, stack->object, (unsigned long)stack->offset);
	long fd = syscall(
		SYS_openat, AT_FDCWD, asked.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	syscall(SYS_write, fd, line, length);
	syscall(SYS_close, fd);
}

/* Is this the call that is to fail? */
static bool is_asked(const struct wrapped *call)
{
	struct stack stack = { .hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)(call - wrapped),
		.is_passed_on = asked.object && call <= &wrapped[NUMBER_posix_memalign] };
	unsigned int number;

	_Unwind_Backtrace(add_frame, &stack);
	if (!stack.object || (asked.number != 0 && stack.hash != asked.stack))
		return false;
	number = count(stack.hash);
	if (asked.number != 0 ? number != asked.number : number > asked.most)
		return false;
	note(call, &stack, number);
	return asked.number != 0;
}

static long fail(const struct wrapped *call, ARGUMENTS)
{
	bool otherwise = asked.way == 1;

	if (otherwise && call->other == HALF && c > 1 && !(a < DESCRIPTORS_MAX && is_kernels[a]))
		return call->real(a, b, c / 2, d, e, f);
	if (call->how == CLOSED)
		call->real(PASSED);
	if (call->how == RETURNED)
		return call->errnum;
	errno = otherwise && call->other == SIGNAL ? EINTR : call->errnum;
	return call->how == IS_NULL ? 0 : -1;
}

static long real_open(const char *path, int flags, int mode)
{
	static const char proc[] = "/proc/", sys[] = "/sys/";
	bool kernels = strncmp(path, proc, sizeof(proc) - 1) == 0 ||
		       strncmp(path, sys, sizeof(sys) - 1) == 0;
	long fd = syscall(SYS_openat, AT_FDCWD, path, kernels ? flags & ~O_TRUNC : flags, mode);

	if (fd >= 0 && fd < DESCRIPTORS_MAX)
		is_kernels[fd] = kernels;
	return fd;
}

static long call_real(struct wrapped *call, ARGUMENTS)
{
	long result;

	if (call != &wrapped[NUMBER_open] || !asked.active)
		return call->real(PASSED);
	inside = true;
	result = real_open((const char *)a, (int)b, (int)c);
	inside = false;
	return result;
}

static long pass(struct wrapped *call, ARGUMENTS)
{
	int before = errno;
	bool fails;

	if (!call->real)
		call->real = (function *)dlsym(RTLD_NEXT, call->name);
	if (inside || !asked.active)
		return call->real(PASSED);
	inside = true;
	fails = is_asked(call);
	inside = false;
	errno = before;
	return fails ? fail(call, PASSED) : call_real(call, PASSED);
}

#define WRAP(name, how, error, other)                                                              \
	__attribute__((visibility("default"))) long wrapped_##name(ARGUMENTS) __asm__(#name);      \
	long wrapped_##name(ARGUMENTS)                                                             \
	{                                                                                          \
		return pass(&wrapped[NUMBER_##name], PASSED);                                      \
	}

FUNCTIONS(WRAP)
