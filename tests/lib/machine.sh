# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# SC2174: a parent's mode is right as it is.
# shellcheck disable=SC2174
#
# A throw-away machine for the root tests and the demo: this machine's own file
# system under an overlay, in namespaces of its own (mount, pid, net, uts, ipc and
# cgroup). Users, PAM edits, daemons and cgroups exist in there only and are gone
# with it. Nothing has to be tidied by name, and two runs at once do not meet.
#
#   . tests/lib/machine.sh
#   machine_enter "$0" "$@"     # returns inside the machine
#   machine_setup               # product, users, sshd, ...
#
# Outside, machine_enter never returns: it runs the script again inside, looks
# whether this machine is as it was before, and ends with the script's status.
#
# Set by the caller:
#   SBX_SOURCE          the source tree (default: found from this file)
#   SBX_BUILD           the build directory (default: $SBX_SOURCE/build)
#   SBX_TEST_WITHOUT    "module": leave the pam_sbx.so lines out. Every assertion
#                       about the sandbox must fail then, or it proves nothing.

set -u

machine_lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${SBX_SOURCE:=$(cd "$machine_lib/../.." && pwd)}"
: "${SBX_BUILD:=$SBX_SOURCE/build}"
export SBX_SOURCE SBX_BUILD

# More than any test needs, less than what would hurt: a fork bomb or a memory hog
# that gets past the product must not take this machine with it.
MACHINE_TASKS_MAX=6000
MACHINE_MEMORY_MAX=$((6 * 1024 * 1024 * 1024))

machine_die()
{
	printf 'machine: %s\n' "$*" >&2
	exit 99
}

# ---------------------------------------------------------------- outside

# "TYPE MOUNTPOINT OPTIONS" of each cgroup hierarchy of this machine; OPTIONS are the
# controllers, as mount(8) wants them.
machine_cgroups()
{
	awk '{ for (i = 7; $i != "-"; i++) ; type = $(i + 1); super = $(i + 3)
	       if (type == "cgroup2") print type, $5, "-"
	       if (type == "cgroup") { sub(/^(rw|ro),?/, "", super); print type, $5, super } }' \
		/proc/self/mountinfo
}

# What must not change: printed before and after, and compared. Mount IDs are left
# out because the kernel hands them out anew; the counts of other people's cgroups too.
machine_fingerprint()
{
	cut -d' ' -f3- /proc/self/mountinfo | sort
	sha256sum /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/sub?id /etc/pam.d/* \
		/etc/sudoers 2>/dev/null
	ls -d /etc/sbx /var/lib/sbx /run/sbx /usr/libexec/sbx 2>/dev/null
	find /lib/*/security /usr/lib/*/security -name 'pam_sbx*' 2>/dev/null
	stat -c '%A %U %G %n' /dev/log /run/utmp /var/log/wtmp 2>/dev/null
	hostname
}

machine_cgroup_make()
{
	local type path options
	while read -r type path options; do
		mkdir "$path/$machine_cgroup" 2>/dev/null || continue
		if [ -e "$path/$machine_cgroup/pids.max" ]; then
			echo "$MACHINE_TASKS_MAX" >"$path/$machine_cgroup/pids.max"
		fi
		if [ "$type" = cgroup2 ]; then
			[ ! -e "$path/$machine_cgroup/memory.max" ] ||
				echo "$MACHINE_MEMORY_MAX" >"$path/$machine_cgroup/memory.max"
		elif [ -e "$path/$machine_cgroup/memory.limit_in_bytes" ]; then
			echo "$MACHINE_MEMORY_MAX" >"$path/$machine_cgroup/memory.limit_in_bytes"
		fi
		# cpuset on v1 starts out empty, and a group with no CPU takes no task.
		if [ "$type" = cgroup ] && [ -e "$path/$machine_cgroup/cpuset.cpus" ]; then
			cat "$path/cpuset.cpus" >"$path/$machine_cgroup/cpuset.cpus"
			cat "$path/cpuset.mems" >"$path/$machine_cgroup/cpuset.mems"
		fi
	done < <(machine_cgroups)
}

# Remove the machine's cgroups; what cannot be removed still holds a process.
machine_cgroup_remove()
{
	local type path options left
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		left=
		while read -r type path options; do
			[ -d "$path/$machine_cgroup" ] || continue
			find "$path/$machine_cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null
			[ ! -d "$path/$machine_cgroup" ] || left="$left $path/$machine_cgroup"
		done < <(machine_cgroups)
		[ -n "$left" ] || return 0
		sleep 0.1
	done
	printf 'left behind:%s\n' "$left"
	return 1
}

# NAME=VALUE arguments of a make that this may have been started from: installing with
# other ones would build everything anew. Not its options, which name open files.
machine_makeflags()
{
	case ${MAKEFLAGS:-} in
	*" -- "* | "-- "*) printf ' -- %s' "${MAKEFLAGS##*-- }" ;;
	esac
}

machine_outside()
{
	local script=$1 rc before after scratch
	shift

	[ "$(id -u)" = 0 ] || {
		echo "1..0 # SKIP needs root"
		exit 0
	}
	machine_cgroup=sbxtest.$$
	scratch=$(mktemp -d) || machine_die "no temporary directory"
	before=$(machine_fingerprint)
	machine_cgroup_make
	case $script in
	*.test) echo "0 0" >"$scratch/count" ;; # a test that does not get far has failed
	esac

	# If this script is killed, nothing may stay behind either: the kernel then kills what
	# runs inside (--pdeathsig), and the reader of this pipe, which ends with it, tidies up.
	local alive
	exec {alive}> >(
		exec >/dev/null 2>&1
		trap '' INT TERM HUP
		read -r _
		machine_cgroup_remove
		rm -rf "$scratch"
	)

	# The subshell moves into the new cgroups, so that they become the root of the
	# cgroup namespace made right afterwards. env -i: a test must not depend on who
	# runs it. --kill-child: nothing outlives this script, however it ends.
	(
		exec {alive}>&-
		while read -r type path options; do
			[ ! -d "$path/$machine_cgroup" ] ||
				echo 0 2>/dev/null >"$path/$machine_cgroup/cgroup.procs"
		done < <(machine_cgroups)
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root TERM="${TERM:-dumb}" SBX_MACHINE="$scratch" \
			SBX_SOURCE="$SBX_SOURCE" SBX_BUILD="$SBX_BUILD" \
			SBX_TEST_WITHOUT="${SBX_TEST_WITHOUT:-}" SBX_TEST_ONLY="${SBX_TEST_ONLY:-}" \
			SBX_TEST_DEBUG="${SBX_TEST_DEBUG:-}" SBX_MAKEFLAGS="$(machine_makeflags)" \
			setpriv --pdeathsig KILL \
			unshare --mount --propagation private --pid --net --uts --ipc --cgroup \
			--fork --kill-child --mount-proc bash "$script" "$@"
	)
	rc=$?

	after=$(machine_fingerprint)
	local leftover
	leftover=$(machine_cgroup_remove) || true
	if [ "$before" != "$after" ]; then
		leftover="$leftover
$(diff <(echo "$before") <(echo "$after"))"
	fi
	if [ -f "$scratch/count" ]; then
		# A test script: close its TAP stream.
		local count failed
		read -r count failed <"$scratch/count"
		if [ ! -f "$scratch/finished" ]; then
			count=$((count + 1))
			failed=$((failed + 1))
			echo "not ok $count - the test script ran to its end (it ended with $rc)"
		fi
		count=$((count + 1))
		if [ -z "$leftover" ]; then
			echo "ok $count - this machine is as it was before"
		else
			failed=$((failed + 1))
			echo "not ok $count - this machine is as it was before"
			printf '%s\n' "$leftover" | sed 's/^/# /'
		fi
		echo "1..$count"
		[ "$failed" = 0 ] && rc=0 || rc=1
	elif [ -n "$leftover" ]; then
		printf 'machine: %s\n' "$leftover" >&2
		[ "$rc" != 0 ] || rc=99
	fi
	rm -rf "$scratch"
	exit "$rc"
}

# ---------------------------------------------------------------- inside

# The source and build trees, in case they are on a file system that the overlay of /
# does not show, or below /tmp. Overlays too, so that nothing can be built into them.
machine_show()
{
	local path=$1 name=$2 new=$3
	[ -d "$path" ] || return 0
	if [ "$path" -ef "$new$path" ] || [ -e "$new$path" ]; then
		return 0
	fi
	mkdir -p "$new$path"
	machine_overlay "$path" "$name" "$new$path"
}

machine_overlay()
{
	local lower=$1 name=$2 target=$3
	mkdir -p "$SBX_MACHINE/disk/$name/upper" "$SBX_MACHINE/disk/$name/work"
	mount -t overlay overlay "$target" \
		-o "lowerdir=$lower,upperdir=$SBX_MACHINE/disk/$name/upper,workdir=$SBX_MACHINE/disk/$name/work"
}

# Read where cgroup hierarchies are before the new root hides it, mount them after.
machine_root()
{
	local new=$SBX_MACHINE/root cgroups type path options mountpoint node

	cgroups=$(machine_cgroups)
	mkdir -p "$SBX_MACHINE/disk" "$new"
	mount -t tmpfs -o mode=0755,size=4G disk "$SBX_MACHINE/disk"
	machine_overlay / root "$new" || machine_die "no overlay of /"
	# Other file systems that a system may have its parts on.
	while read -r mountpoint; do
		machine_overlay "$mountpoint" "$(echo "$mountpoint" | tr / _)" \
			"$new$mountpoint" 2>/dev/null ||
			mount --bind -o ro "$mountpoint" "$new$mountpoint"
	done < <(awk '{ for (i = 7; $i != "-"; i++) ; print $5, $(i + 1) }' /proc/self/mountinfo |
		awk '$1 ~ "^/(usr|var|home|etc|opt|srv|root)(/|$)" && $2 !~ /^(tmpfs|overlay|autofs|proc|sysfs|nfsd)$/ { print $1 }')

	mount -t tmpfs -o mode=1777,size=2G tmp "$new/tmp"
	mount -t tmpfs -o mode=0755,size=64M run "$new/run"
	mount -t proc -o nosuid,nodev,noexec proc "$new/proc"
	mount -t sysfs -o nosuid,nodev,noexec sysfs "$new/sys"
	mount -t tmpfs -o mode=0755,nosuid,size=4M dev "$new/dev"
	for node in null zero full random urandom tty; do
		touch "$new/dev/$node"
		mount --bind "/dev/$node" "$new/dev/$node"
	done
	mkdir "$new/dev/pts" "$new/dev/shm"
	mount -t devpts -o newinstance,gid=5,mode=0620,ptmxmode=0666 devpts "$new/dev/pts"
	mount -t tmpfs -o mode=1777 shm "$new/dev/shm"
	ln -s pts/ptmx "$new/dev/ptmx"
	ln -s /proc/self/fd "$new/dev/fd"
	ln -s /proc/self/fd/0 "$new/dev/stdin"
	ln -s /proc/self/fd/1 "$new/dev/stdout"
	ln -s /proc/self/fd/2 "$new/dev/stderr"
	# The caller's terminal is a node of a devpts that is not ours, so that the demo's
	# shell can find it by name.
	if [ -t 0 ]; then
		node=$(tty)
		touch "$new/dev/console"
		mount --bind "$node" "$new/dev/console"
	fi

	echo "$cgroups" | grep -q "cgroup /sys/fs/cgroup/" &&
		mount -t tmpfs -o mode=0755,size=1M cgroup "$new/sys/fs/cgroup"
	while read -r type path options; do
		[ -n "$type" ] || continue
		mkdir -p "$new$path"
		if [ "$type" = cgroup2 ]; then
			mount -t cgroup2 cgroup2 "$new$path"
		else
			mount -t cgroup -o "$options" cgroup "$new$path"
		fi || machine_die "cannot mount $type ($options)"
		# Out of the root, which on v2 could otherwise not hand its controllers down.
		mkdir -p "$new$path/machine"
		for node in cpuset.cpus cpuset.mems; do
			[ "$type" = cgroup2 ] || [ ! -e "$new$path/$node" ] ||
				cat "$new$path/$node" >"$new$path/machine/$node"
		done
		echo 0 >"$new$path/machine/cgroup.procs" 2>/dev/null
	done <<<"$cgroups"

	machine_show "$SBX_SOURCE" source "$new"
	machine_show "$SBX_BUILD" build "$new"
	mkdir -p "$new$SBX_MACHINE"
	mount --bind "$SBX_MACHINE" "$new$SBX_MACHINE"
	mkdir -p "$new/tmp/.old"
	cd "$new" || machine_die "cannot enter the new root"
	pivot_root . tmp/.old || machine_die "pivot_root"
	cd / || machine_die "cannot enter /"
	umount -l /tmp/.old
	rmdir /tmp/.old
}

machine_enter()
{
	[ -n "${SBX_MACHINE:-}" ] || machine_outside "$(readlink -f "$1")" "${@:2}"

	# What the caller had open would turn up in every session.
	local fd
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-" # 255: this script
	done
	# This shell is PID 1 in here, which ignores signals that it does not handle.
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	umask 022
	machine_root
}

# ---------------------------------------------------------------- setup

MACHINE_SERVICES="sshd su sudo sudo-i cron login"

machine_accounts()
{
	getent group sbx >/dev/null || groupadd -r sbx
	groupadd -g 2000 builders
	useradd -m -u 3001 -s /bin/bash -G sbx,builders agent
	useradd -m -u 3002 -s /bin/bash -G sbx other
	useradd -m -u 3003 -s /bin/bash bystander
	printf 'host %s\n' agent >/home/agent/host-home
	chown agent: /home/agent/host-home
}

machine_pam_line()
{
	local service arguments=${*:2}
	for service in $1; do
		[ -f "/etc/pam.d/$service" ] || continue
		printf 'session required pam_sbx.so%s\n' "${arguments:+ $arguments}" \
			>>"/etc/pam.d/$service"
	done
}

machine_syslog()
{
	# Datagrams as they come, one line each.
	perl -MSocket -e '
		socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
		bind($s, pack_sockaddr_un("/dev/log")) or die "bind: $!";
		chmod 0666, "/dev/log";
		open(my $out, ">>", "/var/log/syslog") or die "syslog: $!";
		select((select($out), $| = 1)[0]);
		while (defined recv($s, my $line, 65536, 0)) {
			$line =~ s/[\0\n]+$//; print $out "$line\n";
		}' &
	machine_wait 2 test -S /dev/log
}

# machine_wait SECONDS COMMAND...: until the command succeeds.
machine_wait()
{
	local tries=$(($1 * 50))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.02
	done
}

machine_ssh_client()
{
	mkdir -p -m 0700 /root/.ssh
	ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_test
	ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/test_host_key
	local user
	for user in agent other bystander; do
		mkdir -p -m 0700 "/home/$user/.ssh"
		cp /root/.ssh/id_test.pub "/home/$user/.ssh/authorized_keys"
		chown -R "$user:" "/home/$user/.ssh"
	done
	echo "machine,internal $(cut -d' ' -f1,2 /etc/ssh/test_host_key.pub)" \
		>/root/.ssh/known_test
	cat >/root/.ssh/config <<-'END'
		Host machine internal
		    HostName 127.0.0.1
		    HostKeyAlias machine
		    IdentityFile /root/.ssh/id_test
		    IdentitiesOnly yes
		    UserKnownHostsFile /root/.ssh/known_test
		    BatchMode yes
		    ForwardX11 no
		    LogLevel ERROR
		    ConnectTimeout 10
		Host internal
		    Port 23
	END
}

# Two servers: "machine" with the external sftp-server, "internal" with internal-sftp.
machine_sshd()
{
	local port subsystem
	mkdir -p -m 0755 /run/sshd
	for port in 22 23; do
		subsystem=/usr/lib/openssh/sftp-server
		[ -x "$subsystem" ] || subsystem=/usr/libexec/openssh/sftp-server
		[ "$port" = 22 ] || subsystem=internal-sftp
		cat >"/etc/ssh/test_sshd_$port" <<-END
			Port $port
			ListenAddress 127.0.0.1
			HostKey /etc/ssh/test_host_key
			PidFile /run/sshd-$port.pid
			UsePAM yes
			PrintMotd no
			PasswordAuthentication no
			KbdInteractiveAuthentication no
			AllowAgentForwarding yes
			AllowTcpForwarding yes
			AllowStreamLocalForwarding yes
			AcceptEnv LANG LC_* TEST_*
			Subsystem sftp $subsystem
			MaxStartups 100
			UseDNS no
		END
		/usr/sbin/sshd -f "/etc/ssh/test_sshd_$port" || machine_die "sshd did not start"
	done
	machine_wait 3 test -s /run/sshd-22.pid
	machine_wait 3 test -s /run/sshd-23.pid
}

machine_product()
{
	[ "${SBX_TEST_WITHOUT:-}" != product ] || return 0
	MAKEFLAGS=$SBX_MAKEFLAGS make -s -C "$SBX_SOURCE" install DESTDIR= BUILD="$SBX_BUILD" \
		>/tmp/install.log 2>&1 </dev/null || {
		cat /tmp/install.log >&2
		machine_die "make install failed"
	}
}

# Everything a machine with sbx has. Takes about a second.
machine_setup()
{
	ip link set lo up 2>/dev/null || ifconfig lo up
	hostname hosting
	printf '127.0.0.1 localhost\n127.0.1.1 hosting\n' >/etc/hosts
	rm -f /etc/profile.d/* # what an admin added to everybody's PATH here is not our matter
	mkdir -p -m 1777 /run/lock
	mkdir -p -m 0755 /run/user
	: >/run/utmp
	: >/var/log/wtmp
	: >/var/log/btmp
	: >/var/log/lastlog
	: >/var/log/syslog
	chgrp utmp /run/utmp /var/log/wtmp /var/log/btmp /var/log/lastlog
	chmod 0664 /run/utmp /var/log/wtmp /var/log/lastlog
	chmod 0660 /var/log/btmp
	machine_syslog
	machine_product
	machine_accounts
	if [ -z "${SBX_TEST_WITHOUT:-}" ]; then
		machine_pam_line "$MACHINE_SERVICES"
	fi
	machine_ssh_client
	machine_sshd
	install -m 0755 "$machine_lib/facts" /usr/local/bin/facts
}
