#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
#
# slurm-up stop leaves no process of its Slurm, not even a step that cannot end by itself.
set -u

slurm_up=$MCOMM_TEST_SRCDIR/test/runner/slurm-up
dir=$(mktemp -d) || exit 1
trap '"$slurm_up" stop "$dir/slurm"; rm -rf "$dir"' EXIT

# Processes that have a file below our folder open.
ours() {
    find /proc/[0-9]*/fd -lname "$dir/slurm/*" 2>/dev/null | cut -d/ -f3 | sort -u
}

if ! conf=$("$slurm_up" start "$dir/slurm" 2>"$dir/start.log"); then
    echo "no private Slurm here: $(head -n 1 "$dir/start.log")"
    exit 77
fi
SLURM_CONF=$conf srun -n 1 sh -c "echo \$\$ >$dir/task; exec sleep 300" >/dev/null 2>&1 &
for _ in $(seq 600); do
    [ -s "$dir/task" ] && break
    sleep 0.1
done
task=$(cat "$dir/task") || exit 1
step=$(ps -o ppid= -p "$task" | tr -d ' ')
kill -STOP "$step" || exit 1
"$slurm_up" stop "$dir/slurm"
wait

left=$(ours)
state=$(ps -o stat= -p "$task") # a zombie has ended
if [ -n "$left" ] || [ -n "${state##Z*}" ]; then
    echo "left of Slurm: $left; the task $task: $state"
    exit 1
fi
