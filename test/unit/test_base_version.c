/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The running library names the version of the header that it was built with. */
#include "config.h"

#include "mooncake_comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void version_equals_package_version(void **state)
{
    char text[64];
    int major = -1, minor = -1, patch = -1;

    (void)state;
    mcomm_get_version(&major, &minor, &patch);
    snprintf(text, sizeof(text), "%d.%d.%d", major, minor, patch);
    assert_string_equal(text, PACKAGE_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_equals_package_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
