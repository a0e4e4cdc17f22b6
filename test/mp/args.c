/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bad arguments of every exported function: args. One argument of a good call is spoilt at a time:
 * null, a number out of range, a handle that is freed, of another kind or none at all. The error
 * is the parameter's, its text names it and the value, and nothing is written. (Of collectives:
 * coll_wrong.c.) And all functions before the library is started, after it has ended, and in a
 * child. A function that is in test/abi/symbols.txt and not here fails the test.
 */
#include "args_calls.h"
#include "coll_kinds.h"

#include <limits.h>
#include <sys/wait.h>

#define PARAMS 10
#define ROOM 512 /* bytes behind a pointer */
#define UNTOUCHED 0x5a

union arg {
    const void *p;
    size_t n;
    uint64_t u;
    int i;
    mcomm_reduce_fn_t fn;
};

/* ---- the functions ---- */
#define PTR(k) ((void *)(uintptr_t)a[k].p)
#define SIZE(k) a[k].n
#define WORD(k) a[k].u
#define INT(k) a[k].i
#define DEFINE(name, params, ...)                                                                  \
    static mcomm_err_t call_##name(const union arg *a)                                             \
    {                                                                                              \
        return mcomm_##name(__VA_ARGS__);                                                          \
    }
ALL_CALLS(DEFINE)

static const struct call {
    const char *name, *params;
    mcomm_err_t (*call)(const union arg *a);
} calls[] = {
#define ROW(name, params, ...) {#name, params, call_##name},
    ALL_CALLS(ROW)};
#define CALL_NUM (sizeof(calls) / sizeof(calls[0]))

struct param {
    char kind;
    char name[24];
};

/* "C comm,O rank_p" */
static int params_of(const struct call *call, struct param *params)
{
    const char *at = call->params;
    int num = 0;

    while (*at != '\0') {
        size_t length = strcspn(at, ",");

        CHECK(num < PARAMS && length > 2 && length - 2 < sizeof(params->name));
        params[num].kind = *at;
        memcpy(params[num].name, at + 2, length - 2);
        params[num].name[length - 2] = '\0';
        num++;
        at += length + (at[length] == ',');
    }
    return num;
}

/* ---- good arguments ---- */
static struct handles {
    mcomm_comm_t comm;
    mcomm_group_t group;
    mcomm_info_t info;
    mcomm_request_t request;
    mcomm_message_t message;
    mcomm_win_t win;
    mcomm_kv_t kv;
    mcomm_op_t op;
} good, freed;
static _Alignas(64) unsigned char room[PARAMS][ROOM];
static mcomm_win_t dynamic;
static int zero_rank;

static void nothing(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    (void)in, (void)inout, (void)count, (void)dtype, (void)arg;
}

static int mirror(const void *mine, void *all, size_t nbytes, void *arg)
{
    (void)arg;
    memcpy(all, mine, nbytes);
    return 0;
}

static int ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), n = strlen(end);

    return length >= n && strcmp(name + length - n, end) == 0;
}

static int is_output(const struct param *param)
{
    return ends_with(param->name, "_p");
}

/* What a pointer points to: for outputs a pattern, else zeros, or what the name asks for. */
static const void *pointer_for(const struct param *param, int k)
{
    static const mcomm_oob_t oob = {mirror, NULL, 0, 1};
    static const size_t all_one[] = {1, 1, 1, 1}, in_order[] = {0, 1, 2, 3};
    static char value[8];
    static mcomm_kv_item_t item;

    memset(room[k], is_output(param) ? UNTOUCHED : 0, ROOM);
    if (param->kind == 'A' || param->kind == 'Z')
        memcpy(room[k], &(size_t){ROOM}, sizeof(size_t));
    if (param->kind == 'a') /* of a window */
        memcpy(room[k], &(mcomm_win_attr_t){ROOM, .nbytes = 8}, sizeof(mcomm_win_attr_t));
    if (strcmp(param->name, "oob") == 0)
        return &oob;
    if (ends_with(param->name, "counts"))
        return all_one;
    if (ends_with(param->name, "displs"))
        return in_order;
    if (strcmp(param->name, "items") == 0) {
        item = (mcomm_kv_item_t){"key", 3, value, sizeof(value), MCOMM_SUCCESS};
        return &item;
    }
    if (strcmp(param->name, "key") == 0 || strcmp(param->name, "name") == 0)
        return "key";
    return room[k];
}

/* Kinds of handles: by value, and pointed to. */
static const struct {
    char by_value, pointed_to;
    const void *handle;
} handle_kinds[] = {
    {'C', 'm', &good.comm},    {'G', 'g', &good.group},   {'I', 'i', &good.info},
    {'Q', 'q', &good.request}, {' ', 'l', &good.request}, {' ', 's', &good.message},
    {'W', 'w', &good.win},     {'Y', ' ', &dynamic},      {'K', 'v', &good.kv},
    {' ', 'o', &good.op},      {' ', 'L', &zero_rank},
};

static union arg good_arg(const struct param *param, int k)
{
    union arg arg = {.u = 0}; /* good for all other kinds */

    for (size_t i = 0; i < sizeof(handle_kinds) / sizeof(handle_kinds[0]); i++) {
        if (param->kind == handle_kinds[i].by_value)
            memcpy(&arg.p, handle_kinds[i].handle, sizeof(arg.p));
        if (param->kind == handle_kinds[i].pointed_to)
            arg.p = handle_kinds[i].handle;
    }
    if (strchr("OZAaBV", param->kind) != NULL)
        arg.p = pointer_for(param, k);
    else if (param->kind == 'N')
        arg.n = 1;
    else if (param->kind == 'n')
        arg.n = 8;
    else if (param->kind == 'k')
        arg.n = 3;
    else if (param->kind == 'r')
        arg.i = mp_rank < 0 ? 0 : mp_rank;
    else if (param->kind == 'e' || param->kind == 'p')
        arg.i = 1;
    else if (param->kind == 'D')
        arg.i = MCOMM_INT32;
    else if (param->kind == 'P')
        arg.i = MCOMM_SUM;
    else if (param->kind == 'f')
        arg.fn = nothing;
    return arg;
}

/* ---- bad ones ---- */
struct spoil {
    const char *kinds;
    mcomm_err_t err, err2; /* either */
    union arg arg;
    char text[32]; /* of the value; "" if there is none */
};
static struct spoil spoils[200];
static size_t spoil_num;

static struct spoil *spoil_add(const char *of, mcomm_err_t err)
{
    struct spoil *spoil = &spoils[spoil_num++];

    CHECK(spoil_num <= sizeof(spoils) / sizeof(spoils[0]));
    *spoil = (struct spoil){.kinds = of, .err = err, .err2 = err};
    return spoil;
}

static void spoil_pointer(const char *of, const void *p, mcomm_err_t err)
{
    spoil_add(of, err)->arg.p = p;
}

static void spoil_int(const char *of, int value, mcomm_err_t err)
{
    struct spoil *spoil = spoil_add(of, err);

    spoil->arg.i = value;
    snprintf(spoil->text, sizeof(spoil->text), "%d", value);
}

static void spoil_size(const char *of, size_t value, mcomm_err_t err, mcomm_err_t err2)
{
    struct spoil *spoil = spoil_add(of, err);

    spoil->arg.n = value;
    spoil->err2 = err2;
    snprintf(spoil->text, sizeof(spoil->text), "%zu", value);
}

/* By value, and behind a pointer: none, freed, of another kind, no handle at all. */
static void spoil_handle(const char *by_value, const char *pointed_to, const void *freed_handle,
                         mcomm_err_t err)
{
    static const void *kept[64];
    static size_t kept_num;
    const void *const values[] = {NULL,
                                  freed_handle,
                                  err == MCOMM_ERR_INFO ? (void *)good.comm : (void *)good.info,
                                  (const void *)(uintptr_t)0x12345678,
                                  (const void *)&room,
                                  (const void *)UINTPTR_MAX};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct spoil *spoil;

        if (by_value[0] != '\0' && (values[i] != NULL || strcmp(by_value, "J") != 0)) {
            spoil = spoil_add(by_value, err);
            spoil->arg.p = values[i];
            if (values[i] != NULL)
                snprintf(spoil->text, sizeof(spoil->text), "%p", values[i]);
        }
        if (pointed_to[0] == '\0' || (values[i] == NULL && strcmp(pointed_to, "q") == 0) ||
            (values[i] == NULL && strcmp(pointed_to, "l") == 0)) /* no request is a good one */
            continue;
        CHECK(kept_num < sizeof(kept) / sizeof(kept[0]));
        kept[kept_num] = values[i];
        spoil = spoil_add(pointed_to, err);
        spoil->arg.p = &kept[kept_num++];
        if (values[i] != NULL)
            snprintf(spoil->text, sizeof(spoil->text), "%p", values[i]);
    }
}

static void spoils_make(void)
{
    static const int out_of_range[] = {INT_MAX, INT_MIN, -99};
    static const size_t negative[] = {(size_t)-1, (size_t)-4, (size_t)1 << 63};
    static const size_t no_struct[] = {0, 1};
    static const int enums[] = {0, 99, -1};
    static const int no_ops[] = {0, -7, 77, INT_MAX};

    spoil_pointer("OZLlVfmgiqswvo", NULL, MCOMM_ERR_ARG);
    spoil_pointer("B", NULL, MCOMM_ERR_BUFFER);
    spoil_pointer("b", &room, MCOMM_ERR_ARG);
    for (size_t i = 0; i < 3; i++) {
        spoil_int("rR", out_of_range[i], MCOMM_ERR_RANK);
        spoil_size("N", negative[i], MCOMM_ERR_COUNT, MCOMM_ERR_COUNT);
        spoil_size("n", negative[i], MCOMM_ERR_RMA_RANGE, MCOMM_ERR_COUNT);
        spoil_size("x", negative[i], MCOMM_ERR_ARG, MCOMM_ERR_ARG);
        spoil_int("e", enums[i], MCOMM_ERR_ARG);
        spoil_int("D", enums[i], MCOMM_ERR_TYPE);
    }
    spoil_int("r", MCOMM_ANY_SOURCE, MCOMM_ERR_RANK);
    spoil_int("rR", mp_size, MCOMM_ERR_RANK);
    spoil_int("T", -1, MCOMM_ERR_TAG);
    spoil_int("Tt", -2, MCOMM_ERR_TAG);
    spoil_int("Tt", INT_MIN, MCOMM_ERR_TAG);
    spoil_int("M", -2, MCOMM_ERR_ARG);
    spoil_int("M", INT_MIN, MCOMM_ERR_ARG);
    spoil_int("c", -1, MCOMM_ERR_ARG);
    spoil_int("p", 0, MCOMM_ERR_OP);
    spoil_int("p", 99, MCOMM_ERR_OP);
    spoil_size("u", SIZE_MAX, MCOMM_ERR_RMA_RANGE, MCOMM_ERR_RMA_RANGE);
    spoil_size("k", 0, MCOMM_ERR_ARG, MCOMM_ERR_ARG);
    spoil_size("k", 4097, MCOMM_ERR_TOO_LARGE, MCOMM_ERR_TOO_LARGE);
    spoil_size("k", (size_t)-1, MCOMM_ERR_TOO_LARGE, MCOMM_ERR_TOO_LARGE);
    spoil_pointer("L", &mp_size, MCOMM_ERR_RANK);
    for (size_t i = 0; i < 2; i++) {
        spoil_pointer("AaZ", &no_struct[i], MCOMM_ERR_ARG);
        snprintf(spoils[spoil_num - 1].text, sizeof(spoils->text), "%zu", no_struct[i]);
    }
    for (size_t i = 0; i < sizeof(no_ops) / sizeof(no_ops[0]); i++) {
        spoil_int("P", no_ops[i], MCOMM_ERR_OP);
        spoil_pointer("o", &no_ops[i], MCOMM_ERR_OP);
    }
    spoil_int("P", (int)freed.op, MCOMM_ERR_OP);
    spoil_pointer("o", &freed.op, MCOMM_ERR_OP);
    spoil_handle("C", "m", freed.comm, MCOMM_ERR_COMM);
    spoil_handle("G", "g", freed.group, MCOMM_ERR_GROUP);
    spoil_handle("I", "i", freed.info, MCOMM_ERR_INFO);
    spoil_handle("J", "", freed.info, MCOMM_ERR_INFO);
    spoil_handle("Q", "q", freed.request, MCOMM_ERR_REQUEST);
    spoil_handle("", "l", freed.request, MCOMM_ERR_REQUEST);
    spoil_handle("", "s", freed.message, MCOMM_ERR_MESSAGE);
    spoil_handle("WY", "w", freed.win, MCOMM_ERR_WIN);
    spoil_handle("K", "v", freed.kv, MCOMM_ERR_ARG);
}

/* ---- one call ---- */
static void args_make(const struct param *params, int num, union arg *args)
{
    for (int k = 0; k < num; k++)
        args[k] = good_arg(&params[k], k);
}

static int num_failed;

static void failed(const struct call *call, const char *what, mcomm_err_t err, mcomm_err_t expected)
{
    fprintf(stderr, "rank %d: mcomm_%s, %s: %s (%s), expected %s\n", mp_rank, call->name, what,
            mcomm_err_name(err), mcomm_last_error(), mcomm_err_name(expected));
    num_failed++;
}

static void expect_untouched(const struct call *call, const struct param *params, int num,
                             const char *what)
{
    for (int k = 0; k < num; k++) {
        size_t from = params[k].kind == 'Z' ? sizeof(size_t) : 0;

        if (!is_output(&params[k]) || strchr("OZ", params[k].kind) == NULL)
            continue;
        for (size_t i = from; i < ROOM; i++) {
            if (room[k][i] == UNTOUCHED)
                continue;
            fprintf(stderr, "rank %d: mcomm_%s, %s: %s was written\n", mp_rank, call->name, what,
                    params[k].name);
            num_failed++;
            break;
        }
    }
}

/*
 * Does the text name the parameter? A size by what it is the size of, a place in a window by being
 * one, a handle that is pointed to also without the pointer's ending.
 */
static int text_names(const struct param *param, const char *text)
{
    char stem[sizeof(param->name)];

    memcpy(stem, param->name, sizeof(stem));
    if (is_output(param) && param->kind != 'O' && param->kind != 'Z')
        stem[strlen(stem) - 2] = '\0';
    return strstr(text, stem) != NULL || (param->kind == 'N' && strstr(text, "size of ") != NULL) ||
           (param->kind == 'n' && strstr(text, "bytes at displacement") != NULL) ||
           (param->kind == 'u' && strstr(text, "displacement") != NULL);
}

static void try_spoil(const struct call *call, const struct param *params, int num, int k,
                      const struct spoil *spoil)
{
    struct handles before;
    union arg args[PARAMS];
    mcomm_err_t err;
    char what[80];

    args_make(params, num, args);
    args[k] = spoil->arg;
    before = good;
    snprintf(what, sizeof(what), "%s spoilt (%s)", params[k].name,
             spoil->text[0] != '\0' ? spoil->text : "null");
    err = call->call(args);
    if ((err != spoil->err && err != spoil->err2) || !text_names(&params[k], mcomm_last_error()) ||
        strstr(mcomm_last_error(), spoil->text) == NULL)
        failed(call, what, err, spoil->err);
    expect_untouched(call, params, num, what);
    if (memcmp(&before, &good, sizeof(good)) != 0)
        MP_FAIL("mcomm_%s, %s: a handle was changed", call->name, what);
}

static void try_spoils(const struct call *call)
{
    struct param params[PARAMS];
    int num = params_of(call, params), tried = 0;

    for (int k = 0; k < num; k++)
        for (size_t i = 0; i < spoil_num; i++)
            if (strchr(spoils[i].kinds, params[k].kind) != NULL) {
                try_spoil(call, params, num, k, &spoils[i]);
                tried++;
            }
    if (tried == 0)
        MP_FAIL("nothing was tried on mcomm_%s", call->name);
}

static void expect_collectives(mcomm_err_t expected, const char *when)
{
    const struct args arguments = good_args();

    for (size_t i = 0; i < KIND_NUM; i++)
        for (int form = 0; form < S_FORMS; form++) {
            mcomm_request_t request = (mcomm_request_t)&room;
            mcomm_err_t err = kinds[i].call(&arguments, (enum small_form)form, &request);

            if (err != expected || request != (mcomm_request_t)&room)
                MP_FAIL("mcomm_%s, form %d, %s: %s, expected %s", kinds[i].name, form, when,
                        mcomm_err_name(err), mcomm_err_name(expected));
        }
}

/* All functions when there is no library to call. */
static void expect_everywhere(mcomm_err_t expected, const char *when)
{
    for (size_t i = 0; i < CALL_NUM; i++) {
        struct param params[PARAMS];
        union arg args[PARAMS];
        int num = params_of(&calls[i], params);
        mcomm_err_t err;

        if (strcmp(calls[i].name, "setting_get") == 0) /* works before the start, too */
            continue;
        args_make(params, num, args);
        err = calls[i].call(args);
        if (err != expected)
            failed(&calls[i], when, err, expected);
        expect_untouched(&calls[i], params, num, when);
    }
    expect_collectives(expected, when);
}

/* ---- nobody is forgotten ---- */
static int is_collective(const char *name)
{
    char form[40];

    for (size_t i = 0; i < KIND_NUM; i++) {
        snprintf(form, sizeof(form), "%s_init", kinds[i].name);
        if (strcmp(name, kinds[i].name) == 0 || strcmp(name, form) == 0 ||
            (name[0] == 'i' && strcmp(name + 1, kinds[i].name) == 0))
            return 1;
    }
    return 0;
}

static int is_known(const char *name)
{
    static const char *const others[] = {WITHOUT_ARGUMENTS};

    for (size_t i = 0; i < CALL_NUM; i++)
        if (strcmp(calls[i].name, name) == 0)
            return 1;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i], name) == 0)
            return 1;
    return is_collective(name);
}

static void expect_all_known(const char *list)
{
    char line[80];
    FILE *file = fopen(list, "r");

    if (file == NULL)
        MP_FAIL("cannot read %s", list);
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        CHECK(strncmp(line, "mcomm_", 6) == 0);
        if (!is_known(line + 6))
            MP_FAIL("%s is exported and not tested: add it to args_calls.h", line);
    }
    fclose(file);
}

/* What cannot fail takes anything. */
static void odd_values(void)
{
    static const int odd[] = {INT_MIN, -1, 0, 3, 99, 27, 108, 203, 499, 1000, INT_MAX};
    int major = -1;

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        CHECK(mcomm_err_text((mcomm_err_t)odd[i])[0] != '\0');
        CHECK(mcomm_err_name((mcomm_err_t)odd[i])[0] != '\0');
        CHECK(mcomm_err_scope((mcomm_err_t)odd[i]) <= MCOMM_SCOPE_OBJECT);
        CHECK(mcomm_datatype_size((mcomm_datatype_t)odd[i]) <= 16);
    }
    mcomm_get_version(NULL, NULL, NULL);
    mcomm_get_version(&major, NULL, NULL);
    CHECK_EQ(major, MCOMM_VERSION_MAJOR);
    mcomm_free(NULL);
    CHECK(mcomm_setting_count() > 0 && mcomm_build_config()[0] != '\0' && mcomm_wtime() > 0);
    CHECK(mcomm_bootstrap_text() != NULL && mcomm_topology_text() != NULL);
    CHECK(mcomm_coll_text() != NULL && mcomm_last_error() != NULL);
}

/* ---- handles, good and freed ---- */
static void handles_make(struct handles *h)
{
    mcomm_win_attr_t win_attr = MCOMM_WIN_ATTR_DEFAULT;
    mcomm_kv_attr_t kv_attr = MCOMM_KV_ATTR_DEFAULT;
    void *base;

    win_attr.nbytes = 64;
    kv_attr.capacity = 1 << 20;
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &h->comm));
    OK(mcomm_comm_group(h->comm, &h->group));
    OK(mcomm_info_create(&h->info));
    OK(mcomm_send_init(NULL, 0, 0, 1, MCOMM_COMM_SELF, &h->request));
    OK(mcomm_send(NULL, 0, 0, 2, MCOMM_COMM_SELF));
    OK(mcomm_mprobe(0, 2, MCOMM_COMM_SELF, &h->message, NULL));
    OK(mcomm_win_allocate(&win_attr, h->comm, &base, &h->win));
    OK(mcomm_kv_open(MCOMM_COMM_SELF, &kv_attr, &h->kv));
    OK(mcomm_op_create(nothing, NULL, 1, &h->op));
}

static void handles_free(struct handles *h)
{
    OK(mcomm_op_free(&h->op));
    OK(mcomm_kv_close(&h->kv));
    OK(mcomm_win_free(&h->win));
    OK(mcomm_mrecv(NULL, 0, &h->message, NULL));
    OK(mcomm_request_free(&h->request));
    OK(mcomm_info_free(&h->info));
    OK(mcomm_group_free(&h->group));
    OK(mcomm_comm_free(&h->comm));
}

static void in_a_child(void)
{
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        expect_everywhere(MCOMM_ERR_FORKED, "in a child");
        odd_values();
        _exit(num_failed != 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    num_failed += status != 0;
}

int main(int argc, char **argv)
{
    struct handles copy;

    odd_values();
    expect_everywhere(MCOMM_ERR_NOT_INIT, "before the start");
    mp_init();
    if (argc > 1)
        expect_all_known(argv[1]);
    handles_make(&good);
    handles_make(&freed);
    OK(mcomm_win_create_dynamic(NULL, MCOMM_COMM_WORLD, &dynamic));
    copy = freed;
    handles_free(&copy);
    spoils_make();
    for (size_t i = 0; i < CALL_NUM; i++)
        try_spoils(&calls[i]);
    odd_values();
    in_a_child();
    copy = good; /* all of it is still good */
    handles_free(&copy);
    OK(mcomm_win_free(&dynamic));
    OK(mcomm_finalize());
    expect_everywhere(MCOMM_ERR_NOT_INIT, "after the end");
    printf("%zu functions, %zu kinds of bad arguments\n", CALL_NUM, spoil_num);
    return num_failed != 0;
}
