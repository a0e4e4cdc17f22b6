/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * One rank after the other (the arguments) cannot start for a reason of its own. It gets its own
 * error, the others learn who and why long before the time limit, and the next start works.
 */
#include "mp.h"

#include <stdlib.h>

static int rank_of_launcher(void)
{
    static const char *const names[] = {"MCOMM_RANK", "PMIX_RANK", "PMI_RANK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]) != NULL)
            return atoi(getenv(names[i]));
    MP_FAIL("no rank in the environment");
}

static void one_fails(int who)
{
    mcomm_init_attr_t attr = MCOMM_INIT_ATTR_DEFAULT;
    char text[64];

    attr.startup_timeout_ms = 600000; /* the test ends far earlier */
    snprintf(text, sizeof(text), "rank %d could not start", who);
    if (mp_rank == who) {
        setenv("MCOMM_PORT", "nonsense", 1);
        EXPECT(MCOMM_ERR_ARG, mcomm_init(&attr));
        CHECK_TEXT("MCOMM_PORT=nonsense");
        unsetenv("MCOMM_PORT");
    } else {
        EXPECT(MCOMM_ERR_BOOTSTRAP, mcomm_init(&attr));
        CHECK_TEXT(text);
        CHECK_TEXT("MCOMM_PORT=nonsense");
    }
    CHECK(!mcomm_is_initialized());
}

int main(int argc, char **argv)
{
    mp_rank = rank_of_launcher();
    for (int i = 1; i < argc; i++) {
        one_fails(atoi(argv[i]));
        mp_init();
        OK(mcomm_barrier(MCOMM_COMM_WORLD));
        OK(mcomm_finalize());
    }
    return 0;
}
