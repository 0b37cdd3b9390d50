#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a login costs: `su USER -c true` and `ssh USER@127.0.0.1 true` for an enrolled
# user, with no sandbox running (cold) and with one (warm), beside the same for a user
# who is not enrolled. All in one interleaved run in a throw-away machine; medians,
# spread and ratios, and the memory of a keeper.
#
#   bench/login.sh [ROUNDS]        as root; SBX_BUILD names the build directory

. "$(dirname "$0")/../tests/lib/machine.sh"
machine_enter "$0" "$@"
machine_setup

rounds=${1:-30}
results=$SBX_MACHINE/results
mkdir -p "$results"

cat >/etc/sbx/policy.ini <<-'END'
	[agent]
	linger = 0
	[other]
	linger = forever
END
chmod 0644 /etc/sbx/policy.ini

# take NAME COMMAND...: one measurement in microseconds
take()
{
	local name=$1 start end
	shift
	start=${EPOCHREALTIME/./}
	"$@" >/dev/null 2>&1 </dev/null || machine_die "$* failed"
	end=${EPOCHREALTIME/./}
	echo $((end - start)) >>"$results/$name"
}

idle()
{
	[ ! -e /run/sbx/agent/control ]
}

su other -c true # from here on this one's sandbox is warm
for ((round = 0; round < rounds; round++)); do
	take su-plain su bystander -c true
	take su-warm su other -c true
	machine_wait 5 idle
	take su-cold su agent -c true
	take ssh-plain ssh bystander@machine true
	take ssh-warm ssh other@machine true
	machine_wait 5 idle
	take ssh-cold ssh agent@machine true
done

keeper=$(pgrep -x sbx-keeper | head -n 1)
pss=$(awk '/^Pss:/ { print $2 }' "/proc/$keeper/smaps_rollup")

for way in su ssh; do
	for kind in plain warm cold; do
		sort -n "$results/$way-$kind" | awk -v way="$way" -v kind="$kind" '
			{ v[NR] = $1 }
			END { printf "%s %s %d %d %d\n", way, kind, v[int((NR + 1) / 2)],
			      v[int(NR / 10) + 1], v[int(NR * 9 / 10)] }'
	done
done | awk -v rounds="$rounds" '
	BEGIN { printf "%-5s %-6s %10s %10s %10s %8s\n", "way", "kind", "median us", "10 %", "90 %", "ratio" }
	$2 == "plain" { base = $3 }
	{ printf "%-5s %-6s %10d %10d %10d %8.2f\n", $1, $2, $3, $4, $5, $3 / base }
	END { printf "(%d rounds, interleaved; ratio to a user who is not enrolled)\n", rounds }'
echo "keeper: $pss KiB PSS"
