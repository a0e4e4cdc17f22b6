#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
#
# Bad traces, bad options and a full store end in a clear message and a status that is not 0. Output
# as CSV, timestamps that are followed.
set -u

trace=$MCOMM_TEST_BUILDDIR/mcomm_trace
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fails=0

# expect STATUS TEXT ARG...: runs the tool alone
expect() {
    local status=$1 text=$2 out got
    shift 2
    out=$("$trace" "$@" 2>&1)
    got=$?
    if [ "$got" != "$status" ] || ! grep -q -- "$text" <<<"$out"; then
        printf 'mcomm_trace %s\n  exit %s, expected %s with "%s":\n%s\n' "$*" "$got" "$status" \
            "$text" "$out"
        fails=1
    fi
}

good='{"timestamp": 0, "input_length": 700, "output_length": 1, "hash_ids": [1, 2]}'
printf '%s\n' "$good" "$good" >"$dir/good"
expect 0 'token hit ratio  0.500000' replay "$dir/good"

expect 0 '^requests,ranks,' replay --csv "$dir/good"
expect 0 '^2,1,1400,' replay --csv "$dir/good"
sed '2s/: 0,/: 300,/' "$dir/good" >"$dir/later" # ms
expect 0 '"seconds": \(0\.[3-9]\|[1-9]\)' replay --json --rate 1 "$dir/later"
expect 0 '"requests": 2, ' replay --json --rate 1000 "$dir/later"

printf '%s\n' 'no json' "$good" '{"timestamp": 0}' '{"timestamp": 0, "input_length": 700, "hash_ids": [1]}' \
    '{"timestamp": 0, "input_length": 700, "hash_ids": [1, -2]}' '' "$good" >"$dir/bad"
expect 0 'bad:1: malformed' replay "$dir/bad"
expect 0 'bad:4: malformed line left out: "hash_ids" has not one id' replay "$dir/bad"
expect 0 'bad:5: malformed' replay "$dir/bad"
expect 0 '4 malformed lines left out, the first is line 1' replay "$dir/bad"
expect 0 '"requests": 2, ' replay --json "$dir/bad"

expect 1 "rank 0: cannot read $dir/none: No such file" replay "$dir/none"
expect 1 'cannot read' replay "$dir"
: >"$dir/empty"
expect 1 'holds no request' replay "$dir/empty"
head -c 100000 /dev/urandom >"$dir/garbage"
expect 1 'holds no request' replay "$dir/garbage"

if [ -c /dev/full ] && "$trace" replay "$dir/good" >/dev/full 2>/dev/null; then
    echo 'results that could not be written are a success'
    fails=1
fi

if "$trace" replay "$dir/good" >&- 2>/dev/null; then
    echo 'results for a closed standard output are a success'
    fails=1
fi

{ printf '{"timestamp": 0, "input_length": 700, "hash_ids": [1'
  head -c 3000000 /dev/zero | tr '\0' ' '
  printf ']}\n%s\n' "$good"; } >"$dir/long"
expect 0 'long:1: malformed' replay "$dir/long"
expect 0 '"requests": 1, ' replay --json "$dir/long"
expect 1 'a line without end' replay /dev/zero

expect 2 'no trace file given' replay
expect 2 'no command is called "repeat"' repeat "$dir/good"
expect 2 'usage' replay --no-such-option "$dir/good"
expect 2 'bytes-per-block does not take "0"' replay --bytes-per-block 0 "$dir/good"
expect 2 'capacity does not take "many"' replay --capacity many "$dir/good"
expect 2 'rate does not take "-1"' replay --rate -1 "$dir/good"
expect 0 'usage' --help

# a block that can never fit
expect 1 'larger than the store can hold' replay --capacity 64k --bytes-per-block 8M "$dir/good"
exit $fails
