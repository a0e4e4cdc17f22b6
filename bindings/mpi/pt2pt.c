/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Messages. Data that lies close together goes to the library where it is; else a packed copy is
 * sent, or received and unpacked. A request keeps its copy and its datatype until it ends.
 */
#include <stdlib.h>

#include "mpi_priv.h"

struct transfer { /* of a request that needs more than the library's */
    void *packed;
    size_t nbytes;
    void *buf;
    MPI_Count count;
    struct type *type;
    int dest, tag; /* buffered sends */
};

static int count_check(const struct owner *owner, MPI_Count count, const struct type *type,
                       size_t *nbytes_p)
{
    if (__builtin_expect(
            count < 0 || __builtin_mul_overflow((size_t)count, (size_t)type->size, nbytes_p), 0))
        return mpi_fail(owner, MPI_ERR_COUNT, "count %lld of %lld bytes", (long long)count,
                        (long long)type->size);
    return MPI_SUCCESS;
}

#define GET_DATA(comm, type, nbytes)                                                               \
    size_t nbytes = 0;                                                                             \
    GET_COMM(comm, comm_handle);                                                                   \
    GET_TYPE(type, type_handle, &comm->owner);                                                     \
    if (__builtin_expect(count_check(&comm->owner, count, type, &nbytes) != MPI_SUCCESS, 0))       \
    return MPI_ERR_COUNT

/* ---- blocking ---- */
int mpi_send(const void *buf, MPI_Count count, MPI_Datatype type_handle, int dest, int tag,
             MPI_Comm comm_handle, enum mode mode)
{
    void *packed = NULL;
    mcomm_err_t err;

    GET_DATA(comm, type, nbytes);
    dest = mpi_rank_in(dest);
    if (mode == MODE_BSEND)
        return mpi_done(&comm->owner, mpi_bsend(comm, buf, count, type, dest, tag));
    if (!type->is_dense) {
        packed = malloc(MAX(nbytes, 1));
        if (packed == NULL)
            return mpi_no_mem(&comm->owner, nbytes);
        mpi_pack(buf, count, type, packed);
        buf = packed;
    } else {
        buf = AT(buf, type->true_lb);
    }
    err = mode == MODE_SEND ? mcomm_send(buf, nbytes, dest, tag, comm->inner)
                            : mcomm_ssend(buf, nbytes, dest, tag, comm->inner);
    free(packed);
    return mpi_done(&comm->owner, err);
}

/* After a receive into a packed copy */
static void unpack_received(const void *packed, size_t nbytes, const mcomm_status_t *status,
                            void *buf, MPI_Count count, const struct type *type)
{
    mpi_unpack(packed, (MPI_Count)MIN(nbytes, status->nbytes), buf, count, type);
}

int mpi_recv(void *buf, MPI_Count count, MPI_Datatype type_handle, int source, int tag,
             MPI_Comm comm_handle, MPI_Status *status_p)
{
    mcomm_status_t status;
    void *packed;
    mcomm_err_t err;

    GET_DATA(comm, type, nbytes);
    source = mpi_rank_in(source);
    tag = mpi_tag_in(tag);
    if (__builtin_expect(type->is_dense, 1)) {
        buf = AT(buf, type->true_lb);
        if (status_p == MPI_STATUS_IGNORE)
            return mpi_done(&comm->owner,
                            mcomm_recv(buf, nbytes, source, tag, comm->inner, MCOMM_STATUS_IGNORE));
        err = mcomm_recv(buf, nbytes, source, tag, comm->inner, &status);
    } else {
        packed = malloc(MAX(nbytes, 1));
        if (packed == NULL)
            return mpi_no_mem(&comm->owner, nbytes);
        err = mcomm_recv(packed, nbytes, source, tag, comm->inner, &status);
        if (err == MCOMM_SUCCESS || err == MCOMM_ERR_TRUNCATE)
            unpack_received(packed, nbytes, &status, buf, count, type);
        free(packed);
    }
    if (status_p != MPI_STATUS_IGNORE && (err == MCOMM_SUCCESS || err == MCOMM_ERR_TRUNCATE))
        mpi_status_set(status_p, &status);
    return mpi_done(&comm->owner, err);
}

/* ---- requests ---- */
static void transfer_release(struct request *request)
{
    struct transfer *transfer = request->arg;

    mpi_type_unref(transfer->type);
    free(transfer->packed);
    free(transfer);
}

static struct transfer *transfer_new(struct request *request, const void *buf, MPI_Count count,
                                     struct type *type, size_t nbytes)
{
    struct transfer *transfer = calloc(1, sizeof(*transfer));

    if (transfer == NULL)
        return NULL;
    transfer->packed = malloc(MAX(nbytes, 1));
    if (transfer->packed == NULL) {
        free(transfer);
        return NULL;
    }
    transfer->nbytes = nbytes;
    transfer->buf = AT(buf, 0);
    transfer->count = count;
    transfer->type = type;
    mpi_type_ref(type);
    request->arg = transfer;
    request->release = transfer_release;
    return transfer;
}

static mcomm_err_t start_pack(struct request *request)
{
    struct transfer *transfer = request->arg;

    mpi_pack(transfer->buf, transfer->count, transfer->type, transfer->packed);
    return MCOMM_SUCCESS;
}

static mcomm_err_t done_unpack(struct request *request, mcomm_err_t err)
{
    struct transfer *transfer = request->arg;

    if (err == MCOMM_SUCCESS || err == MCOMM_ERR_TRUNCATE)
        unpack_received(transfer->packed, transfer->nbytes, &request->status, transfer->buf,
                        transfer->count, transfer->type);
    return err;
}

static mcomm_err_t start_bsend(struct request *request)
{
    struct transfer *transfer = request->arg;

    return mpi_bsend(request->comm, transfer->buf, transfer->count, transfer->type, transfer->dest,
                     transfer->tag);
}

static mcomm_err_t bsend_init(struct request *request, struct transfer *transfer, int dest, int tag)
{
    transfer->dest = dest;
    transfer->tag = tag;
    request->start = start_bsend;
    return MCOMM_SUCCESS;
}

/* Where the library finds the data of a send: in place, or in a packed copy. */
static const void *send_place(struct request *request, const void *buf, MPI_Count count,
                              struct type *type, size_t nbytes)
{
    struct transfer *transfer;

    if (type->is_dense)
        return AT(buf, type->true_lb);
    transfer = transfer_new(request, buf, count, type, nbytes);
    if (transfer == NULL)
        return NULL;
    if (request->is_persistent)
        request->start = start_pack;
    else
        start_pack(request);
    return transfer->packed;
}

static void *recv_place(struct request *request, void *buf, MPI_Count count, struct type *type,
                        size_t nbytes)
{
    struct transfer *transfer;

    if (type->is_dense)
        return AT(buf, type->true_lb);
    transfer = transfer_new(request, buf, count, type, nbytes);
    if (transfer == NULL)
        return NULL;
    request->done = done_unpack;
    return transfer->packed;
}

int mpi_isend(const void *buf, MPI_Count count, MPI_Datatype type_handle, int dest, int tag,
              MPI_Comm comm_handle, enum mode mode, bool is_persistent, MPI_Request *handle_p)
{
    struct transfer *transfer = NULL;
    struct request *request;
    const void *place = NULL;
    mcomm_err_t err;

    GET_DATA(comm, type, nbytes);
    dest = mpi_rank_in(dest);
    request = mpi_request_new(comm);
    if (request == NULL)
        return mpi_no_mem(&comm->owner, sizeof(*request));
    request->is_persistent = is_persistent;
    if (mode != MODE_BSEND)
        place = send_place(request, buf, count, type, nbytes);
    else if (is_persistent)
        transfer = transfer_new(request, buf, count, type, 0);
    if (!type->is_dense && mode != MODE_BSEND && place == NULL)
        err = MCOMM_ERR_NO_MEM;
    else if (mode == MODE_BSEND && is_persistent)
        err = transfer != NULL ? bsend_init(request, transfer, dest, tag) : MCOMM_ERR_NO_MEM;
    else if (mode == MODE_BSEND)
        err = mpi_bsend(comm, buf, count, type, dest, tag);
    else if (is_persistent)
        err = (mode == MODE_SEND ? mcomm_send_init : mcomm_ssend_init)(
            place, nbytes, dest, tag, comm->inner, &request->inner[0]);
    else
        err = (mode == MODE_SEND ? mcomm_isend : mcomm_issend)(place, nbytes, dest, tag,
                                                               comm->inner, &request->inner[0]);
    return mpi_request_give(request, err, handle_p);
}

int mpi_irecv(void *buf, MPI_Count count, MPI_Datatype type_handle, int source, int tag,
              MPI_Comm comm_handle, bool is_persistent, MPI_Request *handle_p)
{
    struct request *request;
    mcomm_err_t err;
    void *place;

    GET_DATA(comm, type, nbytes);
    request = mpi_request_new(comm);
    if (request == NULL)
        return mpi_no_mem(&comm->owner, sizeof(*request));
    request->is_persistent = is_persistent;
    place = recv_place(request, buf, count, type, nbytes);
    if (!type->is_dense && place == NULL)
        err = MCOMM_ERR_NO_MEM;
    else
        err = (is_persistent ? mcomm_recv_init : mcomm_irecv)(
            place, nbytes, mpi_rank_in(source), mpi_tag_in(tag), comm->inner, &request->inner[0]);
    return mpi_request_give(request, err, handle_p);
}

/* ---- both ways: the receive is posted first; its status counts ---- */
struct both { /* what a request of both keeps */
    struct transfer send, recv;
};

static void both_release(struct request *request)
{
    struct both *both = request->arg;

    free(both->send.packed);
    free(both->recv.packed);
    mpi_type_unref(both->recv.type);
    free(both);
}

static mcomm_err_t both_done(struct request *request, mcomm_err_t err)
{
    struct both *both = request->arg;
    struct transfer *recv = &both->recv;

    if (recv->packed != NULL && (err == MCOMM_SUCCESS || err == MCOMM_ERR_TRUNCATE))
        unpack_received(recv->packed, recv->nbytes, &request->status, recv->buf, recv->count,
                        recv->type);
    return err;
}

/* Sets where the library's ends are, in copies as far as needed. */
static bool both_place(struct both *both, struct type *send_type, bool is_replace)
{
    struct transfer *send = &both->send, *recv = &both->recv;

    mpi_type_ref(recv->type);
    if (is_replace || !send_type->is_dense) {
        send->packed = malloc(MAX(send->nbytes, 1));
        if (send->packed == NULL)
            return false;
        mpi_pack(send->buf, send->count, send_type, send->packed);
    }
    if (!recv->type->is_dense) {
        recv->packed = malloc(MAX(recv->nbytes, 1));
        if (recv->packed == NULL)
            return false;
    }
    send->buf = send->packed != NULL ? send->packed : AT(send->buf, send_type->true_lb);
    return true;
}

int mpi_isendrecv(const struct sendrecv *given, bool is_replace, MPI_Request *handle_p)
{
    MPI_Comm comm_handle = given->comm;
    MPI_Datatype type_handle = given->recvtype;
    MPI_Count count = given->recvcount;
    struct transfer send = {.buf = AT(given->sendbuf, 0), .count = given->sendcount}, recv;
    struct request *request;
    struct both *both;
    mcomm_err_t err;
    void *in;

    GET_DATA(comm, type, nbytes);
    GET_TYPE(send_type, is_replace ? type_handle : given->sendtype, &comm->owner);
    recv = (struct transfer){.buf = given->recvbuf, .nbytes = nbytes, .count = count, .type = type};
    if (is_replace)
        send = recv;
    else if (count_check(&comm->owner, send.count, send_type, &send.nbytes) != MPI_SUCCESS)
        return MPI_ERR_COUNT;
    request = mpi_request_new(comm);
    both = calloc(1, sizeof(*both));
    if (request == NULL || both == NULL) {
        free(both);
        if (request != NULL)
            mpi_request_drop(request);
        return mpi_no_mem(&comm->owner, sizeof(*both));
    }
    *both = (struct both){send, recv};
    request->arg = both;
    request->release = both_release;
    request->done = both_done;
    err = both_place(both, send_type, is_replace) ? MCOMM_SUCCESS : MCOMM_ERR_NO_MEM;
    in = both->recv.packed != NULL ? both->recv.packed : AT(recv.buf, type->true_lb);
    if (err == MCOMM_SUCCESS)
        err = mcomm_irecv(in, nbytes, mpi_rank_in(given->source), mpi_tag_in(given->recvtag),
                          comm->inner, &request->inner[0]);
    if (err == MCOMM_SUCCESS) {
        err = mcomm_isend(both->send.buf, send.nbytes, mpi_rank_in(given->dest), given->sendtag,
                          comm->inner, &request->inner[1]);
        if (err != MCOMM_SUCCESS) { /* the receive must not outlive its buffer */
            mcomm_cancel(request->inner[0]);
            mcomm_wait(&request->inner[0], MCOMM_FOREVER, MCOMM_STATUS_IGNORE);
        }
    }
    return mpi_request_give(request, err, handle_p);
}

int mpi_sendrecv(const struct sendrecv *given, bool is_replace, MPI_Status *status)
{
    MPI_Request handle;
    int code = mpi_isendrecv(given, is_replace, &handle);

    return code == MPI_SUCCESS ? PMPI_Wait(&handle, status) : code;
}

/* ---- probing ---- */
DEF(int, Probe, (int source, int tag, MPI_Comm comm_handle, MPI_Status *status_p))
{
    mcomm_status_t status;
    mcomm_err_t err;

    GET_COMM(comm, comm_handle);
    err = mcomm_probe(mpi_rank_in(source), mpi_tag_in(tag), comm->inner, &status);
    if (err == MCOMM_SUCCESS && status_p != MPI_STATUS_IGNORE)
        mpi_status_set(status_p, &status);
    return mpi_done(&comm->owner, err);
}

DEF(int, Iprobe, (int source, int tag, MPI_Comm comm_handle, int *flag, MPI_Status *status_p))
{
    mcomm_status_t status;
    mcomm_err_t err;

    GET_COMM(comm, comm_handle);
    err = mcomm_iprobe(mpi_rank_in(source), mpi_tag_in(tag), comm->inner, flag, &status);
    if (err == MCOMM_SUCCESS && *flag && status_p != MPI_STATUS_IGNORE)
        mpi_status_set(status_p, &status);
    return mpi_done(&comm->owner, err);
}

struct message {
    struct comm *comm;
    mcomm_message_t inner; /* MCOMM_MESSAGE_NULL: of nobody */
};

static int message_new(struct comm *comm, mcomm_message_t inner, MPI_Message *handle_p)
{
    struct message *message = malloc(sizeof(*message));
    void *handle = message != NULL ? mpi_handle_new(KIND_MESSAGE, message) : NULL;

    if (handle == NULL) {
        free(message);
        return mpi_no_mem(&comm->owner, sizeof(*message));
    }
    *message = (struct message){comm, inner};
    mpi_comm_ref(comm);
    *handle_p = handle;
    return MPI_SUCCESS;
}

static int mprobe(int source, int tag, MPI_Comm comm_handle, int *flag, MPI_Message *handle_p,
                  MPI_Status *status_p)
{
    mcomm_message_t inner;
    mcomm_status_t status;
    mcomm_err_t err;
    int found = 1;

    GET_COMM(comm, comm_handle);
    if (source == MPI_PROC_NULL) {
        found = 1;
        status = (mcomm_status_t){.source = MCOMM_RANK_NULL, .tag = MCOMM_ANY_TAG};
        *handle_p = MPI_MESSAGE_NO_PROC;
        err = MCOMM_SUCCESS;
    } else if (flag == NULL) {
        err = mcomm_mprobe(mpi_rank_in(source), mpi_tag_in(tag), comm->inner, &inner, &status);
    } else {
        err = mcomm_improbe(mpi_rank_in(source), mpi_tag_in(tag), comm->inner, &found, &inner,
                            &status);
    }
    if (err != MCOMM_SUCCESS)
        return mpi_fail_mcomm(&comm->owner, err);
    if (flag != NULL)
        *flag = found;
    if (!found)
        return MPI_SUCCESS;
    if (status_p != MPI_STATUS_IGNORE)
        mpi_status_set(status_p, &status);
    return source == MPI_PROC_NULL ? MPI_SUCCESS : message_new(comm, inner, handle_p);
}

DEF(int, Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *handle_p, MPI_Status *status))
{
    return mprobe(source, tag, comm, NULL, handle_p, status);
}

DEF(int, Improbe,
    (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *handle_p, MPI_Status *status))
{
    return mprobe(source, tag, comm, flag, handle_p, status);
}

/* Of MPI_MESSAGE_NO_PROC: what a receive from MPI_PROC_NULL gives. */
int mpi_imrecv(void *buf, MPI_Count count, MPI_Datatype type_handle, MPI_Message *handle_p,
               MPI_Request *request_p)
{
    struct message *message = mpi_handle_get(KIND_MESSAGE, *handle_p);
    struct request *request;
    struct comm *comm;
    size_t nbytes = 0;
    mcomm_err_t err;
    void *place;

    if (*handle_p == MPI_MESSAGE_NO_PROC) {
        *handle_p = MPI_MESSAGE_NULL;
        return mpi_irecv(buf, count, type_handle, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_SELF, false,
                         request_p);
    }
    if (message == NULL)
        return mpi_fail(NULL, MPI_ERR_REQUEST, "message %p is none", (void *)*handle_p);
    comm = message->comm;
    GET_TYPE(type, type_handle, &comm->owner);
    if (count_check(&comm->owner, count, type, &nbytes) != MPI_SUCCESS)
        return MPI_ERR_COUNT;
    request = mpi_request_new(comm);
    if (request == NULL)
        return mpi_no_mem(&comm->owner, sizeof(*request));
    place = recv_place(request, buf, count, type, nbytes);
    if (!type->is_dense && place == NULL)
        err = MCOMM_ERR_NO_MEM;
    else
        err = mcomm_imrecv(place, nbytes, &message->inner, &request->inner[0]);
    if (err == MCOMM_SUCCESS) {
        mpi_handle_free(*handle_p);
        *handle_p = MPI_MESSAGE_NULL;
        mpi_comm_unref(comm);
        free(message);
    }
    return mpi_request_give(request, err, request_p);
}

int mpi_mrecv(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *handle_p,
              MPI_Status *status)
{
    MPI_Request request;
    int code = mpi_imrecv(buf, count, type, handle_p, &request);

    return code == MPI_SUCCESS ? PMPI_Wait(&request, status) : code;
}
