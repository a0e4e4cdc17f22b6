#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The manual page names exactly the functions that say they are not supported.
cd "$MCOMM_TEST_SRCDIR" || exit 1
code=$(sed -n 's/^MPI_NO([A-Za-z_]*, \([A-Za-z0-9_]*\),.*/MPI_\1/p' bindings/mpi/mpi_calls*.h | sort)
page=$(sed -n '/^\.Ss Functions that are not/,/^\.Sh/p' man/mcomm_mpi.7 | grep -o 'MPI_[A-Za-z0-9_]*' | sort)
[ -n "$code" ] && [ "$code" = "$page" ] && exit 0
printf '%s\n' "$code" >/tmp/mcomm_mpi_code.$$
printf '%s\n' "$page" | diff /tmp/mcomm_mpi_code.$$ -
rm -f /tmp/mcomm_mpi_code.$$
echo "< returns MPI_ERR_UNSUPPORTED_OPERATION, > is listed in man/mcomm_mpi.7"
exit 1
