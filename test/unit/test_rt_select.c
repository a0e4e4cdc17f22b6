/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Which bootstrap follows from which environment, and the rendezvous secret's files. */
#include "config.h"

#include "rt/rt_priv.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"

static char folder[PATH_MAX];

/* An environment with these variables and nothing else. */
static int clean_environment(void **state)
{
    (void)state;
    clearenv();
    mci_settings_unload();
    return 0;
}

/* "tcp", "pmix", ... or "refused" */
static const char *chosen(const char *const vars[][2])
{
    static const char *const names[MCI_RT_KIND_NUM] = {"pmix", "pmi1", "tcp", "oob", "singleton"};
    struct mci_rt_evidence ev;
    enum mci_rt_kind kind;

    clearenv();
    for (int i = 0; vars[i][0] != NULL; i++)
        setenv(vars[i][0], vars[i][1], 1);
    mci_settings_unload();
    mci_rt_evidence_read(&ev);
    if (mci_rt_select(&ev, &kind) != MCOMM_SUCCESS)
        return "refused";
    return names[kind];
}

#define VARS(...) ((const char *const[][2]){__VA_ARGS__, {NULL, NULL}})

#ifdef HAVE_PMIX
#define PMIX_CHOICE "pmix"
#else
#define PMIX_CHOICE "refused"
#endif

static void evidence_leads_to_the_right_bootstrap(void **state)
{
    (void)state;
    assert_string_equal(chosen(VARS({"HOME", "/"})), "singleton");
    assert_string_equal(chosen(VARS({"PMIX_NAMESPACE", "a"}, {"PMIX_RANK", "1"})), PMIX_CHOICE);
    assert_string_equal(chosen(VARS({"PMIX_NAMESPACE", "a"}, {"PMIX_RANK", "1"},
                                    {"OMPI_COMM_WORLD_SIZE", "4"}, {"SLURM_NTASKS", "2"})),
                        PMIX_CHOICE);
    assert_string_equal(chosen(VARS({"PMI_FD", "5"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"})),
                        "pmi1");
    assert_string_equal(chosen(VARS({"PMI_FD", "5"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"},
                                    {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "1"})),
                        "pmi1");
    assert_string_equal(chosen(VARS({"MCOMM_RENDEZVOUS", "h:1"}, {"MCOMM_RANK", "0"})), "tcp");
    assert_string_equal(chosen(VARS({"MCOMM_RENDEZVOUS", "h:1"}, {"PMIX_NAMESPACE", "a"},
                                    {"PMIX_RANK", "1"}, {"PMI_FD", "4"})),
                        "tcp");
    assert_string_equal(chosen(VARS({"SLURM_NTASKS", "1"}, {"SLURM_JOB_ID", "1"})), "singleton");
    assert_string_equal(chosen(VARS({"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"})),
                        "singleton");
    assert_string_equal(chosen(VARS({"OMPI_COMM_WORLD_SIZE", "1"})), "singleton");
}

static void signs_of_many_processes_without_a_way_to_meet_are_refused(void **state)
{
    (void)state;
    assert_string_equal(chosen(VARS({"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "1"})), "refused");
    assert_non_null(strstr(mcomm_last_error(), "SLURM_NTASKS=4"));
    assert_non_null(strstr(mcomm_last_error(), "MCOMM_RENDEZVOUS"));
    assert_non_null(strstr(mcomm_last_error(), "srun --mpi=pmix"));
    assert_string_equal(chosen(VARS({"OMPI_COMM_WORLD_SIZE", "2"})), "refused");
    assert_string_equal(chosen(VARS({"PMI_SIZE", "2"}, {"PMI_RANK", "0"})), "refused");
    assert_string_equal(chosen(VARS({"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "h"})),
                        "refused");
    assert_string_equal(chosen(VARS({"MCOMM_SIZE", "2"}, {"MCOMM_RANK", "0"})), "refused");
}

static void one_launcher_inside_another_is_refused(void **state)
{
    (void)state;
    assert_string_equal(chosen(VARS({"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"PMIX_RANK", "0"},
                                    {"PMI_FD", "5"}, {"PMI_RANK", "3"}, {"PMI_SIZE", "4"})),
                        "refused");
    assert_non_null(strstr(mcomm_last_error(), "MCOMM_BOOTSTRAP"));
    assert_string_equal(
        chosen(VARS({"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"PMIX_RANK", "0"}, {"PMI_FD", "5"},
                    {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MCOMM_BOOTSTRAP", "pmi1"})),
        "pmi1");
}

static void the_users_order_is_obeyed_or_refused(void **state)
{
    (void)state;
    assert_string_equal(chosen(VARS({"MCOMM_BOOTSTRAP", "singleton"}, {"SLURM_NTASKS", "4"})),
                        "singleton");
    assert_string_equal(chosen(VARS({"MCOMM_BOOTSTRAP", "auto"})), "singleton");
    assert_string_equal(chosen(VARS({"MCOMM_BOOTSTRAP", "tcp"})), "refused");
    assert_string_equal(chosen(VARS({"MCOMM_BOOTSTRAP", "pmi1"})), "refused");
    assert_string_equal(chosen(VARS({"MCOMM_BOOTSTRAP", "pmix"})), "refused");
    assert_string_equal(chosen(VARS({"MCOMM_BOOTSTRAP", "mpi"})), "refused");
    assert_non_null(strstr(mcomm_last_error(), "MCOMM_BOOTSTRAP=mpi"));
}

static void malformed_numbers_are_no_evidence(void **state)
{
    (void)state;
    assert_string_equal(chosen(VARS({"PMIX_NAMESPACE", "a"}, {"PMIX_RANK", "x"})), "singleton");
    assert_string_equal(chosen(VARS({"PMI_FD", "-1"})), "singleton");
    assert_string_equal(chosen(VARS({"SLURM_NTASKS", "4(x2)"})), "singleton");
    assert_string_equal(chosen(VARS({"SLURM_NTASKS", "99999999999"})), "singleton");
}

static void evidence_text_says_what_was_seen_and_what_follows(void **state)
{
    (void)state;
    chosen(VARS({"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "1"}));
    assert_string_equal(mci_rt_evidence(), "SLURM_PROCID=1 SLURM_NTASKS=4 -> refused");
    clearenv();
    assert_string_equal(mci_rt_evidence(), "no sign of a launcher -> singleton");
}

static void ranks_come_from_the_user_before_any_launcher(void **state)
{
    struct mci_rt_evidence ev;

    (void)state;
    chosen(VARS({"MCOMM_RENDEZVOUS", "h:1"}, {"OMPI_COMM_WORLD_RANK", "1"},
                {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}));
    mci_rt_evidence_read(&ev);
    assert_int_equal(ev.rank, 1);
    assert_int_equal(ev.size, 4);
    assert_int_equal(ev.local_rank, 0);
    setenv("MCOMM_RANK", "5", 1);
    setenv("MCOMM_SIZE", "6", 1);
    mci_settings_unload();
    mci_rt_evidence_read(&ev);
    assert_int_equal(ev.rank, 5);
    assert_int_equal(ev.size, 6);
    assert_int_equal(ev.local_rank, -1); /* the launcher speaks of another rank */
    chosen(VARS({"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"},
                {"MCOMM_RENDEZVOUS", "torchrun"}));
    mci_rt_evidence_read(&ev);
    assert_int_equal(ev.rank, 3);
    assert_int_equal(ev.local_size, 2);
}

/* ---- start errors that need no network */

static mcomm_err_t start_with(const char *const vars[][2])
{
    struct mci_rt *rt;
    mcomm_err_t err;

    chosen(vars);
    err = mci_rt_start(NULL, 500, &rt);
    if (err == MCOMM_SUCCESS)
        mci_rt_stop(rt);
    return err;
}

static void incomplete_tcp_settings_are_named(void **state)
{
    (void)state;
    assert_int_equal(start_with(VARS({"MCOMM_RENDEZVOUS", "h:1"})), MCOMM_ERR_BOOTSTRAP);
    assert_non_null(strstr(mcomm_last_error(), "MCOMM_RANK"));
    assert_int_equal(start_with(VARS({"MCOMM_RENDEZVOUS", "h:1"}, {"MCOMM_RANK", "1"})),
                     MCOMM_ERR_BOOTSTRAP);
    assert_int_equal(
        start_with(VARS({"MCOMM_RENDEZVOUS", "h:1"}, {"MCOMM_RANK", "4"}, {"MCOMM_SIZE", "4"})),
        MCOMM_ERR_BOOTSTRAP);
    assert_non_null(strstr(mcomm_last_error(), "MCOMM_RANK=4"));
    assert_int_equal(start_with(VARS({"MCOMM_RENDEZVOUS", "2605:340::1"}, {"MCOMM_RANK", "0"},
                                     {"MCOMM_SIZE", "2"}, {"MCOMM_SECRET", "0123456789abcdef"})),
                     MCOMM_ERR_ARG);
    assert_non_null(strstr(mcomm_last_error(), "has no port"));
    assert_int_equal(start_with(VARS({"MCOMM_RENDEZVOUS", "torchrun"}, {"MCOMM_RANK", "0"},
                                     {"MCOMM_SIZE", "2"})),
                     MCOMM_ERR_BOOTSTRAP);
    assert_non_null(strstr(mcomm_last_error(), "MASTER_ADDR"));
}

static void tcp_of_size_one_needs_neither_network_nor_secret(void **state)
{
    struct mci_rt_blobs blobs;
    struct mci_rt *rt;

    (void)state;
    chosen(VARS({"MCOMM_RENDEZVOUS", "nosuchhost.invalid:1"}, {"MCOMM_RANK", "0"},
                {"MCOMM_SIZE", "1"}));
    assert_int_equal(mci_rt_start(NULL, 500, &rt), MCOMM_SUCCESS);
    assert_int_equal(mci_rt_exchange(rt, "me", 2, &blobs), MCOMM_SUCCESS);
    assert_int_equal(blobs.num, 1);
    assert_memory_equal(blobs.blobs[0].ptr, "me", 2);
    assert_int_equal(mci_rt_exchange(rt, "me", 2, &blobs), MCOMM_ERR_INTERNAL);
    mci_rt_blobs_free(&blobs);
    mci_rt_stop(rt);
}

static void too_large_a_blob_is_an_argument_error(void **state)
{
    static char large[MCI_RT_BLOB_MAX + 1];
    struct mci_rt_blobs blobs;
    struct mci_rt *rt;

    (void)state;
    assert_int_equal(mci_rt_start(NULL, 500, &rt), MCOMM_SUCCESS);
    assert_int_equal(mci_rt_exchange(rt, large, sizeof(large), &blobs), MCOMM_ERR_ARG);
    assert_int_equal(mci_rt_exchange(rt, large, sizeof(large) - 1, &blobs), MCOMM_SUCCESS);
    mci_rt_blobs_free(&blobs);
    mci_rt_stop(rt);
}

/* ---- a caller's allgather */

static int mirror_allgather(const void *mine, void *all, size_t nbytes, void *arg)
{
    int size = *(int *)arg;

    for (int i = 0; i < size; i++)
        memcpy((char *)all + (size_t)i * nbytes, mine, nbytes);
    return size == 3 ? -5 : 0;
}

static void allgather_of_the_caller_is_used_and_checked(void **state)
{
    int size = 2;
    mcomm_oob_t oob = {.allgather = mirror_allgather, .arg = &size, .rank = 1, .size = 2};
    struct mci_rt_blobs blobs;
    struct mci_rt *rt;

    (void)state;
    assert_int_equal(mci_rt_start(&oob, 500, &rt), MCOMM_SUCCESS);
    assert_string_equal(mci_rt_info(rt)->kind_name, "oob");
    /* Every place holds rank 1's blob: rank 0's place is noticed. */
    assert_int_equal(mci_rt_exchange(rt, "me", 2, &blobs), MCOMM_ERR_BOOTSTRAP);
    assert_non_null(strstr(mcomm_last_error(), "at place 0 of 2"));
    mci_rt_stop(rt);

    size = 3;
    oob.size = 3;
    assert_int_equal(mci_rt_start(&oob, 500, &rt), MCOMM_SUCCESS);
    assert_int_equal(mci_rt_exchange(rt, "me", 2, &blobs), MCOMM_ERR_BOOTSTRAP);
    assert_non_null(strstr(mcomm_last_error(), "returned -5"));
    mci_rt_stop(rt);

    size = oob.size = 1;
    oob.rank = 0;
    assert_int_equal(mci_rt_start(&oob, 500, &rt), MCOMM_SUCCESS);
    assert_int_equal(mci_rt_exchange(rt, "me", 2, &blobs), MCOMM_SUCCESS);
    assert_memory_equal(blobs.blobs[0].ptr, "me", 2);
    mci_rt_blobs_free(&blobs);
    mci_rt_stop(rt);

    oob.rank = 1;
    assert_int_equal(mci_rt_start(&oob, 500, &rt), MCOMM_ERR_ARG);
    oob.rank = 0;
    oob.allgather = NULL;
    assert_int_equal(mci_rt_start(&oob, 500, &rt), MCOMM_ERR_ARG);
}

/* ---- secret */

static int make_folder(void **state)
{
    clean_environment(state);
    snprintf(folder, sizeof(folder), "/tmp/rt_select.XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    static const char *const files[] = {"/.config/mooncake_comm/secret", "/file"};
    static const char *const folders[] = {"/.config/mooncake_comm", "/.config", ""};
    char path[PATH_MAX + 64];

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", folder, files[i]);
        unlink(path);
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", folder, folders[i]);
        rmdir(path);
    }
    return access(folder, F_OK) == 0; /* something else was left in it */
}

static mcomm_err_t secret_with(const char *const vars[][2], uint8_t secret[MCI_RT_SECRET_BYTES])
{
    chosen(vars);
    return mci_rt_secret(secret);
}

static void many_processes_make_one_cookie(void **state)
{
    uint8_t secret[MCI_RT_SECRET_BYTES], theirs[MCI_RT_SECRET_BYTES];
    char path[PATH_MAX + 64];
    struct stat st;
    int fds[2], status;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            mcomm_err_t err = secret_with(VARS({"HOME", folder}), secret);

            _exit(err != MCOMM_SUCCESS || write(fds[1], secret, sizeof(secret)) != sizeof(secret));
        }
    }
    for (int i = 0; i < 8; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(secret_with(VARS({"HOME", folder}), secret), MCOMM_SUCCESS);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(read(fds[0], theirs, sizeof(theirs)), sizeof(theirs));
        assert_memory_equal(secret, theirs, sizeof(secret));
    }
    close(fds[0]);
    close(fds[1]);
    snprintf(path, sizeof(path), "%s/.config/mooncake_comm/secret", folder);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, 65);
}

static void cookie_that_others_may_read_is_refused(void **state)
{
    uint8_t secret[MCI_RT_SECRET_BYTES];
    char path[PATH_MAX + 64];

    (void)state;
    assert_int_equal(secret_with(VARS({"HOME", folder}), secret), MCOMM_SUCCESS);
    snprintf(path, sizeof(path), "%s/.config/mooncake_comm/secret", folder);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(secret_with(VARS({"HOME", folder}), secret), MCOMM_ERR_AUTH);
    assert_non_null(strstr(mcomm_last_error(), path));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(secret_with(VARS({"HOME", folder}), secret), MCOMM_ERR_AUTH);
}

static void without_any_secret_the_text_says_what_to_do(void **state)
{
    uint8_t secret[MCI_RT_SECRET_BYTES];

    (void)state;
    assert_int_equal(secret_with(VARS({"A", "b"}), secret), MCOMM_ERR_AUTH);
    assert_non_null(strstr(mcomm_last_error(), "MCOMM_SECRET"));
    assert_int_equal(secret_with(VARS({"HOME", "/proc/nosuch"}), secret), MCOMM_ERR_AUTH);
    assert_non_null(strstr(mcomm_last_error(), "/proc/nosuch/.config"));
}

static void given_secrets_go_first_and_text_equals_file(void **state)
{
    uint8_t a[MCI_RT_SECRET_BYTES], b[MCI_RT_SECRET_BYTES];
    char path[PATH_MAX + 64];
    FILE *f;

    (void)state;
    snprintf(path, sizeof(path), "%s/file", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("a secret of some length\n", f);
    fclose(f);
    chmod(path, 0640);
    assert_int_equal(secret_with(VARS({"MCOMM_SECRET", "a secret of some length"}), a),
                     MCOMM_SUCCESS);
    assert_int_equal(secret_with(VARS({"MCOMM_SECRET_FILE", path}), b), MCOMM_SUCCESS);
    assert_memory_equal(a, b, sizeof(a));
    chmod(path, 0644);
    assert_int_equal(secret_with(VARS({"MCOMM_SECRET_FILE", path}), b), MCOMM_ERR_AUTH);
    assert_int_equal(secret_with(VARS({"MCOMM_SECRET_FILE", "/proc/nosuch"}), b), MCOMM_ERR_AUTH);
    assert_int_equal(secret_with(VARS({"MCOMM_SECRET_FILE", folder}), b), MCOMM_ERR_AUTH);
    assert_int_equal(secret_with(VARS({"MCOMM_SECRET", "short"}), b), MCOMM_ERR_AUTH);
    assert_null(strstr(mcomm_last_error(), "short"));
}

#define ENV_TEST(name) cmocka_unit_test_setup(name, clean_environment)
#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENV_TEST(evidence_leads_to_the_right_bootstrap),
        ENV_TEST(signs_of_many_processes_without_a_way_to_meet_are_refused),
        ENV_TEST(one_launcher_inside_another_is_refused),
        ENV_TEST(the_users_order_is_obeyed_or_refused),
        ENV_TEST(malformed_numbers_are_no_evidence),
        ENV_TEST(evidence_text_says_what_was_seen_and_what_follows),
        ENV_TEST(ranks_come_from_the_user_before_any_launcher),
        ENV_TEST(incomplete_tcp_settings_are_named),
        ENV_TEST(tcp_of_size_one_needs_neither_network_nor_secret),
        ENV_TEST(too_large_a_blob_is_an_argument_error),
        ENV_TEST(allgather_of_the_caller_is_used_and_checked),
        FILE_TEST(many_processes_make_one_cookie),
        FILE_TEST(cookie_that_others_may_read_is_refused),
        FILE_TEST(without_any_secret_the_text_says_what_to_do),
        FILE_TEST(given_secrets_go_first_and_text_equals_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
