// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * For User-Mode Linux on processors whose state of registers is larger than it was made for (AMX: 11 KiB): the host takes such
 * a state as a whole or not at all, and UML hands over the beginning of it, as much as it knows. It dies of that before its
 * first program. Preloaded, this adds the rest: components that UML does not know are in their initial state, in which its
 * programs, which know nothing of them either, leave them.
 *
 *	UML --- PTRACE_SETREGSET, 2.6 KiB ---> this --- all 11 KiB ---> host
 */
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define STATE_MAX 65536

/* Intel SDM volume 1, §13.4: the legacy region, and in the header behind it which components are not in their initial state. */
#define LEGACY_BYTES   512
#define FIRST_EXTENDED 2
#define COMPONENTS     63
#define XSAVE_LEAF     0xd

typedef long ptrace_fn(enum __ptrace_request request, ...);

static ptrace_fn *next;

/* Not on the stack: UML's are small. Its kernel is one thread. */
static uint8_t state[STATE_MAX];
static uint64_t beyond[STATE_MAX / 64]; /* components that end behind so many times 64 octets */

__attribute__((constructor)) static void find_next(void)
{
	next = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
	for (unsigned int i = FIRST_EXTENDED; i < COMPONENTS; i++) {
		unsigned int bytes = 0, offset = 0, flags, unused;

		__cpuid_count(XSAVE_LEAF, i, bytes, offset, flags, unused);
		for (size_t at = 0; at < STATE_MAX / 64 && at * 64 < (size_t)offset + bytes; at++)
			beyond[at] |= UINT64_C(1) << i;
	}
}

static void forget_beyond(size_t bytes)
{
	uint64_t in_use;

	memcpy(&in_use, state + LEGACY_BYTES, sizeof(in_use));
	in_use &= ~beyond[bytes / 64];
	memcpy(state + LEGACY_BYTES, &in_use, sizeof(in_use));
	memset(state + bytes, 0, STATE_MAX - bytes);
}

static long set_state(pid_t pid, void *type, const struct iovec *given)
{
	struct iovec whole = { .iov_base = state, .iov_len = sizeof(state) };
	long ret = next(PTRACE_GETREGSET, pid, type, &whole);

	if (ret < 0 || whole.iov_len <= given->iov_len || given->iov_len < LEGACY_BYTES + 64)
		return next(PTRACE_SETREGSET, pid, type, given);
	memcpy(state, given->iov_base, given->iov_len);
	forget_beyond(given->iov_len);
	return next(PTRACE_SETREGSET, pid, type, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	void *address, *data;
	pid_t pid;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	address = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	if (request == PTRACE_SETREGSET && (uintptr_t)address == NT_X86_XSTATE)
		return set_state(pid, address, data);
	return next(request, pid, address, data);
}
