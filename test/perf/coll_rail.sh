#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
#
# coll_rail.sh PROGRAM MEMBERS RATE BYTES SECONDS [collective...]: two nodes (network namespaces) of
# MEMBERS ranks each, one rail between them, shaped to RATE Mbit/s in each direction. Needs root,
# iproute2, tc tbf.
set -e
program=$1 members=$2 rate=$3
shift 3
a=mcomm-rail-a-$$ b=mcomm-rail-b-$$
pids=()
finish() {
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
    ip netns del $a 2>/dev/null || true
    ip netns del $b 2>/dev/null || true
}
trap finish EXIT
ip netns add $a
ip netns add $b
ip -n $a link add rail type veth peer name rail netns $b
for side in $a:1 $b:2; do
    ns=${side%:*}
    ip -n "$ns" addr add 10.79.0."${side#*:}"/24 dev rail
    ip -n "$ns" link set lo up
    ip -n "$ns" link set rail mtu 9000 up
    ip netns exec "$ns" tc qdisc replace dev rail root tbf rate "${rate}mbit" burst 32kb latency 20ms
done
for _ in $(seq 40); do # the kernel calls a link running up to a second late
    ! (ip -n $a -br link; ip -n $b -br link) | grep -q '^rail.* DOWN ' || sleep 0.1
done
export MCOMM_SIZE=$((2 * members)) MCOMM_RENDEZVOUS=10.79.0.1:7790
MCOMM_SECRET=$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')
export MCOMM_SECRET
for ((rank = 0; rank < 2 * members; rank++)); do
    ns=$a
    [ $rank -lt "$members" ] || ns=$b
    MCOMM_RANK=$rank MCOMM_NODE=$ns ip netns exec $ns "$program" "${rate}e6" "$@" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done
pids=()
