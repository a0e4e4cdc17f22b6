#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
#
# The launcher is killed: every rank hears of it (event -61) and ends.
prog=$MCOMM_TEST_BUILDDIR/test/mp/rt_start
grep -q 'define HAVE_PMIX 1' "$MCOMM_TEST_BUILDDIR/config.h" || { echo "SKIP: built without PMIx"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export TMPDIR=$folder PROG=$prog OUT=$folder/out
tried=0

# seen NUMBER TEXT: so many lines of it within 30 s. There is no event to wait for: the ranks are the
# launcher's children, not ours.
seen() {
    for _ in $(seq 300); do
        [ "$(grep -c "$2" "$OUT")" = "$1" ] && return 0
        sleep 0.1
    done
    return 1
}

# lost NAME COMMAND...: once all three ranks are ready, kill the launcher; all must report it
lost() {
    name=$1
    shift
    command -v "$1" >/dev/null || { echo "$name: not installed"; return 0; }
    tried=$((tried + 1))
    : >"$OUT"
    "$@" -n 3 sh -c 'exec "$PROG" death=launcher >>"$OUT" 2>&1' >/dev/null 2>&1 &
    launcher=$!
    seen 3 ready
    kill -9 $launcher
    wait $launcher
    seen 3 'event -61 of rank -1' && { echo "$name: ok"; return 0; }
    echo "$name: FAILED"
    cat "$OUT"
    return 1
}

rc=0
lost mpirun mpirun.openmpi --oversubscribe || rc=1
lost prterun "${MCOMM_TEST_PRTERUN:-prterun}" --map-by :OVERSUBSCRIBE || rc=1
[ $tried -gt 0 ] || { echo "SKIP: neither mpirun nor prterun"; exit 77; }
exit $rc
