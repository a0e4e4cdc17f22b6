/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Messages, packing, counts of a status: the calls with counts; compiled twice. */
#include <string.h>

#include "mpi_priv.h"

#define SEND_CALLS(Name, iname, mode)                                                              \
    DEF_COUNT(Name, (const void *buf, MPI_NUM count, MPI_Datatype type, int dest, int tag,         \
                     MPI_Comm comm))                                                               \
    {                                                                                              \
        return mpi_send(buf, count, type, dest, tag, comm, mode);                                  \
    }                                                                                              \
    DEF_COUNT(iname, (const void *buf, MPI_NUM count, MPI_Datatype type, int dest, int tag,        \
                      MPI_Comm comm, MPI_Request *request))                                        \
    {                                                                                              \
        return mpi_isend(buf, count, type, dest, tag, comm, mode, false, request);                 \
    }                                                                                              \
    DEF_COUNT(Name##_init, (const void *buf, MPI_NUM count, MPI_Datatype type, int dest, int tag,  \
                            MPI_Comm comm, MPI_Request *request))                                  \
    {                                                                                              \
        return mpi_isend(buf, count, type, dest, tag, comm, mode, true, request);                  \
    }
SEND_CALLS(Send, Isend, MODE_SEND)
SEND_CALLS(Ssend, Issend, MODE_SSEND)
SEND_CALLS(Rsend, Irsend, MODE_SEND) /* its receive is posted: as any */
SEND_CALLS(Bsend, Ibsend, MODE_BSEND)

DEF_COUNT(Recv, (void *buf, MPI_NUM count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                 MPI_Status *status))
{
    return mpi_recv(buf, count, type, source, tag, comm, status);
}

DEF_COUNT(Irecv, (void *buf, MPI_NUM count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request *request))
{
    return mpi_irecv(buf, count, type, source, tag, comm, false, request);
}

DEF_COUNT(Recv_init, (void *buf, MPI_NUM count, MPI_Datatype type, int source, int tag,
                      MPI_Comm comm, MPI_Request *request))
{
    return mpi_irecv(buf, count, type, source, tag, comm, true, request);
}

DEF_COUNT(Mrecv,
          (void *buf, MPI_NUM count, MPI_Datatype type, MPI_Message *message, MPI_Status *status))
{
    return mpi_mrecv(buf, count, type, message, status);
}

DEF_COUNT(Imrecv,
          (void *buf, MPI_NUM count, MPI_Datatype type, MPI_Message *message, MPI_Request *request))
{
    return mpi_imrecv(buf, count, type, message, request);
}

DEF_COUNT(Sendrecv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, int dest,
                     int sendtag, void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype,
                     int source, int recvtag, MPI_Comm comm, MPI_Status *status))
{
    struct sendrecv given = {sendbuf,   sendcount, sendtype, dest,    sendtag, recvbuf,
                             recvcount, recvtype,  source,   recvtag, comm};

    return mpi_sendrecv(&given, false, status);
}

DEF_COUNT(Isendrecv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, int dest,
                      int sendtag, void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype,
                      int source, int recvtag, MPI_Comm comm, MPI_Request *request))
{
    struct sendrecv given = {sendbuf,   sendcount, sendtype, dest,    sendtag, recvbuf,
                             recvcount, recvtype,  source,   recvtag, comm};

    return mpi_isendrecv(&given, false, request);
}

DEF_COUNT(Sendrecv_replace, (void *buf, MPI_NUM count, MPI_Datatype type, int dest, int sendtag,
                             int source, int recvtag, MPI_Comm comm, MPI_Status *status))
{
    struct sendrecv given = {buf,   count, type,   dest,    sendtag, buf,
                             count, type,  source, recvtag, comm};

    return mpi_sendrecv(&given, true, status);
}

DEF_COUNT(Isendrecv_replace, (void *buf, MPI_NUM count, MPI_Datatype type, int dest, int sendtag,
                              int source, int recvtag, MPI_Comm comm, MPI_Request *request))
{
    struct sendrecv given = {buf,   count, type,   dest,    sendtag, buf,
                             count, type,  source, recvtag, comm};

    return mpi_isendrecv(&given, true, request);
}

/* ---- counts of a status ---- */
DEF_COUNT(Get_count, (const MPI_Status *status, MPI_Datatype handle, MPI_NUM *count_p))
{
    MPI_Count nbytes = mpi_status_nbytes(status), count;

    GET_TYPE(type, handle, NULL);
    count = type->size > 0 ? nbytes / type->size : 0;
    *count_p = (type->size > 0 ? nbytes % type->size != 0 : nbytes != 0) || count > NUM_MAX
                   ? MPI_UNDEFINED
                   : (MPI_NUM)count;
    return MPI_SUCCESS;
}

struct counting {
    MPI_Count left, elements;
};

static int run_count(void *arg, MPI_Aint offset, MPI_Count count, const struct type *leaf)
{
    struct counting *counting = arg;
    MPI_Count whole = MIN(count, counting->left / leaf->size);

    (void)offset;
    counting->elements += whole;
    counting->left -= whole * leaf->size;
    return whole < count;
}

DEF_COUNT(Get_elements, (const MPI_Status *status, MPI_Datatype handle, MPI_NUM *count_p))
{
    struct counting counting = {mpi_status_nbytes(status), 0};
    MPI_Count whole;

    GET_TYPE(type, handle, NULL);
    whole = type->size > 0 ? counting.left / type->size : 0;
    if (whole > 0) { /* every whole one has as many elements as the first */
        struct counting first = {type->size, 0};

        mpi_type_walk(type, 1, 0, run_count, &first);
        counting.elements = whole * first.elements;
        counting.left -= whole * type->size;
    }
    mpi_type_walk(type, 1, 0, run_count, &counting);
    *count_p = counting.left != 0 || counting.elements > NUM_MAX ? MPI_UNDEFINED
                                                                 : (MPI_NUM)counting.elements;
    return MPI_SUCCESS;
}

DEF_COUNT(Status_set_elements, (MPI_Status * status, MPI_Datatype handle, MPI_NUM count))
{
    GET_TYPE(type, handle, NULL);
    if (count < 0)
        return mpi_fail(NULL, MPI_ERR_COUNT, "count %lld", (long long)count);
    mpi_status_bytes(status, count * type->size);
    return MPI_SUCCESS;
}

/* ---- packing ---- */
DEF_COUNT(Pack_size, (MPI_NUM count, MPI_Datatype handle, MPI_Comm comm_handle, MPI_NUM *size_p))
{
    GET_COMM(comm, comm_handle);
    GET_TYPE(type, handle, &comm->owner);
    if (count < 0)
        return mpi_fail(&comm->owner, MPI_ERR_COUNT, "incount %lld", (long long)count);
    *size_p = count * type->size > NUM_MAX ? MPI_UNDEFINED : (MPI_NUM)(count * type->size);
    return MPI_SUCCESS;
}

/* Is there room for count of type from position on? */
static int room_check(const struct owner *owner, MPI_Count count, const struct type *type,
                      MPI_Count position, MPI_Count size)
{
    if (count < 0)
        return mpi_fail(owner, MPI_ERR_COUNT, "count %lld", (long long)count);
    if (position < 0 || position > size || count * type->size > size - position)
        return mpi_fail(owner, MPI_ERR_TRUNCATE, "%lld bytes at %lld of a buffer of %lld bytes",
                        (long long)(count * type->size), (long long)position, (long long)size);
    return MPI_SUCCESS;
}

DEF_COUNT(Pack, (const void *buf, MPI_NUM count, MPI_Datatype handle, void *packed, MPI_NUM size,
                 MPI_NUM *position_p, MPI_Comm comm_handle))
{
    int code;

    GET_COMM(comm, comm_handle);
    GET_TYPE(type, handle, &comm->owner);
    code = room_check(&comm->owner, count, type, *position_p, size);
    if (code != MPI_SUCCESS)
        return code;
    mpi_pack(buf, count, type, AT(packed, *position_p));
    *position_p += (MPI_NUM)(count * type->size);
    return MPI_SUCCESS;
}

DEF_COUNT(Unpack, (const void *packed, MPI_NUM size, MPI_NUM *position_p, void *buf, MPI_NUM count,
                   MPI_Datatype handle, MPI_Comm comm_handle))
{
    int code;

    GET_COMM(comm, comm_handle);
    GET_TYPE(type, handle, &comm->owner);
    code = room_check(&comm->owner, count, type, *position_p, size);
    if (code != MPI_SUCCESS)
        return code;
    mpi_unpack(AT(packed, *position_p), count * type->size, buf, count, type);
    *position_p += (MPI_NUM)(count * type->size);
    return MPI_SUCCESS;
}

/* ---- external32: big-endian ---- */
struct swapping {
    char *buf, *packed;
    bool is_pack;
};

static int run_swap(void *arg, MPI_Aint offset, MPI_Count count, const struct type *leaf)
{
    struct swapping *swapping = arg;
    size_t unit = (size_t)leaf->size / (leaf->leaf == LEAF_COMPLEX ? 2 : 1);
    size_t nbytes = (size_t)(count * leaf->size);
    char *buf = AT(swapping->buf, offset), *packed = swapping->packed;

    for (size_t at = 0; at < nbytes; at += unit) {
        for (size_t i = 0; i < unit; i++) {
            if (swapping->is_pack)
                packed[at + i] = buf[at + unit - 1 - i];
            else
                buf[at + unit - 1 - i] = packed[at + i];
        }
    }
    swapping->packed += nbytes;
    return 0;
}

/* A long double is another format there: not converted. */
static int run_find_wide(void *arg, MPI_Aint offset, MPI_Count count, const struct type *leaf)
{
    (void)arg;
    (void)offset;
    (void)count;
    return (leaf->leaf == LEAF_FLOAT || leaf->leaf == LEAF_COMPLEX) && leaf->native == 0;
}

static int external_check(const char *datarep, const struct type *type)
{
    if (strcmp(datarep, "external32") != 0)
        return mpi_fail(NULL, MPI_ERR_ARG, "datarep \"%.40s\" is not external32", datarep);
    if (mpi_type_walk(type, 1, 0, run_find_wide, NULL))
        return mpi_fail(NULL, MPI_ERR_UNSUPPORTED_OPERATION, "long double in external32");
    return MPI_SUCCESS;
}

static int external(const char *datarep, void *buf, MPI_Count count, MPI_Datatype handle,
                    void *packed, MPI_Count size, MPI_Aint *position_p, bool is_pack)
{
    struct swapping swapping = {buf, NULL, is_pack};
    int code;

    GET_TYPE(type, handle, NULL);
    code = external_check(datarep, type);
    if (code == MPI_SUCCESS)
        code = room_check(NULL, count, type, *position_p, size);
    if (code != MPI_SUCCESS)
        return code;
    swapping.packed = AT(packed, *position_p);
    mpi_type_walk(type, count, 0, run_swap, &swapping);
    *position_p += (MPI_Aint)(count * type->size);
    return MPI_SUCCESS;
}

DEF_COUNT(Pack_external_size,
          (const char datarep[], MPI_NUM count, MPI_Datatype handle, MPI_BYTES *size_p))
{
    int code;

    GET_TYPE(type, handle, NULL);
    code = external_check(datarep, type);
    if (code == MPI_SUCCESS)
        *size_p = (MPI_BYTES)(count * type->size);
    return code;
}

DEF_COUNT(Pack_external, (const char datarep[], const void *buf, MPI_NUM count, MPI_Datatype type,
                          void *packed, MPI_BYTES size, MPI_BYTES *position_p))
{
    return external(datarep, AT(buf, 0), count, type, packed, size, position_p, true);
}

DEF_COUNT(Unpack_external, (const char datarep[], const void *packed, MPI_BYTES size,
                            MPI_BYTES *position_p, void *buf, MPI_NUM count, MPI_Datatype type))
{
    return external(datarep, buf, count, type, AT(packed, 0), size, position_p, false);
}

/* ---- buffers of buffered sends ---- */
DEF_COUNT(Buffer_attach, (void *buffer, MPI_NUM size))
{
    return mpi_bsend_attach(NULL, &mpi_bsend_buffer, buffer, size);
}

DEF_COUNT(Buffer_detach, (void *buffer_p, MPI_NUM *size_p))
{
    MPI_Count size;
    int code = mpi_bsend_detach(NULL, &mpi_bsend_buffer, buffer_p, &size);

    *size_p = (MPI_NUM)size;
    return code;
}

DEF_COUNT(Comm_attach_buffer, (MPI_Comm handle, void *buffer, MPI_NUM size))
{
    GET_COMM(comm, handle);
    return mpi_bsend_attach(comm, &comm->buffer, buffer, size);
}

DEF_COUNT(Comm_detach_buffer, (MPI_Comm handle, void *buffer_p, MPI_NUM *size_p))
{
    MPI_Count size;
    int code;

    GET_COMM(comm, handle);
    code = mpi_bsend_detach(comm, &comm->buffer, buffer_p, &size);
    *size_p = (MPI_NUM)size;
    return code;
}
