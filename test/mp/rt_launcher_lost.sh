#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
#
# The launcher is killed when all ranks are up. PMIx: every rank hears of it (event -61); with
# MCOMM_LAUNCHER_LOSS=end each ends by itself, with ignore all go on and finalize. hydra: its proxy
# ends the ranks. No rank may stay: the pipe that all of them hold comes to its end.
programs=$MCOMM_TEST_BUILDDIR/test/mp
grep -q 'define HAVE_PMIX 1' "$MCOMM_TEST_BUILDDIR/config.h" && has_pmix=yes
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export TMPDIR="$folder" PIPE="$folder/pipe" MCOMM_LOG=info
mkfifo "$PIPE"
tried=0

# lost TEXT COUNT PROGRAM LAUNCHER...: three ranks of PROGRAM, the launcher is killed once all are
# ready; then COUNT lines with TEXT must come and the pipe must end
lost() {
    text=$1 count=$2 name="$4: $3"
    export PROG="$programs/$3"
    shift 3
    command -v "$1" >/dev/null || { echo "$name: not installed"; return 0; }
    tried=$((tried + 1))
    "$@" -n 3 sh -c 'exec >"$PIPE" 2>&1; exec $PROG' >"$folder/launcher" 2>&1 &
    pid=$!
    # shellcheck disable=SC2016
    timeout -s KILL "${MCOMM_TEST_LOST_S:-60}" sh -c 'exec <"$PIPE"; n=0
        while read -r line; do
            echo "$line"
            case $line in *": ready") n=$((n + 1)); [ $n = 3 ] && kill -9 $0 ;; esac
        done' $pid >"$folder/out"
    rc=$?
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ $rc = 0 ] && [ "$(grep -c ": ready" "$folder/out")" = 3 ] &&
        [ "$(grep -c "$text" "$folder/out")" = "$count" ] && { echo "$name: ok"; return 0; }
    echo "$name: FAILED ($rc; 137: ranks live on, or never came)"
    cat "$folder/out" "$folder/launcher"
    return 1
}

rc=0
for launcher in "mpirun.openmpi --oversubscribe" \
    "${MCOMM_TEST_PRTERUN:-prterun} --map-by :OVERSUBSCRIBE"; do
    [ "$has_pmix" ] || break
    # shellcheck disable=SC2086
    lost 'event -61 of rank -1' 3 "rt_start death=launcher" $launcher || rc=1
    export MCOMM_LAUNCHER_LOSS=end
    # shellcheck disable=SC2086
    lost 'launcher of this job is gone' 3 "init lost end" $launcher || rc=1
    export MCOMM_LAUNCHER_LOSS=ignore
    # shellcheck disable=SC2086
    lost 'went on' 3 "init lost ignore" $launcher || rc=1
    unset MCOMM_LAUNCHER_LOSS
done
lost 'went on' 0 "init lost end" mpiexec.hydra || rc=1
[ $tried -gt 0 ] || { echo "SKIP: no launcher to kill is installed"; exit 77; }
exit $rc
