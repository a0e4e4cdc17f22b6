#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The library exports what symbols.txt lists.
exec "$MCOMM_TEST_SRCDIR/tools/check-symbols" \
    "$MCOMM_TEST_BUILDDIR/.libs/libmooncake_comm.so" "$MCOMM_TEST_SRCDIR"
