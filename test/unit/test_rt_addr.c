/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Reading addresses as users write them, and choosing interfaces on made-up machines. */
#include "config.h"

#include "rt/addr.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text, *host;
    int port;
    bool is_numeric;
} good[] = {
    {"host", "host", -1, false},
    {"host.example.org:1234", "host.example.org", 1234, false},
    {"1.2.3.4", "1.2.3.4", -1, true},
    {"1.2.3.4:65535", "1.2.3.4", 65535, true},
    {"::1", "::1", -1, true},
    {"2605:340::12", "2605:340::12", -1, true}, /* not port 12 of 2605:340: */
    {"2001:db8:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:1", -1, true},
    {"[::1]:80", "::1", 80, true},
    {"[2001:db8::1]", "2001:db8::1", -1, true},
    {"fe80::1%lo", "fe80::1%lo", -1, true},
    {"[fe80::1%lo]:7", "fe80::1%lo", 7, true},
    {"::ffff:1.2.3.4", "::ffff:1.2.3.4", -1, true},
    {"node-7_b:0", "node-7_b", 0, false},
};

static const char *const bad[] = {
    "",          ":80",         "host:",        "host:x",   "host:65536",
    "host:-1",   "host: 1",     "[::1",         "[::1]80",  "[::1]:",
    "[host]:80", "[]:80",       "2605:340:::1", "a:b:c",    "1:2:3",
    "ho st",     "-host",       "host:1x",      "fe80::1%", "::1:70000:1:1:1:1:1:1:1",
    "host/24",   "[1.2.3.4]:5", "host:000001",
};

static void addresses_are_taken_apart(void **state)
{
    struct mci_addr_name name;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(mci_addr_split(good[i].text, &name), MCOMM_SUCCESS);
        assert_string_equal(name.host, good[i].host);
        assert_int_equal(name.port, good[i].port);
        assert_int_equal(name.is_numeric, good[i].is_numeric);
    }
}

static void malformed_addresses_are_errors_that_name_the_text(void **state)
{
    struct mci_addr_name name;
    char longer[400];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mci_addr_split(bad[i], &name) != MCOMM_ERR_ARG)
            fail_msg("\"%s\" was accepted as %s port %d", bad[i], name.host, name.port);
        assert_non_null(strstr(mcomm_last_error(), bad[i]));
    }
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(mci_addr_split(longer, &name), MCOMM_ERR_ARG);
}

static void printed_addresses_read_back_the_same(void **state)
{
    static const char *const texts[] = {"1.2.3.4:5", "[2001:db8::1]:80", "[fe80::1%lo]:7"};
    struct mci_addr_name name;
    struct mci_addr addr;
    char buf[MCI_ADDR_TEXT_MAX];
    int num;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(mci_addr_split(texts[i], &name), MCOMM_SUCCESS);
        assert_int_equal(mci_addr_resolve(&name, 0, &addr, 1, &num), MCOMM_SUCCESS);
        assert_string_equal(mci_addr_format(&addr, buf), texts[i]);
        mci_addr_set_port(&addr, 0);
        assert_int_equal(mci_addr_split(mci_addr_format(&addr, buf), &name), MCOMM_SUCCESS);
        assert_int_equal(name.port, -1);
    }
}

static void unknown_scope_is_named(void **state)
{
    struct mci_addr_name name;
    struct mci_addr addr;
    int num;

    (void)state;
    assert_int_equal(mci_addr_split("fe80::1%nosuchif0", &name), MCOMM_SUCCESS);
    assert_int_equal(mci_addr_resolve(&name, 0, &addr, 1, &num), MCOMM_ERR_ARG);
    assert_non_null(strstr(mcomm_last_error(), "nosuchif0"));
}

static void localhost_resolves(void **state)
{
    struct mci_addr_name name;
    struct mci_addr addrs[4];
    int num;

    (void)state;
    assert_int_equal(mci_addr_split("localhost:99", &name), MCOMM_SUCCESS);
    if (mci_addr_resolve(&name, 2000, addrs, 4, &num) != MCOMM_SUCCESS)
        skip(); /* a hosts file without localhost */
    for (int i = 0; i < num; i++) {
        assert_true(mci_addr_is_loopback(&addrs[i]));
        assert_int_equal(mci_addr_port(&addrs[i]), 99);
    }
}

/* ---- choosing interfaces */

static struct mci_addr_if make_if(const char *ifname, const char *text, unsigned prefix, int speed)
{
    struct mci_addr_if it = {
        .prefix_nbits = prefix, .speed_mbps = speed, .numa_node = -1, .is_up = true};
    struct mci_addr_name name;
    int num;

    snprintf(it.ifname, sizeof(it.ifname), "%s", ifname);
    assert_int_equal(mci_addr_split(text, &name), MCOMM_SUCCESS);
    name.is_numeric = true;
    *strchrnul(name.host, '%') = '\0';
    assert_int_equal(mci_addr_resolve(&name, 0, &it.addr, 1, &num), MCOMM_SUCCESS);
    it.is_loopback = strcmp(ifname, "lo") == 0;
    it.is_bridge = strncmp(ifname, "docker", 6) == 0;
    return it;
}

/* "name name ..." of the chosen ones, or "error" */
static const char *chosen(struct mci_addr_if *ifs, int num, const char *net)
{
    static char text[256];
    struct mci_addr_list all = {.num_ifs = num, .ifs = ifs}, list;
    char addr[MCI_ADDR_TEXT_MAX];
    size_t n = 0;

    if (mci_addr_list_select(&all, net, &list) != MCOMM_SUCCESS)
        return "error";
    for (int i = 0; i < list.num_ifs; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? " " : "",
                              mci_addr_format(&list.ifs[i].addr, addr));
    mci_addr_list_free(&list);
    return text;
}

#define MACHINE                                                                                    \
    {                                                                                              \
        make_if("lo", "127.0.0.1", 8, -1), make_if("docker0", "172.17.0.1", 16, 100000),           \
            make_if("eth0", "10.0.0.5", 24, 1000), make_if("eth0", "fe80::5", 64, 1000),           \
            make_if("eth0", "2001:db8::5", 64, 1000), make_if("eth1", "10.0.1.5", 24, 25000),      \
            make_if("ib0", "192.168.7.1", 16, 100000),                                             \
    }

static void default_takes_real_interfaces_fastest_first_and_bridges_last(void **state)
{
    struct mci_addr_if ifs[] = MACHINE;

    (void)state;
    ifs[6].is_up = false;
    assert_string_equal(chosen(ifs, 7, NULL), "10.0.1.5 10.0.0.5 2001:db8::5 172.17.0.1");
    assert_string_equal(chosen(ifs, 7, ""), "10.0.1.5 10.0.0.5 2001:db8::5 172.17.0.1");
    assert_string_equal(chosen(ifs, 2, NULL), "172.17.0.1");
    assert_string_equal(chosen(ifs, 1, NULL), "127.0.0.1");
    assert_string_equal(chosen(ifs, 0, NULL), "error");
}

static void listed_interfaces_come_in_the_users_order(void **state)
{
    struct mci_addr_if ifs[] = MACHINE;

    (void)state;
    assert_string_equal(chosen(ifs, 7, "ib0"), "192.168.7.1");
    assert_string_equal(chosen(ifs, 7, "lo"), "127.0.0.1");
    assert_string_equal(chosen(ifs, 7, "eth0, eth1"), "10.0.0.5 2001:db8::5 10.0.1.5");
    assert_string_equal(chosen(ifs, 7, "eth1,eth0,eth1"), "10.0.1.5 10.0.0.5 2001:db8::5");
    assert_string_equal(chosen(ifs, 7, "eth*"), "10.0.0.5 2001:db8::5 10.0.1.5");
    assert_string_equal(chosen(ifs, 7, "10.0.1.0/24,192.168.0.0/16"), "10.0.1.5 192.168.7.1");
    assert_string_equal(chosen(ifs, 7, "10.0.0.0/8"), "10.0.0.5 10.0.1.5");
    assert_string_equal(chosen(ifs, 7, "10.0.0.0/23"), "10.0.0.5 10.0.1.5");
    assert_string_equal(chosen(ifs, 7, "2001:db8::/32"), "2001:db8::5");
    assert_string_equal(chosen(ifs, 7, "192.168.7.1"), "192.168.7.1");
    assert_string_equal(chosen(ifs, 7, "fe80::/10"), "fe80::5");
    assert_string_equal(chosen(ifs, 7, "172.17.0.1"), "172.17.0.1");
}

static void entries_that_match_nothing_are_named_with_what_there_is(void **state)
{
    struct mci_addr_if ifs[] = MACHINE;

    (void)state;
    assert_string_equal(chosen(ifs, 7, "eth0,eth7"), "error");
    assert_non_null(strstr(mcomm_last_error(), "eth7"));
    assert_non_null(strstr(mcomm_last_error(), "eth1 10.0.1.5"));
    ifs[6].is_up = false;
    assert_string_equal(chosen(ifs, 7, "ib0"), "error");
    assert_non_null(strstr(mcomm_last_error(), "(down)"));
    assert_string_equal(chosen(ifs, 7, "10.0.0.0/33"), "error");
    assert_string_equal(chosen(ifs, 7, "10.0.0.0/"), "error");
    assert_string_equal(chosen(ifs, 7, "10.0.0.0/-1"), "error");
    assert_string_equal(chosen(ifs, 7, ","), "error");
}

static void this_machine_has_a_usable_interface(void **state)
{
    struct mci_addr_list list;

    (void)state;
    assert_int_equal(mci_addr_list_create("lo", &list), MCOMM_SUCCESS);
    assert_true(list.num_ifs > 0);
    for (int i = 0; i < list.num_ifs; i++)
        assert_true(list.ifs[i].is_loopback);
    mci_addr_list_free(&list);
    assert_int_equal(mci_addr_list_create(NULL, &list), MCOMM_SUCCESS);
    mci_addr_list_free(&list);
    mci_addr_list_free(&list); /* twice is fine */
}

static void mapped_and_plain_ipv4_are_equal(void **state)
{
    struct mci_addr_if a = make_if("a", "1.2.3.4", 32, -1),
                       b = make_if("b", "::ffff:1.2.3.4", 128, -1),
                       c = make_if("c", "1.2.3.5", 32, -1);

    (void)state;
    assert_true(mci_addr_equal(&a.addr, &b.addr));
    assert_false(mci_addr_equal(&a.addr, &c.addr));
    assert_true(mci_addr_in_net(&a.addr, &c.addr, 31));
    assert_false(mci_addr_in_net(&a.addr, &c.addr, 32));
    assert_true(mci_addr_in_net(&a.addr, &c.addr, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(malformed_addresses_are_errors_that_name_the_text),
        cmocka_unit_test(printed_addresses_read_back_the_same),
        cmocka_unit_test(unknown_scope_is_named),
        cmocka_unit_test(localhost_resolves),
        cmocka_unit_test(default_takes_real_interfaces_fastest_first_and_bridges_last),
        cmocka_unit_test(listed_interfaces_come_in_the_users_order),
        cmocka_unit_test(entries_that_match_nothing_are_named_with_what_there_is),
        cmocka_unit_test(this_machine_has_a_usable_interface),
        cmocka_unit_test(mapped_and_plain_ipv4_are_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
