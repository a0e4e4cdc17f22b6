/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Settings: values as text, the environment, overlays by info objects, the list for tools. */
#include "config.h"

#include "base/err.h"
#include "base/handle.h"
#include "base/info.h"
#include "base/settings.h"
#include "base/settings_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void sizes_are_read_with_units(void **state)
{
    static const struct {
        const char *text;
        size_t value;
    } good[] = {
        {"0", 0},
        {"65536", 65536},
        {"64k", 65536},
        {"64 KiB", 65536},
        {"2M", 2097152},
        {"1.5G", 1610612736},
        {"0.5k", 512},
        {" 7 ", 7},
        {"1tib", 1ul << 40},
        {"1.k", 1024},
        {"9223372036854775807", PTRDIFF_MAX},
    };
    static const char *const bad[] = {"",
                                      "-1",
                                      "k",
                                      "1x",
                                      "1..5k",
                                      "0x10",
                                      "1e3",
                                      "9223372036854775808",
                                      "99999999999999999999",
                                      "9000000000G",
                                      "1 2",
                                      "1kk"};
    size_t value;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(mci_text_to_size(good[i].text, &value));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mci_text_to_size(bad[i], &value))
            fail_msg("\"%s\" was read as %zu", bad[i], value);
    }
}

static void times_numbers_and_truth_are_read(void **state)
{
    int64_t number;
    bool truth;
    int ms;

    (void)state;
    assert_true(mci_text_to_ms("500", &ms) && ms == 500);
    assert_true(mci_text_to_ms("2s", &ms) && ms == 2000);
    assert_true(mci_text_to_ms("1.5m", &ms) && ms == 90000);
    assert_true(mci_text_to_ms("-1", &ms) && ms == -1);
    assert_false(mci_text_to_ms("-2", &ms));
    assert_false(mci_text_to_ms("40000h", &ms));
    assert_true(mci_text_to_int("-1", &number) && number == -1);
    assert_true(mci_text_to_int("9223372036854775807", &number) && number == INT64_MAX);
    assert_false(mci_text_to_int("9223372036854775808", &number));
    assert_false(mci_text_to_int("1k", &number));
    assert_false(mci_text_to_int("", &number));
    assert_true(mci_text_to_bool("YES", &truth) && truth);
    assert_true(mci_text_to_bool("off", &truth) && !truth);
    assert_false(mci_text_to_bool("2", &truth));
}

static void environment_overrides_default(void **state)
{
    size_t dflt;

    (void)state;
    unsetenv("MCOMM_SLICE");
    assert_int_equal(mci_settings_load(), MCOMM_SUCCESS);
    dflt = mci_settings.slice;
    mci_settings_unload();
    setenv("MCOMM_SLICE", "3M", 1);
    assert_int_equal(mci_settings_load(), MCOMM_SUCCESS);
    assert_int_equal(mci_settings.slice, 3 << 20);
    assert_int_not_equal(mci_settings.slice, dflt);
    setenv("MCOMM_SLICE", "4M", 1); /* loaded once: later changes do not matter */
    assert_int_equal(mci_settings_load(), MCOMM_SUCCESS);
    assert_int_equal(mci_settings.slice, 3 << 20);
    mci_settings_unload();
    unsetenv("MCOMM_SLICE");
}

static void unreadable_value_names_variable_and_value(void **state)
{
    (void)state;
    setenv("MCOMM_SLICE", "many", 1);
    assert_int_equal(mci_settings_load(), MCOMM_ERR_ARG);
    assert_non_null(strstr(mcomm_last_error(), "MCOMM_SLICE=many"));
    unsetenv("MCOMM_SLICE");
    assert_int_equal(mci_settings_load(), MCOMM_SUCCESS);
    mci_settings_unload();
}

static void info_overlays_setting(void **state)
{
    struct mci_info *object = mci_info_new();
    mcomm_info_t info;
    int64_t number;
    size_t nbytes;

    (void)state;
    assert_non_null(object);
    info = mci_handle_new(MCI_HANDLE_INFO, object);
    assert_int_equal(mci_settings_load(), MCOMM_SUCCESS);
    assert_string_equal(mci_settings_text(MCOMM_INFO_NULL, "kv_put_timeout"), "1s");
    assert_string_equal(mci_settings_text(info, "kv_put_timeout"), "1s");
    assert_null(mci_settings_text(info, "nobody_knows_this"));
    assert_int_equal(mci_settings_int(info, "kv_put_timeout", &number), MCOMM_SUCCESS);
    assert_int_equal(number, 1000);
    assert_int_equal(mci_info_set(object, "kv_put_timeout", "7"), MCOMM_SUCCESS);
    assert_int_equal(mci_settings_int(info, "kv_put_timeout", &number), MCOMM_SUCCESS);
    assert_int_equal(number, 7);
    assert_int_equal(mci_info_set(object, "kv_put_timeout", "soon"), MCOMM_SUCCESS);
    assert_int_equal(mci_settings_int(info, "kv_put_timeout", &number), MCOMM_ERR_INFO);
    assert_non_null(strstr(mcomm_last_error(), "soon"));
    assert_int_equal(mci_info_set(object, "my_size", "2k"), MCOMM_SUCCESS);
    assert_int_equal(mci_settings_size(info, "my_size", &nbytes), MCOMM_SUCCESS);
    assert_int_equal(nbytes, 2048);
    mci_settings_unload();
    mci_handle_free(MCI_HANDLE_INFO, info);
    mci_info_free(object);
}

static void info_refuses_bad_keys_and_values(void **state)
{
    struct mci_info *info = mci_info_new();
    char key[70], value[1100];

    (void)state;
    assert_non_null(info);
    memset(key, 'k', sizeof(key));
    memset(value, 'v', sizeof(value));
    key[64] = '\0';
    assert_int_equal(mci_info_set(info, key, "x"), MCOMM_ERR_INFO);
    key[63] = '\0';
    assert_int_equal(mci_info_set(info, key, "x"), MCOMM_SUCCESS);
    assert_int_equal(mci_info_set(info, "", "x"), MCOMM_ERR_INFO);
    value[1024] = '\0';
    assert_int_equal(mci_info_set(info, "a", value), MCOMM_ERR_INFO);
    value[1023] = '\0';
    assert_int_equal(mci_info_set(info, "a", value), MCOMM_SUCCESS);
    assert_int_equal(mci_info_set(info, "a", "second"), MCOMM_SUCCESS);
    assert_string_equal(mci_info_find(info, "a"), "second");
    assert_string_equal(mci_info_find(info, key), "x");
    assert_null(mci_info_find(info, "b"));
    mci_info_free(info);
}

static void list_is_complete_and_every_default_is_readable(void **state)
{
    mcomm_setting_t setting = {.struct_size = sizeof(setting)},
                    other = {.struct_size = sizeof(other)};

    (void)state;
    assert_true(mcomm_setting_count() > 10);
    for (size_t i = 0; i < mcomm_setting_count(); i++) {
        assert_int_equal(mcomm_setting_get(i, &setting), MCOMM_SUCCESS);
        assert_int_equal(strncmp(setting.env, "MCOMM_", 6), 0);
        assert_true(strlen(setting.help) > 10);
        assert_non_null(setting.default_value);
        assert_string_equal(setting.source, getenv(setting.env) ? "environment" : "default");
        for (size_t k = 0; k < i; k++) {
            assert_int_equal(mcomm_setting_get(k, &other), MCOMM_SUCCESS);
            assert_string_not_equal(setting.env, other.env);
        }
    }
    assert_int_equal(mcomm_setting_get(mcomm_setting_count(), &setting), MCOMM_ERR_ARG);
    assert_int_equal(mcomm_setting_get(0, NULL), MCOMM_ERR_ARG);
    setting.struct_size = 1;
    assert_int_equal(mcomm_setting_get(0, &setting), MCOMM_ERR_ARG);
}

static void older_struct_is_filled_as_far_as_it_goes(void **state)
{
    mcomm_setting_t setting;

    (void)state;
    memset(&setting, 0x5a, sizeof(setting));
    setting.struct_size = offsetof(mcomm_setting_t, value);
    assert_int_equal(mcomm_setting_get(0, &setting), MCOMM_SUCCESS);
    assert_int_equal(setting.struct_size, offsetof(mcomm_setting_t, value));
    assert_non_null(strstr(setting.env, "MCOMM_"));
    assert_int_equal(((unsigned char *)&setting.value)[0], 0x5a);
    assert_int_equal(((unsigned char *)&setting.help)[0], 0x5a);
}

/* What mci_settings_warn() says about one variable. */
static const char *warnings(const char *name, const char *value)
{
    static char text[2000];
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t n;

    assert_non_null(file);
    setenv(name, value, 1);
    dup2(fileno(file), STDERR_FILENO);
    mci_settings_warn();
    dup2(saved, STDERR_FILENO);
    close(saved);
    unsetenv(name);
    rewind(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void unknown_variable_is_told_with_the_nearest_name(void **state)
{
    const char *text = warnings("MCOMM_STARTUP_TIMOUT", "5s");

    (void)state;
    assert_non_null(strstr(text, "MCOMM_STARTUP_TIMOUT"));
    assert_non_null(strstr(text, "MCOMM_STARTUP_TIMEOUT"));
    assert_null(strstr(text, "5s")); /* it may be a secret */
    text = warnings("MCOMM_SOMETHING_ELSE_ALTOGETHER", "1");
    assert_non_null(strstr(text, "MCOMM_SOMETHING_ELSE_ALTOGETHER"));
    assert_null(strstr(text, "did you mean"));
    assert_non_null(strstr(warnings("MCOMM_STARTUP", "5s"), "MCOMM_STARTUP in"));
    assert_string_equal(warnings("MCOMM_TEST_ANYTHING", "1"), "");
    assert_string_equal(warnings("MCOMM_STARTUP_TIMEOUT", "5s"), "");
    assert_string_equal(warnings("MCOMMENT", "1"), "");
}

static void short_time_without_unit_is_told(void **state)
{
    const char *text = warnings("MCOMM_STARTUP_TIMEOUT", "5");

    (void)state;
    assert_non_null(strstr(text, "MCOMM_STARTUP_TIMEOUT=5 "));
    assert_non_null(strstr(text, "write 5s"));
    assert_string_equal(warnings("MCOMM_STARTUP_TIMEOUT", "5ms"), "");
    assert_string_equal(warnings("MCOMM_STARTUP_TIMEOUT", "0"), "");
    assert_string_equal(warnings("MCOMM_REAP_TIMEOUT", "-1"), "");
    assert_string_equal(warnings("MCOMM_STARTUP_TIMEOUT", "5000"), "");
    assert_string_equal(warnings("MCOMM_SPIN", "5"), ""); /* no time */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_with_units),
        cmocka_unit_test(times_numbers_and_truth_are_read),
        cmocka_unit_test(environment_overrides_default),
        cmocka_unit_test(unreadable_value_names_variable_and_value),
        cmocka_unit_test(info_overlays_setting),
        cmocka_unit_test(info_refuses_bad_keys_and_values),
        cmocka_unit_test(list_is_complete_and_every_default_is_readable),
        cmocka_unit_test(unknown_variable_is_told_with_the_nearest_name),
        cmocka_unit_test(short_time_without_unit_is_told),
        cmocka_unit_test(older_struct_is_filled_as_far_as_it_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
