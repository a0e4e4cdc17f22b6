#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
# Every function, tool and setting has a manual page, which shows it as the header declares it.
exec "$MCOMM_TEST_SRCDIR/tools/check-man" "$MCOMM_TEST_SRCDIR"
