/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Long copies: every way of copying, at all alignments and lengths about a line, changes the
 * destination's bytes and no others. */
#include "config.h"

#include "base/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SPACE 20000u
#define GUARD 0xa5

static unsigned char to[SPACE], from[SPACE], want[SPACE];

static void fill(void)
{
    for (size_t i = 0; i < SPACE; i++)
        from[i] = (unsigned char)(i * 7 + i / 251);
    memset(to, GUARD, SPACE);
    memset(want, GUARD, SPACE);
}

static void check(size_t to_at, size_t from_at, size_t nbytes, size_t stream_from)
{
    fill();
    memcpy(want + to_at, from + from_at, nbytes);
    if (stream_from == 0)
        mci_copy_stream(to + to_at, from + from_at, nbytes);
    else
        mci_copy(to + to_at, from + from_at, nbytes, stream_from);
    assert_memory_equal(to, want, SPACE);
}

static void check_lengths(size_t stream_from)
{
    static const size_t nbytes[] = {0, 1, 63, 64, 65, 127, 300, 4095, 4096, 4097, 8191, 16447};

    for (size_t n = 0; n < sizeof(nbytes) / sizeof(nbytes[0]); n++)
        for (size_t to_at = 64; to_at < 130; to_at += 13)
            for (size_t from_at = 64; from_at < 130; from_at += 11)
                check(to_at, from_at, nbytes[n], stream_from);
}

static void each_way_copies_exactly(void **state)
{
    (void)state;
    mci_copy_start();
    for (int has_strings = 0; has_strings < 2; has_strings++) {
        mci_copy_has_strings = has_strings != 0;
        check_lengths(0);
        check_lengths(1);
        check_lengths(256);
        check_lengths(MCI_COPY_NO_STREAM);
    }
    mci_copy_start();
}

static void check_overlap(size_t to_at, size_t from_at, size_t nbytes, size_t stream_from)
{
    fill();
    memcpy(to, from, SPACE);
    memcpy(want, from, SPACE);
    memmove(want + to_at, want + from_at, nbytes);
    if (stream_from == 0)
        mci_copy_stream(to + to_at, to + from_at, nbytes);
    else
        mci_copy(to + to_at, to + from_at, nbytes, stream_from);
    assert_memory_equal(to, want, SPACE);
}

static void ranges_may_overlap(void **state)
{
    static const size_t starts[] = {0, 1, 64, 100, 4999, 5000};

    (void)state;
    for (int has_strings = 0; has_strings < 2; has_strings++) {
        mci_copy_has_strings = has_strings != 0;
        for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
            for (size_t k = 0; k < sizeof(starts) / sizeof(starts[0]); k++)
                for (size_t stream_from = 0; stream_from < 3; stream_from++)
                    check_overlap(starts[i], starts[k], 5000,
                                  stream_from == 2 ? MCI_COPY_NO_STREAM : stream_from);
    }
    mci_copy_start();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_copies_exactly),
        cmocka_unit_test(ranges_may_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
