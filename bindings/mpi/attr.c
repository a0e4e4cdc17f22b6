/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Attributes: pointers that a caller hangs on communicators, datatypes and windows under a key. A
 * key (keyval) lives until it was freed and no attribute has it. Deleted in the reverse order of
 * setting.
 */
#include <stdlib.h>

#include "mpi_priv.h"

typedef int copy_fn(void *handle, int keyval, void *extra, void *in, void *out, int *flag);
typedef int delete_fn(void *handle, int keyval, void *value, void *extra);

struct keyval {
    enum kind kind; /* 0: free */
    copy_fn *copy;  /* NULL: not copied, DUP: the pointer itself */
    delete_fn *delete;
    void *extra;
    int refs; /* the caller, attributes */
    bool is_freed;
};
#define DUP ((copy_fn *)1)
#define KEYVALS_FIRST 1024 /* above the predefined ones */
static struct keyval *keyvals;
static int num_keyvals;

struct attr { /* the newest first */
    struct attr *next;
    int keyval;
    void *value;
};

static struct keyval *keyval_get(enum kind kind, int keyval)
{
    int index = keyval - KEYVALS_FIRST;

    return index >= 0 && index < num_keyvals && keyvals[index].kind == kind ? &keyvals[index]
                                                                            : NULL;
}

static void keyval_unref(enum kind kind, int keyval)
{
    struct keyval *own = keyval_get(kind, keyval);

    if (own != NULL && --own->refs == 0)
        *own = (struct keyval){0};
}

static int keyval_create(enum kind kind, copy_fn *copy, delete_fn *delete, int *keyval_p,
                         void *extra)
{
    struct keyval *grown;
    int index = 0;

    while (index < num_keyvals && keyvals[index].kind != 0)
        index++;
    if (index == num_keyvals) {
        grown = realloc(keyvals, (size_t)(num_keyvals + 1) * sizeof(*keyvals));
        if (grown == NULL)
            return mpi_no_mem(NULL, sizeof(*keyvals));
        keyvals = grown;
        num_keyvals++;
    }
    keyvals[index] = (struct keyval){kind, copy, delete, extra, 1, false};
    *keyval_p = KEYVALS_FIRST + index;
    return MPI_SUCCESS;
}

static int bad_keyval(int keyval)
{
    return mpi_fail(NULL, MPI_ERR_KEYVAL, "keyval %d is none of this kind", keyval);
}

static int keyval_free(enum kind kind, int *keyval_p)
{
    struct keyval *own = keyval_get(kind, *keyval_p);

    if (own == NULL || own->is_freed)
        return bad_keyval(*keyval_p);
    own->is_freed = true;
    keyval_unref(kind, *keyval_p);
    *keyval_p = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static struct attr **attr_find(struct attrs *attrs, int keyval)
{
    struct attr **at = &attrs->first;

    while (*at != NULL && (*at)->keyval != keyval)
        at = &(*at)->next;
    return at;
}

static int call_delete(enum kind kind, void *handle, const struct attr *attr)
{
    struct keyval *own = keyval_get(kind, attr->keyval);

    if (own == NULL || own->delete == NULL)
        return MPI_SUCCESS;
    return own->delete (handle, attr->keyval, attr->value, own->extra);
}

static int attr_delete(enum kind kind, void *handle, struct attrs *attrs, int keyval)
{
    struct attr **at, *attr;
    int code;

    if (keyval_get(kind, keyval) == NULL)
        return bad_keyval(keyval);
    attr = *attr_find(attrs, keyval);
    if (attr == NULL)
        return mpi_fail(NULL, MPI_ERR_KEYVAL, "keyval %d has no attribute here", keyval);
    code = call_delete(kind, handle, attr);
    if (code != MPI_SUCCESS)
        return mpi_fail(NULL, code, "the function that deletes attribute %d failed", keyval);
    at = attr_find(attrs, keyval);
    attr = *at;
    if (attr == NULL)
        return MPI_SUCCESS;
    *at = attr->next;
    free(attr);
    keyval_unref(kind, keyval);
    return MPI_SUCCESS;
}

static int attr_set(enum kind kind, void *handle, struct attrs *attrs, int keyval, void *value)
{
    struct keyval *own = keyval_get(kind, keyval);
    struct attr *attr;
    int code;

    if (own == NULL || own->is_freed)
        return bad_keyval(keyval);
    attr = *attr_find(attrs, keyval);
    if (attr != NULL) {
        code = call_delete(kind, handle, attr);
        if (code != MPI_SUCCESS)
            return mpi_fail(NULL, code, "the function that deletes attribute %d failed", keyval);
        attr->value = value;
        return MPI_SUCCESS;
    }
    attr = malloc(sizeof(*attr));
    if (attr == NULL)
        return mpi_no_mem(NULL, sizeof(*attr));
    *attr = (struct attr){attrs->first, keyval, value};
    attrs->first = attr;
    keyval_get(kind, keyval)->refs++;
    return MPI_SUCCESS;
}

static int attr_get(enum kind kind, struct attrs *attrs, int keyval, void *value_p, int *flag)
{
    const struct attr *attr;

    if (keyval_get(kind, keyval) == NULL)
        return bad_keyval(keyval);
    attr = *attr_find(attrs, keyval);
    *flag = attr != NULL;
    if (attr != NULL)
        *(void **)value_p = attr->value;
    return MPI_SUCCESS;
}

/* In the order of setting: a chain is walked from its end. */
static int copy_chain(enum kind kind, void *old_handle, const struct attr *attr, struct attrs *to)
{
    struct keyval *own;
    struct attr *copy;
    void *value = NULL;
    int flag = 0, code;

    if (attr == NULL)
        return MPI_SUCCESS;
    code = copy_chain(kind, old_handle, attr->next, to);
    own = keyval_get(kind, attr->keyval);
    if (code != MPI_SUCCESS || own == NULL || own->copy == NULL)
        return code;
    value = attr->value;
    if (own->copy == DUP)
        flag = 1;
    else
        code = own->copy(old_handle, attr->keyval, own->extra, attr->value, &value, &flag);
    if (code != MPI_SUCCESS)
        return mpi_fail(NULL, code, "the function that copies attribute %d failed", attr->keyval);
    if (!flag)
        return MPI_SUCCESS;
    copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return mpi_no_mem(NULL, sizeof(*copy));
    *copy = (struct attr){to->first, attr->keyval, value};
    to->first = copy;
    keyval_get(kind, attr->keyval)->refs++;
    return MPI_SUCCESS;
}

int mpi_attrs_copy(enum kind kind, void *old_handle, struct attrs *from, struct attrs *to)
{
    return copy_chain(kind, old_handle, from->first, to);
}

int mpi_attrs_free(enum kind kind, void *handle, struct attrs *attrs)
{
    while (attrs->first != NULL) {
        int code = attr_delete(kind, handle, attrs, attrs->first->keyval);

        if (code != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

/* ---- what communicators have from the beginning ---- */
static bool predefined_get(struct comm *comm, int keyval, void *value_p, int *flag)
{
    static int tag_ub = MCOMM_TAG_MAX, any = MPI_ANY_SOURCE, none = MPI_PROC_NULL, no = 0;
    static int universe;
    int *value;

    switch (keyval) {
    case MPI_TAG_UB:
        value = &tag_ub;
        break;
    case MPI_IO:
        value = &any;
        break;
    case MPI_HOST:
        value = &none;
        break;
    case MPI_WTIME_IS_GLOBAL:
        value = &no;
        break;
    case MPI_LASTUSEDCODE:
        value = &mpi_last_used_code;
        break;
    case MPI_UNIVERSE_SIZE:
        universe = mpi_world.size;
        value = &universe;
        break;
    case MPI_APPNUM:
        value = NULL;
        break;
    default:
        return false;
    }
    (void)comm;
    *flag = value != NULL;
    if (value != NULL)
        *(void **)value_p = value;
    return true;
}

/* ---- calls ---- */
#define TYPE_GET(handle) mpi_type_get(handle)
#define TYPE_BAD(handle) mpi_bad_type(NULL, handle)
#define ATTR_CALLS(Name, kind, handle_t, object_t, get, bad)                                       \
    DEF(int, Name##_create_keyval,                                                                 \
        (MPI_##Name##_copy_attr_function * copy, MPI_##Name##_delete_attr_function * delete,       \
         int *keyval_p, void *extra))                                                              \
    {                                                                                              \
        return keyval_create(kind, (copy_fn *)(void (*)(void))copy,                                \
                             (delete_fn *)(void (*)(void)) delete, keyval_p, extra);               \
    }                                                                                              \
    DEF(int, Name##_free_keyval, (int *keyval_p))                                                  \
    {                                                                                              \
        return keyval_free(kind, keyval_p);                                                        \
    }                                                                                              \
    DEF(int, Name##_set_attr, (handle_t handle, int keyval, void *value))                          \
    {                                                                                              \
        object_t *object = get(handle);                                                            \
                                                                                                   \
        return object != NULL ? attr_set(kind, handle, &object->attrs, keyval, value)              \
                              : bad(handle);                                                       \
    }                                                                                              \
    DEF(int, Name##_delete_attr, (handle_t handle, int keyval))                                    \
    {                                                                                              \
        object_t *object = get(handle);                                                            \
                                                                                                   \
        return object != NULL ? attr_delete(kind, handle, &object->attrs, keyval) : bad(handle);   \
    }                                                                                              \
    DEF(int, Name##_get_attr, (handle_t handle, int keyval, void *value_p, int *flag))             \
    {                                                                                              \
        object_t *object = get(handle);                                                            \
                                                                                                   \
        if (object == NULL)                                                                        \
            return bad(handle);                                                                    \
        if (Name##_PREDEFINED(object, keyval, value_p, flag))                                      \
            return MPI_SUCCESS;                                                                    \
        return attr_get(kind, &object->attrs, keyval, value_p, flag);                              \
    }
#define Comm_PREDEFINED predefined_get
#define Type_PREDEFINED(object, keyval, value_p, flag) false
ATTR_CALLS(Comm, KIND_COMM, MPI_Comm, struct comm, mpi_comm_get, mpi_bad_comm)
ATTR_CALLS(Type, KIND_TYPE, MPI_Datatype, struct type, TYPE_GET, TYPE_BAD)

/* ---- the names of MPI 1 ---- */
DEF(int, Keyval_create,
    (MPI_Copy_function * copy, MPI_Delete_function *delete, int *keyval_p, void *extra))
{
    return PMPI_Comm_create_keyval(copy, delete, keyval_p, extra);
}

DEF(int, Keyval_free, (int *keyval_p))
{
    return PMPI_Comm_free_keyval(keyval_p);
}

DEF(int, Attr_put, (MPI_Comm comm, int keyval, void *value))
{
    return PMPI_Comm_set_attr(comm, keyval, value);
}

DEF(int, Attr_get, (MPI_Comm comm, int keyval, void *value_p, int *flag))
{
    return PMPI_Comm_get_attr(comm, keyval, value_p, flag);
}

DEF(int, Attr_delete, (MPI_Comm comm, int keyval))
{
    return PMPI_Comm_delete_attr(comm, keyval);
}
