#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The MPI layer's library has each function that mpi.h declares, as MPI_ and as PMPI_, and no other.
library=$MCOMM_TEST_BUILDDIR/.libs/libmpi_abi.so
if [ ! -e "$library" ]; then
    echo "no $library here: the layer or shared libraries are not built"
    exit 77
fi
folder=$MCOMM_TEST_SRCDIR/bindings/mpi
names=$(mktemp) || exit 1
trap 'rm -f "$names"' EXIT
name='s/^MPI_\(FN\|NO\)([A-Za-z_]*, \([A-Za-z0-9_]*\),.*'
{
    sed -n "$name/\\2/p" "$folder"/mpi_calls*.h
    sed -n "$name/\\2_c/p" "$folder/mpi_calls_count.h"
} | sed 's/.*/MPI_&\nPMPI_&/' | sort >"$names"
[ "$(wc -l <"$names")" -gt 1000 ] || { echo "$folder: lines not found"; exit 1; }
nm -D --defined-only "$library" | sed -n 's/.* [TW] \(P\{0,1\}MPI_[A-Za-z0-9_]*\)\(@.*\)\{0,1\}$/\1/p' |
    sort | diff "$names" - && exit 0
echo "< declared in mpi.h, > defined in $library"
exit 1
