#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
#
# The runner, tested with shell scripts in place of programs: what passes, fails, is skipped, and
# that nothing survives a case, whichever way it ends.
set -u

here=$(cd "$(dirname "$0")" && pwd)
mprun=$here/mprun
dir=$(mktemp -d)
trap 'rm -rf "$dir"; rm -f "/dev/shm/mcomm-selftest-$$"' EXIT
export MCOMM_TEST_BUILDDIR=$dir MCOMM_TEST_GRACE_S=0.5 MCOMM_TEST_SANITIZE=no
unset MCOMM_TEST_VERBOSE
fails=0

cat >"$dir/prog" <<EOF
#!/bin/sh
rank=\${MCOMM_RANK:-\${PMIX_RANK:-\${PMI_RANK:-0}}}
echo \$\$ >$dir/pid.\$rank
echo "rank \$rank of \$MCOMM_TEST_NP on \$MCOMM_NODE"
case \$1 in
fail) [ \$rank = 1 ] && exit 3; exec sleep 321 ;;
hang) exec sleep 321 ;;
late) echo x >/dev/shm/mcomm-selftest-$$; sleep 0.3; rm -f /dev/shm/mcomm-selftest-$$ ;;
skip) echo "SKIP: told to"; exit 77 ;;
five) exit 5 ;;
leave_file) echo x >/dev/shm/mcomm-selftest-$$ ;;
leave_socket) echo x >\$TMPDIR/mcomm.socket ;;
leave_process) setsid sleep 321 & ;;
die) [ \$rank = 1 ] && kill -9 \$\$ ;;
esac
exit 0
EOF
chmod +x "$dir/prog"
echo "prog=prog # a comment
np=3 timeout=20" >"$dir/case.mp"

# expect STATUS PATTERN ARG...: mprun with these arguments ends so and prints this
unset MCOMM_TEST_LONG

expect() {
    local want=$1 pattern=$2 out status
    shift 2
    out=$("$mprun" "$dir/case.mp" "$@" 2>&1)
    status=$?
    if [ $status -ne "$want" ] || ! grep -q -- "$pattern" <<<"$out"; then
        echo "FAIL: $*: status $status, want $want and a line with '$pattern':"
        echo "$out"
        fails=$((fails + 1))
    else
        echo "ok: $* -> $status"
    fi
    rm -f "/dev/shm/mcomm-selftest-$$"
}

expect 0 '^ok 1 - case np=3 tcp'
expect 0 '^1..4' np=1,2,3,7
expect 0 '^ok 1' nodes=2 np=4 match='rank 3 of 4 on node1'
expect 1 'no output matches nonsense' match=nonsense
expect 1 'rank 1: exit status 3' args=fail
expect 1 'time limit of 0.3 s' args=hang timeout=0.3
expect 77 'SKIP SKIP: told to' args=skip
expect 0 '^ok 1' args=five exit=5
expect 1 'exit status 5' args=five
expect 1 'left behind: /dev/shm/mcomm-selftest' args=leave_file
expect 1 'left behind: .*/mcomm.socket' args=leave_socket
expect 1 'left behind: process .*sleep 321' args=leave_process
expect 0 '^ok 1' args=die dies=1
expect 1 'rank 1: killed by SIGKILL' args=die
expect 0 'killed at 5 random moments' kill_all=5
expect 1 'not ok 1 .* killed after' args=late kill_all=20
expect 1 'program not found' prog=none-of-this-name
expect 1 'not a known key=value: npp=3' npp=3
expect 77 'SKIP needs the program none-of-this-name' needs=cmd:none-of-this-name
expect 77 'SKIP takes minutes' needs=long
expect 1 'needs=nonsense: not known' needs=nonsense
expect 0 '^ok 1' launcher=singleton np=1
if [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null; then
    expect 0 '^ok 1' hosts=2 prog=ip args="-br addr" match="10.77.1.2/24" nics=2
    expect 0 '^ok 1' shm=1m prog=df args="/dev/shm" match=" 1024 "
fi
for launcher in mpirun prterun hydra; do
    out=$("$mprun" "$dir/case.mp" launcher=$launcher nodes=3 match='rank 2 of 3 on node2' 2>&1)
    case $? in
    0) echo "ok: $launcher" ;;
    77) echo "not here: $out" ;;
    *) echo "FAIL: $launcher: $out"; fails=$((fails + 1)) ;;
    esac
done

# Stopped from outside: its ranks are gone when it is.
rm -f "$dir"/pid.*
"$mprun" "$dir/case.mp" args=hang >"$dir/out" 2>&1 &
pid=$!
until [ -s "$dir/pid.0" ] && [ -s "$dir/pid.1" ] && [ -s "$dir/pid.2" ]; do
    [ -d "/proc/$pid" ] || break
done
kill -TERM $pid
wait $pid
status=$?
for file in "$dir"/pid.[0-2]; do
    if [ -d "/proc/$(cat "$file")" ]; then
        echo "FAIL: ${file##*/} outlived the runner"
        fails=$((fails + 1))
    fi
done
[ $status -eq 143 ] || { echo "FAIL: status $status after SIGTERM"; fails=$((fails + 1)); }

echo "$fails failed"
[ $fails -eq 0 ]
