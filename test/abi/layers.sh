#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Includes go only downwards.
exec "$MCOMM_TEST_SRCDIR/tools/check-layers" "$MCOMM_TEST_SRCDIR"
