# SPDX-License-Identifier: LGPL-3.0-or-later
"""unit_calls.py UNIT: checks that a unit allows all system calls of its program. Of the calls that affect other processes or
privileges, it must allow only those."""

import functools
import pathlib
import re
import subprocess
import sys

# Seen by strace, and alternatives that the C library may use.
BOTH = """accept4 access arch_prctl bind brk clock_gettime clone clone3 close connect execve exit exit_group fchmod fcntl flock
futex getdents64 getpid getrandom getsockname getsockopt ioctl listen lseek madvise mkdir mmap mprotect munmap newfstatat openat
poll ppoll prctl pread64 prlimit64 read readlink recvfrom recvmsg rename rseq rt_sigaction rt_sigprocmask sendmmsg sendmsg sendto
set_robust_list set_tid_address setsockopt shutdown signalfd4 socket unlink write"""
NEEDED = {
    "canfs-agent": BOTH + """ cachestat epoll_create1 epoll_ctl epoll_wait eventfd2 fadvise64 fsync ftruncate name_to_handle_at openat2
                          setfsgid setfsuid statx sync_file_range""",
    "canfs-priced": BOTH + " eventfd2 getegid geteuid getgid getuid",
}
NEVER = """add_key bpf chown chroot clock_settime fork init_module io_uring_enter io_uring_setup kcmp kexec_load keyctl mlockall mount
open_by_handle_at perf_event_open pidfd_getfd pidfd_open pidfd_send_signal process_madvise process_vm_readv process_vm_writev ptrace
reboot sched_setscheduler setgroups setns setpriority setresuid setuid swapon umount2 unshare userfaultfd vfork"""


@functools.cache
def expand(word):
    """A call, or those of a group of systemd's."""
    if not word.startswith("@"):
        return frozenset([word])
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", word], check=True, text=True, capture_output=True)
    names = re.findall(r"^ +([@a-z_0-9-]+)$", said.stdout, re.M)
    return frozenset().union(*map(expand, (name for name in names if name != word)))


def allowed(unit):
    calls = set()
    for value in re.findall(r"^SystemCallFilter=(.*)$", unit.read_text(), re.M):
        named = set().union(*map(expand, value.lstrip("~").split()))
        calls = calls - named if value.startswith("~") else calls | named
    return calls


def main():
    unit = pathlib.Path(sys.argv[1])
    calls = allowed(unit)
    missing = sorted(set(NEEDED[unit.stem].split()) - calls)
    needless = sorted(set(NEVER.split()) & calls)
    if missing or needless:
        sys.exit(f"{unit.name}: it makes and may not: {missing}; it may and never does: {needless}")


main()
