# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# A Debian in $base/root by debootstrap, from the mirror that apt uses here, for a program that sources this
# at the top of the tree and has set
#
#	self    itself; called as `$self make-root|inside ...`, it calls that function
#	suite   which Debian
#	base    the directory that has all of it
#
# Everything happens in a mount and a process namespace, so that no mount and no process outlives a run, however
# it ends.

# shellcheck disable=SC2154 # set by who sources this
root=$base/root
isolated=(unshare --mount --propagation private --pid --fork --kill-child "$self")

fail() {
	echo "tests/${self##*/}: $*" >&2
	exit 1
}

make_root() {
	local new=$1 mirror

	# shellcheck disable=SC2016 # a field of apt's, not a variable
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Label: Debian' | sort -u | head -n 1)
	if [ -z "$mirror" ]; then
		echo "apt has no Debian mirror configured here"
		exit 1
	fi
	# The script of sid: that of each release is a link to it, and this debootstrap may not know the release.
	debootstrap --variant=minbase "$suite" "$new" "$mirror" sid
	# What it takes to reach the mirror from here.
	apt-config dump | grep '^Acquire::' >"$new/etc/apt/apt.conf.d/00host"
	# Ganesha looks there for the file systems it may export.
	ln -s /proc/self/mounts "$new/etc/mtab"
	mkdir "$new/canfs" "$new/other-build"
	chmod 755 "$new"
}

# The root appears whole or not at all. What is removed is not in the namespace that debootstrap mounted in.
ensure_root() {
	local new

	[ ! -e "$root" ] || return 0
	echo "making a Debian $suite in ${base#"$PWD/"}"
	rm -rf "$root".*
	trap 'rm -rf "$root".*' EXIT
	new=$(mktemp -d "$root.XXXXXX")
	"${isolated[@]}" make-root "$new" >"$base/debootstrap.log" 2>&1 ||
		fail "debootstrap: $(tail -n 1 "$base/debootstrap.log") ($base/debootstrap.log)"
	mv -T "$new" "$root"
}

# A mount point, as programs expect of /.
mount_root() {
	mount --bind "$root" "$root"
}

# Runs a command there, in /canfs, which is this tree, read-only, with $base/build as its build.
#
# Process 1 of the namespace: it stays, since what it started last may leave processes to it, and since a
# process 1 does not end of SIGTERM, which is sent to the test's whole group.
inside() {
	mkdir -p "$base/build"
	mount_root
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/run"
	mount -o bind,ro "$PWD" "$root/canfs"
	mount --bind "$base/build" "$root/canfs/build"
	[ ! -d build/dev ] || mount -o bind,ro build/dev "$root/other-build"
	cp -L /etc/resolv.conf /etc/hosts "$root/etc"
	# Not chroot: a process that enters another's namespace, as the tests do, gets the namespace's own root.
	cd "$root" || exit
	pivot_root . .
	umount -l .
	cd /canfs || exit
	env -u TMPDIR PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		PYTHONDONTWRITEBYTECODE=1 "$@"
}
