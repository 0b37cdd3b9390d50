#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What sbxsh costs without root: cold (no sandbox running) and warm (one running), beside
# plain shells and bubblewrap with the same view. All in one interleaved run in a
# throw-away machine; medians, spread and ratios.
#
#   bench/sbxsh.sh [ROUNDS]        as root; SBX_BUILD names the build directory

. "$(dirname "$0")/../tests/lib/machine.sh"
export SBX_TEST_WITHOUT=module
machine_enter "$0" "$@"
machine_setup

rounds=${1:-100}
results=$SBX_MACHINE/results
mkdir -p "$results"
project=/home/bystander/project
warm=/home/bystander/warm
install -d -o bystander -g bystander "$project" "$warm"

# Dash in the sandbox, so that it is not bash that is measured.
printf '[default]\nshell = /bin/sh\n' >/etc/sbx/policy.ini
chmod 0644 /etc/sbx/policy.ini

# bubblewrap's options for the plan that sbxsh prints: same mounts, same namespaces.
bwrap_options()
{
	echo --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup --hostname sandbox
	sbxsh --dry-run -- true | awk -v home=/home/bystander '
		function path(p) { return p }
		$1 == "bind" && $5 ~ /^ro/ { print ($0 ~ /if-present/ ? "--ro-bind-try" : "--ro-bind"), $4, $2 }
		$1 == "bind" && $5 ~ /^rw/ { print ($2 ~ /^\/dev\// ? "--dev-bind" : "--bind"), $4, $2 }
		$1 == "workspace" { print "--bind", $4, $2 }
		$1 == "symlink" { print "--symlink", $4, $2 }
		$1 == "directory" { print "--dir", $2 }
		$1 == "tmpfs" && $2 != "/" { print "--tmpfs", $2 }
		$1 == "copy" { print "--ro-bind-try", $4, $2 }
		$1 == "file" { print "--ro-bind", "/etc/hostname", $2 }
		$1 == "proc" { print "--proc", $2 }
		$1 == "devpts" { print "--dev-bind", "/dev/pts", $2 }'
	echo --remount-ro / --chdir "$PWD" --clearenv --setenv PATH /usr/bin:/bin
}

# All measuring is done in one process of the user's, so that no setpriv is counted.
cat >"$results/measure.py" <<'END'
import os, statistics, subprocess, sys, time
rounds, project, warm = int(sys.argv[1]), sys.argv[2], sys.argv[3]
bwrap = sys.argv[4].split()
ways = {
    "sh": (["sh", "-c", "true"], project),
    "bash": (["bash", "-c", "true"], project),
    "bubblewrap": (["bwrap", *bwrap, "/bin/sh", "-c", "true"], project),
    "sbxsh cold": (["sbxsh", "-c", "true"], project),
    "sbxsh warm": (["sbxsh", "-c", "true"], warm),
}
control = None
def idle():
    # The keeper of the cold one is gone when its socket is.
    run = "/home/bystander/.local/share/sbx/run"
    return sum(os.path.exists(f"{run}/{d}/control") for d in os.listdir(run)) <= 1
keep = subprocess.Popen(["sbxsh", "-c", "echo up; read x"], cwd=warm, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
keep.stdout.readline()
null = open(os.devnull, "r+b")
def once(argv, cwd):
    os.chdir(cwd)
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ)
    _, status = os.waitpid(pid, 0)
    end = time.perf_counter()
    if status != 0:
        sys.exit(f"{argv[0]} failed: {status}")
    return (end - start) * 1e6
times = {name: [] for name in ways}
for round in range(rounds + 3):
    for name, (argv, cwd) in ways.items():
        while not idle(): time.sleep(0.001)
        t = once(argv, cwd)
        if round >= 3: times[name].append(t)
keep.stdin.close()
keep.wait()
base = statistics.median(times["sh"])
other = statistics.median(times["bubblewrap"])
print(f"{'what':<12} {'median us':>10} {'10 %':>8} {'90 %':>8} {'x sh':>7} {'x bubblewrap':>13}")
for name, t in times.items():
    t.sort()
    m = statistics.median(t)
    print(f"{name:<12} {m:>10.0f} {t[len(t) // 10]:>8.0f} {t[len(t) * 9 // 10]:>8.0f} {m / base:>7.2f} {m / other:>13.2f}")
print(f"({rounds} rounds, interleaved)")
END
chmod -R a+rX "$SBX_MACHINE"
cp "$results/measure.py" /tmp/measure.py
cd "$project" || exit 1
setpriv --reuid bystander --regid bystander --init-groups sbxsh -c true || machine_die "sbxsh failed"
options=$(setpriv --reuid bystander --regid bystander --init-groups env PWD="$project" bash -c "$(declare -f bwrap_options); bwrap_options" | tr '\n' ' ')
setpriv --reuid bystander --regid bystander --init-groups python3 /tmp/measure.py "$rounds" "$project" "$warm" "$options"
