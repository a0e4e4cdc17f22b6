#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
# mcomm_perf_report: medians, best peer, ratios, placements apart, worst cells, bad rows.
src=${MCOMM_TEST_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
report=$src/tools/mcomm_perf_report
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fails=0
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }

expect() { # expect PATTERN: in the output
    grep -Eq "$1" "$dir/out" || { echo "not found: $1"; cat "$dir/out"; fails=1; }
}

cat >"$dir/ours.csv" <<'END'
library,op,ranks,bytes,usec_median,GBps,state
# flag round trip 170 ns: cores are near
proj,allreduce,2,8,0.200,0.040,near
proj,allreduce,2,8,0.400,0.020,near
proj,allreduce,2,8,0.300,0.027,near
proj,allreduce,2,8,2.000,0.004,far
proj,bcast,4,64,4.000,0.016,-
proj,scan,2,8,1.000,0.008,near
END
cat >"$dir/peers.csv" <<'END'
one,allreduce,2,8,0.600,0.013,near
two,allreduce,2,8,0.900,0.009,near
one,allreduce,2,8,1.000,0.008,far
two,bcast,4,64,4.000,0.016
END
"$report" "$dir/ours.csv" "$dir/peers.csv" >"$dir/out" || fails=1
expect '^near +allreduce +2 +8 +0\.300 \(3\) +0\.600 \(1\) +0\.900 \(1\) +one +2\.00$'
expect '^far +allreduce +2 +8 +2\.000 \(1\) +1\.000 \(1\) +- +one +0\.50$'
expect '^- +bcast +4 +64 +4\.000 \(1\) +- +4\.000 \(1\) +two +1\.00$'
expect '^near +scan +2 +8 +1\.000 \(1\) +- +- +- +-$'
expect '^near +2\.000 over 1 cells$'
expect '^far +0\.500 over 1 cells$'
[ "$(sed -n '/^worst/{n;p;}' "$dir/out" | cut -d' ' -f1)" = far ] || { echo "the worst is not first"; fails=1; }
"$report" --ours one --worst 1 "$dir/ours.csv" "$dir/peers.csv" >"$dir/out" || fails=1
expect '^near +allreduce +2 +8 +0\.600 \(1\) +0\.300 \(3\) +0\.900 \(1\) +proj +0\.50$'

for bad in 'proj,scan,2,8' 'proj,scan,two,8,1,1' 'proj,scan,2,8,0,1' 'proj,scan,2,8,nan,1'; do
    printf '%s\n' 'proj,scan,2,8,1,1' "$bad" >"$dir/bad.csv"
    "$report" "$dir/bad.csv" >"$dir/out" 2>&1 && { echo "taken: $bad"; fails=1; }
    expect 'bad\.csv:2: '
done
"$report" "$dir/none.csv" >"$dir/out" 2>&1 && { echo "a file that is not there"; fails=1; }
expect 'none\.csv'
exit $fails
