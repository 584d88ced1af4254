# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# What the tests of packages share; they run in a Debian of their own (tests/packages), in the top of the tree.
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

# shellcheck disable=SC2034 # for who sources this
packages=(canfs-agent canfs-priced canfs-tools nfs-ganesha-canfs)
made=$PWD/build/package
calls=/tmp/systemctl.log

fail() {
	echo "failed: $*"
	exit 1
}

# Asks nothing; a configuration that the administrator has changed stays.
apt_get() {
	apt-get -qq -y --no-install-recommends -o Dpkg::Options::=--force-confold "$@" >/tmp/apt.log 2>&1 </dev/null || {
		tail -n 20 /tmp/apt.log
		fail "apt-get $*"
	}
}

# No service manager runs here: what maintainer scripts ask of one is written down. To them all units run. (apt's path
# has no /usr/local.)
record_systemctl() {
	mkdir -p /run/systemd/system
	rm -f /usr/sbin/policy-rc.d
	cat >/usr/sbin/systemctl <<-END
		#!/bin/sh
		echo "\$*" >>$calls
		case "\$*" in
		*is-enabled*) echo disabled && exit 1 ;;
		*is-active*) echo active ;;
		*show*) echo LoadState=loaded ;;
		esac
	END
	chmod 755 /usr/sbin/systemctl
}

# asked WORD UNIT: was systemctl told so? It is forgotten then.
asked() {
	grep -q -- "\b$1 .*$2" $calls
}

# The daemons are ours: no other process of that name is in this namespace.
none_runs() {
	local command

	for command in /proc/[0-9]*/comm; do
		case $(cat "$command" 2>/dev/null) in
		canfs-*) fail "a daemon runs $1" ;;
		esac
	done
	! grep -E '(^| )(re)?start ' $calls 2>/dev/null || fail "systemctl is to start something $1"
}

# repack NAME VERSION PACKAGE COMMAND...: a package of that name and version from ours; COMMAND changes it, in its folder.
# Prints its path.
repack() {
	local name=$1 version=$2 package=$3 folder

	shift 3
	folder=/tmp/repacked/$name.d
	rm -rf "$folder" && mkdir -p "${folder%/*}"
	dpkg-deb --raw-extract "$made/$package"_*.deb "$folder"
	sed -i "s/^Version: .*/Version: $version/" "$folder/DEBIAN/control"
	(cd "$folder" && "$@") >&2 || fail "$*"
	dpkg-deb --root-owner-group --build "$folder" "/tmp/repacked/${name}_$version.deb" >/dev/null
	echo "/tmp/repacked/${name}_$version.deb"
}
