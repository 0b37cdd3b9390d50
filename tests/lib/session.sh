# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# SC2034, SC2154: set here for the test scripts, or by machine.sh. SC2174: as meant.
# SC2016: what stands in single quotes is for a shell inside. SC2120: PIDs of all.
# shellcheck disable=SC2015,SC2029,SC2034,SC2154,SC2174,SC2016,SC2119,SC2120
#
# For the test scripts: TAP, the ways to log in, and what must be true of a session,
# seen from inside and from the host. Source it after machine_setup.

jobs_dir=/usr/local/lib/sbxtest # /usr is the host's inside, too: both sides see it
mkdir -p "$jobs_dir"
scratch=/tmp/test
mkdir -p -m 0700 "$scratch"

# ---------------------------------------------------------------- TAP

test_count=0
test_failed=0

# result RC DESCRIPTION [DIAGNOSIS]
result()
{
	test_count=$((test_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $test_count - $2"
	else
		test_failed=$((test_failed + 1))
		echo "not ok $test_count - $2"
		[ -z "${3:-}" ] || printf '%s\n' "$3" | head -n 40 | sed 's/^/# /'
	fi
	echo "$test_count $test_failed" >"$SBX_MACHINE/count"
}

skip()
{
	test_count=$((test_count + 1))
	echo "ok $test_count - $1 # SKIP $2"
	echo "$test_count $test_failed" >"$SBX_MACHINE/count"
}

# check DESCRIPTION COMMAND...: the command must succeed.
check()
{
	local name=$1 output rc=0
	shift
	output=$("$@" 2>&1 </dev/null) || rc=$?
	result "$rc" "$name" "$* ended with $rc
$output"
}

# check_fails DESCRIPTION COMMAND...: it must not, nor be killed by a signal.
check_fails()
{
	local name=$1 output rc=0
	shift
	output=$("$@" 2>&1 </dev/null) || rc=$?
	if [ "$rc" -gt 0 ] && [ "$rc" -lt 124 ] || [ "$rc" = 254 ] || [ "$rc" = 255 ]; then
		rc=0
	else
		output="$* ended with $rc
$output"
		rc=1
	fi
	result "$rc" "$name" "$output"
}

# is DESCRIPTION GOT WANTED
is()
{
	local rc=0
	[ "$2" = "$3" ] || rc=1
	result "$rc" "$1" "got:    $2
wanted: $3"
}

# like DESCRIPTION GOT EXTENDED_REGEX; the whole text is one string.
like()
{
	local rc=0
	[[ $2 =~ $3 ]] || rc=1
	result "$rc" "$1" "got:    $2
wanted: $3"
}

unlike()
{
	local rc=0
	[[ ! $2 =~ $3 ]] || rc=1
	result "$rc" "$1" "got:      $2
unwanted: $3"
}

# The end of every test script.
done_testing()
{
	release_all
	check_idle "nothing is left of any sandbox at the end"
	touch "$SBX_MACHINE/finished"
	exit 0
}

# Run only what SBX_TEST_ONLY (a regular expression) selects; everything by default.
wanted()
{
	[ -z "${SBX_TEST_ONLY:-}" ] || [[ $1 =~ $SBX_TEST_ONLY ]]
}

# ---------------------------------------------------------------- logging in

# Every way into an account. ssh-shell, su-shell and login are typed into a terminal.
ALL_PATHS="ssh ssh-tty ssh-shell su su-login su-pty su-shell sudo sudo-login cron login"

job_number=0

# Write a job; sets JOB. It runs in bash as "bash $JOB", whatever the path, so that no
# quoting lies in between. Output that counts stands between two marks, because
# terminals echo and greet.
job_write()
{
	job_number=$((job_number + 1))
	JOB=$jobs_dir/job.${BASHPID}.$job_number
	{
		echo 'echo "<<<job"'
		printf '%s\n' "$1"
		printf 'printf "\\nstatus=%%s\\n" "$?"\necho "job>>>"\n'
	} >"$JOB"
	chmod 0644 "$JOB"
}

# What the job printed, without marks, carriage returns and its status line.
job_output()
{
	# The status stands on a line of its own, with an empty one before if the output
	# ended as a line does.
	tr -d '\r' <"$1" | awk '
		/^job>>>$/ { exit }
		inside && /^status=[0-9]+$/ { if (n && line[n] == "") n--; next }
		inside { line[++n] = $0 }
		/<<<job$/ { inside = 1 }
		END { for (i = 1; i <= n; i++) print line[i] }'
}

job_status()
{
	tr -d '\r' <"$1" | sed -n '/<<<job$/,/^job>>>$/s/^status=//p'
}

# Type "bash $JOB" into a terminal where COMMAND... has a shell.
typed()
{
	local job=$1
	shift
	# dumb: with any other terminal readline adds marks of its own to the output.
	TERM=dumb expect -f /dev/stdin -- <<-END
		set timeout 30
		log_user 1
		set stty_init "rows 40 columns 200"
		spawn -noecho $*
		expect {
			-re {[\$#] \$} {}
			eof { exit 90 }
			timeout { exit 91 }
		}
		send "bash $job\r"
		set timeout 120
		expect {
			"job>>>" {}
			eof { exit 92 }
			timeout { exit 93 }
		}
		send "exit\r"
		expect { eof {} timeout { exit 94 } }
		lassign [wait] pid spawn_id os_error status
		exit \$status
	END
}

# Debian's cron runs @reboot jobs as soon as it starts, through the same code as
# every other job. Nobody has to wait for the minute to turn. CRON_SETTINGS: lines to put
# above the job's.
through_cron()
{
	local user=$1 job=$2 home file spool=/var/spool/cron/crontabs daemon
	file=.cron-output.$(basename "$job")
	mkdir -p "$spool"
	chgrp crontab "$spool" 2>/dev/null
	chmod 1730 "$spool"
	printf '%s\n@reboot bash %s >"$HOME/%s" 2>&1\n' "${CRON_SETTINGS:-}" "$job" "$file" >"$spool/$user"
	chown "$user:crontab" "$spool/$user" 2>/dev/null
	chmod 0600 "$spool/$user"
	rm -f /run/crond.reboot /var/run/crond.reboot /run/crond.pid
	cron -f &
	daemon=$!
	echo "$daemon" >/run/test-cron.pid
	local tries=1500 rc=1
	while [ "$tries" -gt 0 ]; do
		for home in "/var/lib/sbx/$user" "/home/$user"; do
			if grep -q '^job>>>$' "$home/$file" 2>/dev/null; then
				rc=0
				break 2
			fi
		done
		# Show a held job's facts while it runs; renamed, so that nobody reads half of it.
		for home in "/var/lib/sbx/$user" "/home/$user"; do
			[ ! -s "$home/$file" ] || cp "$home/$file" "$job.partial.new"
		done
		[ ! -e "$job.partial.new" ] || mv "$job.partial.new" "$job.partial"
		# Refused: cron logs it and no child is left.
		if [ "$tries" -lt 1450 ] && [ -z "$(pgrep -P "$daemon")" ] &&
			[ ! -e "/var/lib/sbx/$user/$file" ] && [ ! -e "/home/$user/$file" ]; then
			rc=254
			break
		fi
		tries=$((tries - 1))
		sleep 0.02
	done
	[ "$rc" != 0 ] || cat "$home/$file"
	kill "$daemon"
	wait "$daemon" 2>/dev/null
	rm -f "$spool/$user" "/var/lib/sbx/$user/$file" "/home/$user/$file"
	return "$rc"
}

# login_by PATH USER JOB: run the job there; the terminal's or command's raw output.
login_by()
{
	local path=$1 user=$2 job=$3
	case $path in
	ssh) ssh "$user@machine" "bash $job" </dev/null ;;
	ssh-tty) ssh -tt "$user@machine" "bash $job" </dev/null ;;
	ssh-shell) typed "$job" ssh -tt "$user@machine" ;;
	su) su "$user" -c "bash $job" </dev/null ;;
	su-login) su - "$user" -c "bash $job" </dev/null ;;
	su-pty) script -qec "su -P $user -c 'bash $job'" /dev/null </dev/null ;;
	su-shell) typed "$job" su - "$user" ;;
	sudo) sudo -n -u "$user" bash "$job" </dev/null ;;
	sudo-login) sudo -n -i -u "$user" bash "$job" </dev/null ;;
	cron) through_cron "$user" "$job" ;;
	login) typed "$job" login -f "$user" ;;
	*) return 99 ;;
	esac
}

# as PATH USER SCRIPT: what the script printed when run by that path. The return value
# is the path's own, which for typed ones is that of "exit".
as()
{
	local rc=0 raw
	job_write "$3"
	raw=$JOB.raw
	login_by "$1" "$2" "$JOB" >"$raw" 2>&1 || rc=$?
	job_output "$raw"
	[ -z "${SBX_TEST_DEBUG:-}" ] || sed 's/^/#> /' "$raw" >&2
	[ -n "$(job_status "$raw")" ] || {
		# It never ran: the reason is all there is to show.
		sed 's/^/as: /' "$raw" | tr -d '\r'
		return "$(( rc ? rc : 98 ))"
	}
	return "$rc"
}

# ---------------------------------------------------------------- sessions kept open

# hold PATH USER [SCRIPT]: start a session that stays until released. Sets HELD (a
# name), HELD_FACTS (what `facts` said inside), HELD_JOB_PID (of the job, as the host
# numbers it) and HELD_PIDS (that and every process above it up to sshd's monitor,
# su, ...). Returns 1 if it did not come up.
hold()
{
	local path=$1 user=$2 script=${3:-:}
	job_write "$script
/usr/local/bin/facts
echo ready
while [ ! -e '$jobs_dir/release.'\$(basename \$0) ]; do sleep 0.05; done
(exit 0)"
	HELD=$JOB
	login_by "$path" "$user" "$JOB" >"$JOB.raw" 2>&1 &
	echo $! >"$JOB.client"
	HELD_FACTS=$JOB.facts
	machine_wait 15 held_ready "$JOB" || return 1
	held_text "$JOB" >"$HELD_FACTS"
	HELD_JOB_PID=$(job_pid "$JOB") || return 1
	HELD_PIDS=$(session_chain "$HELD_JOB_PID")
}

held_text()
{
	{
		cat "$1.raw"
		[ ! -e "$1.partial" ] || cat "$1.partial"
	} 2>/dev/null | tr -d '\r'
}

held_ready()
{
	held_text "$1" | grep -q '^ready$'
}

release()
{
	local client
	touch "$jobs_dir/release.$(basename "$1")"
	[ -e "$1.client" ] || return 0
	client=$(cat "$1.client")
	if ! machine_wait 10 process_gone "$client"; then
		result 1 "the session of $(basename "$1") ends" "$(ps -ef --forest)"
		pkill -9 -P "$client"
		kill -9 "$client"
	fi
	wait "$client" 2>/dev/null
	rm -f "$1.client"
}

process_gone()
{
	case $(ps -o stat= -p "$1") in
	"" | Z*) return 0 ;;
	esac
	return 1
}

release_all()
{
	local job
	for job in "$jobs_dir"/*.client; do
		[ ! -e "$job" ] || release "${job%.client}"
	done
}

# The process whose command line is exactly "bash JOB", as the host numbers it.
job_pid()
{
	local dir
	for dir in /proc/[0-9]*; do
		if [ "$(tr '\0' ' ' <"$dir/cmdline" 2>/dev/null)" = "bash $1 " ]; then
			basename "$dir"
			return 0
		fi
	done
	return 1
}

parent_of()
{
	sed 's/.*) . //' "/proc/$1/stat" | cut -d' ' -f1
}

# From a process up to the one that opened the PAM session.
session_chain()
{
	local pid=$1 parent comm above
	while [ "$pid" -gt 1 ]; do
		echo "$pid"
		comm=$(cat "/proc/$pid/comm")
		parent=$(parent_of "$pid")
		case $comm in
		sshd* | su | sudo | cron | login)
			above=$(cat "/proc/$parent/comm" 2>/dev/null)
			[ "$above" = "$comm" ] || return 0
			! grep -qx "$parent" /run/sshd-22.pid /run/sshd-23.pid /run/test-cron.pid \
				2>/dev/null || return 0
			;;
		esac
		pid=$parent
	done
}

fact()
{
	sed -n "s|^$2=||p" "$1" | head -n 1
}

# ---------------------------------------------------------------- what must be true

host_namespace()
{
	readlink "/proc/self/ns/$1"
}

home_of()
{
	getent passwd "$1" | cut -d: -f6
}

# The policy's default PATH.
session_path()
{
	local home
	home=$(home_of "$1")
	echo "$home/.local/bin:$home/.cargo/bin:$home/go/bin:/usr/local/bin:/usr/bin:/bin"
}

# A line for each thing that is wrong with a session, judged by what `facts` printed
# in it. Nothing: it is in its sandbox.
inside_problems()
{
	local file=$1 user=$2 ns name value uid network=${3:-host}
	uid=$(id -u "$user")
	[ -s "$file" ] && [ -n "$(fact "$file" ns.mnt)" ] || {
		echo "no facts from inside:"
		[ ! -e "$file" ] || head -n 20 "$file"
		return
	}
	for ns in mnt pid ipc uts cgroup; do
		value=$(fact "$file" "ns.$ns")
		[ -n "$value" ] && [ "$value" != "$(host_namespace $ns)" ] ||
			echo "the host's $ns namespace"
	done
	value=$(fact "$file" ns.net)
	if [ "$network" = host ]; then
		[ "$value" = "$(host_namespace net)" ] || echo "another network: $value"
	else
		[ "$value" != "$(host_namespace net)" ] || echo "the host's network"
	fi
	while IFS='|' read -r name value; do
		[ "$(fact "$file" "$name")" = "$value" ] ||
			echo "$name is '$(fact "$file" "$name")', should be '$value'"
	done <<-END
		uid|$uid
		gid|$(id -g "$user")
		groups|$(id -G "$user")
		hostname|sandbox
		init|sbx-keeper
		init_uid|0
		marker|/bin/bash
		HOME|$(home_of "$user")
		USER|$user
		LOGNAME|$user
		SHELL|/bin/bash
		XDG_RUNTIME_DIR|/run/user/$uid
		PATH|$(session_path "$user")
		host_home|no
		present./etc/shadow|no
		present./etc/gshadow|no
		present./etc/sudoers|no
		present./etc/sbx|no
		present./etc/ssh/test_host_key|no
		present./root/.ssh|no
		present./var/lib/sbx|no
		present./home/bystander|no
		present./var/spool/cron|no
		pocket|0
		accounts|$(printf '%s\n' nobody root "$user" | sort | tr '\n' ' ')
		status.CapInh|0000000000000000
		status.CapPrm|0000000000000000
		status.CapEff|0000000000000000
		status.CapBnd|0000000000000000
		status.CapAmb|0000000000000000
		status.NoNewPrivs|1
		status.Seccomp|2
	END
	# Its own processes and the keeper; the host has more than a dozen.
	[ "$(fact "$file" processes)" -lt 12 ] || echo "sees $(fact "$file" processes) processes"
}

# The directories of a process in the hierarchies that carry limits.
cgroups_of()
{
	if grep -q '^[0-9]*:memory:' "/proc/$1/cgroup" 2>/dev/null; then
		sed -n 's/^[0-9]*:\(memory\|pids\)://p' "/proc/$1/cgroup"
	else
		sed -n 's/^0:://p' "/proc/$1/cgroup"
	fi
}

# The same from the host, for the process that opened the session and all below it.
outside_problems()
{
	local facts=$1 user=$2 pid ns comm dir names=
	shift 2
	[ $# -ge 2 ] || echo "only these processes found: $*"
	for pid in "$@"; do
		comm="$pid ($(cat "/proc/$pid/comm" 2>/dev/null))"
		for ns in mnt ipc uts cgroup; do
			[ "$(readlink "/proc/$pid/ns/$ns")" = "$(fact "$facts" "ns.$ns")" ] ||
				echo "$comm is not in the session's $ns namespace"
		done
		[ "$(readlink "/proc/$pid/ns/pid_for_children")" = "$(fact "$facts" ns.pid)" ] ||
			echo "the children of $comm are not born in the session's pid namespace"
		[ "$(readlink "/proc/$pid/ns/mnt")" != "$(host_namespace mnt)" ] ||
			echo "$comm is in the host's mount namespace"
		[ -n "$(cgroups_of "$pid")" ] || echo "$comm has no cgroups"
		while read -r dir; do
			case $dir in
			"/sbx/$user@"*) names="$names$(basename "$dir") " ;;
			*) echo "$comm is in the cgroup '$dir'" ;;
			esac
		done < <(cgroups_of "$pid")
		[ "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$pid/status")" = 1 ] ||
			echo "$comm may gain privileges"
		[ "$(sed -n 's/^Seccomp:\t//p' "/proc/$pid/status")" = 2 ] ||
			echo "$comm has no system call filter"
	done
	[ "$(printf '%s' "$names" | tr ' ' '\n' | sort -u | wc -l)" -le 1 ] ||
		echo "more than one sandbox: $names"
}

check_inside()
{
	local problems
	problems=$(inside_problems "$2" "$3" "${4:-host}")
	result "$([ -z "$problems" ] && echo 0 || echo 1)" "$1" "$problems"
}

check_outside()
{
	local name=$1 problems
	shift
	problems=$(outside_problems "$@")
	result "$([ -z "$problems" ] && echo 0 || echo 1)" "$name" "$problems"
}

# PIDs of all keepers, of one user if named.
keepers()
{
	local pid
	for pid in $(pgrep -x sbx-keeper); do
		if [ -z "${1:-}" ] || tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q " $1@" ||
			grep -q "/sbx/$1@" "/proc/$pid/cgroup"; then
			echo "$pid"
		fi
	done
}

sandbox_cgroups()
{
	# "keepers" is for all keepers, past and to come, and stays. Nobody may be left in it.
	find /sys/fs/cgroup/ -path '*/sbx/*' -type d ! -name keepers 2>/dev/null
	find /sys/fs/cgroup/ -path '*/sbx/keepers/cgroup.procs' -exec grep -H . {} + 2>/dev/null
}

# What is left of sandboxes; nothing when all sessions are over.
leftovers()
{
	local pid
	for pid in $(keepers); do
		echo "keeper $pid"
	done
	sandbox_cgroups | sed 's/^/cgroup /'
	find /run/sbx -name control 2>/dev/null | sed 's/^/socket /'
	ps -eo pid=,user:20=,stat=,args= | awk '$2 == "agent" || $2 == "other" { print "process", $0 }'
	ps -eo pid=,stat=,args= | awk '$2 ~ /^Z/ { print "zombie", $0 }'
	diff "$scratch/mounts" <(cut -d' ' -f3- /proc/self/mountinfo | sort) | sed -n 's/^[<>]/mount &/p'
}

no_leftovers()
{
	[ -z "$(leftovers)" ]
}

cut -d' ' -f3- /proc/self/mountinfo | sort >"$scratch/mounts"

# check_idle DESCRIPTION: wait until everything is gone. A second is ample; what takes
# longer than five is stuck.
check_idle()
{
	local left=
	machine_wait 5 no_leftovers || left=$(leftovers)
	result "$([ -z "$left" ] && echo 0 || echo 1)" "$1" "$left"
}

# ---------------------------------------------------------------- settings

# policy_write: standard input becomes the policy.
policy_write()
{
	mkdir -p -m 0755 /etc/sbx
	cat >/etc/sbx/policy.ini
	chown root:root /etc/sbx/policy.ini
	chmod 0644 /etc/sbx/policy.ini
}

# store_write USER: standard input becomes the user's environment store.
store_write()
{
	mkdir -p -m 0711 /etc/sbx/env.d
	cat >"/etc/sbx/env.d/$1.ini"
	chown "root:$(id -g "$1")" "/etc/sbx/env.d/$1.ini"
	chmod 0640 "/etc/sbx/env.d/$1.ini"
}
