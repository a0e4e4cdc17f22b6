/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Rank 0's side of the rendezvous, and the frame format. Invariant: a slot is filled only by an
 * admitted connection, at most one at a time, and a connection that goes away empties its slot
 * unless everybody has arrived by then.
 */
#include "config.h"

#include "rt/rdv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

void mci_rdv_put32(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> 8 * i);
}

uint32_t mci_rdv_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void mci_rdv_header_put(uint8_t head[MCI_RDV_HEADER_BYTES], enum mci_rdv_type type, size_t nbytes)
{
    head[0] = 'R';
    head[1] = 'V';
    head[2] = (uint8_t)type;
    head[3] = 0;
    mci_rdv_put32(head + 4, (uint32_t)nbytes);
}

bool mci_rdv_header_get(const uint8_t head[MCI_RDV_HEADER_BYTES], uint8_t *type_p, size_t *nbytes_p)
{
    if (head[0] != 'R' || head[1] != 'V' || head[3] != 0)
        return false;
    *type_p = head[2];
    *nbytes_p = mci_rdv_get32(head + 4);
    return true;
}

void mci_rdv_hello_put(uint8_t buf[MCI_RDV_HELLO_BYTES], const struct mci_rdv_hello *hello)
{
    mci_rdv_put32(buf, hello->version);
    mci_rdv_put32(buf + 4, hello->rank);
    mci_rdv_put32(buf + 8, hello->size);
    mci_rdv_put32(buf + 12, hello->pid);
    mci_rdv_put32(buf + 16, (uint32_t)hello->instance);
    mci_rdv_put32(buf + 20, (uint32_t)(hello->instance >> 32));
}

void mci_rdv_hello_get(const uint8_t buf[MCI_RDV_HELLO_BYTES], struct mci_rdv_hello *hello)
{
    hello->version = mci_rdv_get32(buf);
    hello->rank = mci_rdv_get32(buf + 4);
    hello->size = mci_rdv_get32(buf + 8);
    hello->pid = mci_rdv_get32(buf + 12);
    hello->instance = mci_rdv_get32(buf + 16) | (uint64_t)mci_rdv_get32(buf + 20) << 32;
}

mcomm_err_t mci_rdv_server_init(struct mci_rdv_server *server, int size,
                                const uint8_t secret[MCI_AUTH_SECRET_BYTES], const void *packet,
                                size_t nbytes)
{
    memset(server, 0, sizeof(*server));
    server->size = size;
    server->pid = (uint32_t)getpid();
    memcpy(server->secret, secret, sizeof(server->secret));
    server->presence = mci_mem_zalloc((size_t)size);
    server->slots = mci_mem_zalloc((size_t)size * sizeof(*server->slots));
    if (server->slots != NULL)
        server->slots[0].packet = mci_mem_zalloc(nbytes + 1);
    if (server->presence == NULL || server->slots == NULL || server->slots[0].packet == NULL) {
        mci_rdv_server_fini(server);
        return MCOMM_ERR_NO_MEM;
    }
    memcpy(server->slots[0].packet, packet, nbytes);
    server->slots[0].packet_nbytes = nbytes;
    server->presence[0] = MCI_RDV_HERE;
    server->num_arrived = 1;
    return MCOMM_SUCCESS;
}

void mci_rdv_server_fini(struct mci_rdv_server *server)
{
    for (int i = 0; i < server->size && server->slots != NULL; i++)
        mci_mem_free(server->slots[i].packet);
    mci_mem_free(server->slots);
    mci_mem_free(server->presence);
    mci_mem_free(server->all);
    explicit_bzero(server, sizeof(*server));
}

bool mci_rdv_server_is_complete(const struct mci_rdv_server *server)
{
    return server->num_arrived == server->size;
}

const char *mci_rdv_server_missing(const struct mci_rdv_server *server, char *buf, size_t nbytes)
{
    static const char *const known[MCI_RDV_PRESENCE_NUM] = {
        [MCI_RDV_ABSENT] = "",
        [MCI_RDV_SILENT] = "connected, but silent: ",
        [MCI_RDV_LATE] = "came, but gave up when their own time was over: ",
        [MCI_RDV_LEFT] = "came, but their connection ended: ",
    };
    char ranks[96];
    size_t n = 0;

    buf[0] = '\0';
    for (int i = 0; i < MCI_RDV_PRESENCE_NUM && n < nbytes; i++) {
        if (known[i] == NULL || memchr(server->presence, i, (size_t)server->size) == NULL)
            continue;
        mci_rt_ranks_text(server->presence, server->size, (unsigned char)i, ranks, sizeof(ranks));
        n += (size_t)snprintf(buf + n, nbytes - n, "%s%srank %s", n > 0 ? "; " : "", known[i],
                              ranks);
    }
    return buf;
}

static size_t packets_total(const struct mci_rdv_server *server)
{
    size_t total = 0;

    for (int i = 0; i < server->size; i++)
        total += server->slots[i].packet_nbytes;
    return total;
}

mcomm_err_t mci_rdv_server_blobs(const struct mci_rdv_server *server, struct mci_rt_blobs *blobs_p)
{
    unsigned char *p;
    mcomm_err_t err;

    err = mci_rt_blobs_alloc(server->size, packets_total(server), blobs_p, &p);
    if (err != MCOMM_SUCCESS)
        return err;
    for (int i = 0; i < server->size; i++) {
        memcpy(p, server->slots[i].packet, server->slots[i].packet_nbytes);
        blobs_p->blobs[i].ptr = p;
        blobs_p->blobs[i].nbytes = server->slots[i].packet_nbytes;
        p += server->slots[i].packet_nbytes;
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t server_build_all(struct mci_rdv_server *server)
{
    size_t body = packets_total(server) + 4 * (size_t)server->size;
    uint8_t *p = mci_mem_zalloc(MCI_RDV_HEADER_BYTES + body);

    if (p == NULL)
        return MCOMM_ERR_NO_MEM;
    server->all = p;
    server->all_nbytes = MCI_RDV_HEADER_BYTES + body;
    mci_rdv_header_put(p, MCI_RDV_ALL, body);
    p += MCI_RDV_HEADER_BYTES;
    for (int i = 0; i < server->size; i++) {
        mci_rdv_put32(p, (uint32_t)server->slots[i].packet_nbytes);
        memcpy(p + 4, server->slots[i].packet, server->slots[i].packet_nbytes);
        p += 4 + server->slots[i].packet_nbytes;
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rdv_conn_init(struct mci_rdv_conn *conn, struct mci_rdv_server *server,
                              const char *from)
{
    uint8_t payload[MCI_RDV_HELLO_BYTES];
    struct mci_rdv_hello hello = {
        .version = MCI_RDV_VERSION, .rank = 0, .size = (uint32_t)server->size, .pid = server->pid};

    memset(conn, 0, sizeof(*conn));
    conn->server = server;
    snprintf(conn->from, sizeof(conn->from), "%s", from);
    mci_rdv_hello_put(payload, &hello);
    return mci_auth_start(&conn->auth, MCI_AUTH_ACCEPTOR, server->secret, payload, sizeof(payload));
}

static bool is_slot_holder(const struct mci_rdv_conn *conn)
{
    return (conn->state == MCI_RDV_CONN_ADMITTED || conn->state == MCI_RDV_CONN_JOINED) &&
           conn->server->slots[conn->hello.rank].conn == conn;
}

void mci_rdv_conn_fini(struct mci_rdv_conn *conn)
{
    struct mci_rdv_server *server = conn->server;

    if (is_slot_holder(conn)) {
        struct mci_rdv_slot *slot = &server->slots[conn->hello.rank];

        slot->conn = NULL;
        if (!mci_rdv_server_is_complete(server)) {
            mci_mem_free(slot->packet);
            slot->packet = NULL;
            slot->packet_nbytes = 0;
            server->presence[conn->hello.rank] = conn->is_late ? MCI_RDV_LATE : MCI_RDV_LEFT;
            server->num_arrived -= conn->state == MCI_RDV_CONN_JOINED;
        }
    }
    mci_auth_fini(&conn->auth);
    conn->state = MCI_RDV_CONN_DONE;
}

/* A frame of text takes the place of one still unsent only if nothing of that one has left. */
static void conn_say(struct mci_rdv_conn *conn, enum mci_rdv_type type, const char *text)
{
    size_t n = strnlen(text, MCI_RDV_TEXT_MAX - 1);

    if (conn->out_sent < conn->out_nbytes && conn->out_sent > 0)
        return;
    mci_rdv_header_put(conn->text, type, n);
    memcpy(conn->text + MCI_RDV_HEADER_BYTES, text, n);
    conn->out = conn->text;
    conn->out_nbytes = MCI_RDV_HEADER_BYTES + n;
    conn->out_sent = 0;
}

__attribute__((format(printf, 2, 3))) static mcomm_err_t conn_refuse(struct mci_rdv_conn *conn,
                                                                     const char *fmt, ...)
{
    char text[MCI_RDV_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    mci_log_warn("rendezvous: %s", text);
    conn_say(conn, MCI_RDV_REFUSED, text);
    conn->state = MCI_RDV_CONN_CLOSING;
    return MCOMM_SUCCESS;
}

/* The newcomer is admitted: does it fit into the job? */
static mcomm_err_t conn_on_admitted(struct mci_rdv_conn *conn)
{
    struct mci_rdv_server *server = conn->server;
    struct mci_rdv_hello *hello = &conn->hello;
    struct mci_rdv_conn *old;
    const uint8_t *payload;
    size_t nbytes;

    payload = mci_auth_peer_payload(&conn->auth, &nbytes);
    if (nbytes != MCI_RDV_HELLO_BYTES)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "an admitted process sent no rendezvous hello");
    mci_rdv_hello_get(payload, hello);
    if (hello->version != MCI_RDV_VERSION)
        return conn_refuse(conn, "process %u at %s speaks rendezvous protocol %u, rank 0 speaks %u",
                           hello->pid, conn->from, hello->version, MCI_RDV_VERSION);
    if (hello->size != (uint32_t)server->size)
        return conn_refuse(
            conn,
            "process %u at %s, rank %u, says the job has %u ranks; rank 0 (process %u) "
            "says %d",
            hello->pid, conn->from, hello->rank, hello->size, server->pid, server->size);
    if (hello->rank >= (uint32_t)server->size)
        return conn_refuse(conn, "process %u at %s says it is rank %u of %d", hello->pid,
                           conn->from, hello->rank, server->size);
    if (hello->rank == 0)
        return conn_refuse(conn, "process %u at %s says it is rank 0, but process %u is",
                           hello->pid, conn->from, server->pid);
    if (mci_rdv_server_is_complete(server))
        return conn_refuse(conn, "process %u at %s says it is rank %u, but all %d ranks are there",
                           hello->pid, conn->from, hello->rank, server->size);
    old = server->slots[hello->rank].conn;
    if (old != NULL && (old->hello.instance != hello->instance || old->hello.pid != hello->pid))
        return conn_refuse(conn, "rank %u is claimed by process %u at %s and by process %u at %s",
                           hello->rank, old->hello.pid, old->from, hello->pid, conn->from);
    if (old != NULL)
        mci_rdv_conn_fini(old); /* the same process again: its old connection is dead */
    server->slots[hello->rank].conn = conn;
    server->presence[hello->rank] = MCI_RDV_SILENT;
    conn->state = MCI_RDV_CONN_ADMITTED;
    return MCOMM_SUCCESS;
}

static mcomm_err_t conn_on_join(struct mci_rdv_conn *conn, const uint8_t *packet, size_t nbytes)
{
    struct mci_rdv_server *server = conn->server;
    struct mci_rdv_slot *slot = &server->slots[conn->hello.rank];

    slot->packet = mci_mem_zalloc(nbytes + 1);
    if (slot->packet == NULL)
        return MCOMM_ERR_NO_MEM;
    memcpy(slot->packet, packet, nbytes);
    slot->packet_nbytes = nbytes;
    conn->state = MCI_RDV_CONN_JOINED;
    server->presence[conn->hello.rank] = MCI_RDV_HERE;
    server->num_arrived++;
    mci_log_debug("rendezvous: rank %u joined from %s, %d of %d", conn->hello.rank, conn->from,
                  server->num_arrived, server->size);
    return mci_rdv_server_is_complete(server) ? server_build_all(server) : MCOMM_SUCCESS;
}

static void conn_on_ask(struct mci_rdv_conn *conn)
{
    const struct mci_rdv_server *server = conn->server;
    char text[MCI_RDV_TEXT_MAX];

    if (conn->out_sent < conn->out_nbytes || mci_rdv_server_is_complete(server))
        return; /* an answer is on its way */
    conn_say(conn, MCI_RDV_MISSING, mci_rdv_server_missing(server, text, sizeof(text)));
}

static mcomm_err_t conn_bad_frame(const struct mci_rdv_conn *conn, unsigned type, size_t nbytes)
{
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "unexpected rendezvous frame %u of %zu bytes from %s",
                       type, nbytes, conn->from);
}

/* Whether a frame of this kind and length may come now. */
static mcomm_err_t conn_check_header(struct mci_rdv_conn *conn, uint8_t *type_p, size_t *nbytes_p)
{
    bool is_ok = false;
    uint8_t type;
    size_t n;

    if (!mci_rdv_header_get(conn->in, &type, &n))
        return conn_bad_frame(conn, conn->in[2], 0);
    if (type == MCI_RDV_JOIN)
        is_ok = conn->state == MCI_RDV_CONN_ADMITTED && n <= MCI_RT_PACKET_MAX;
    else if (type == MCI_RDV_ASK || type == MCI_RDV_LATE_BYE)
        is_ok = conn->state == MCI_RDV_CONN_JOINED && n == 0;
    else if (type == MCI_RDV_GOT)
        is_ok = conn->state == MCI_RDV_CONN_JOINED && n == 0 && conn->is_all_begun &&
                conn->out_sent == conn->out_nbytes;
    if (!is_ok)
        return conn_bad_frame(conn, type, n);
    *type_p = type;
    *nbytes_p = n;
    return MCOMM_SUCCESS;
}

static mcomm_err_t conn_on_frame(struct mci_rdv_conn *conn, uint8_t type, size_t nbytes)
{
    conn->in_nbytes = 0;
    if (type == MCI_RDV_JOIN)
        return conn_on_join(conn, conn->in + MCI_RDV_HEADER_BYTES, nbytes);
    if (type == MCI_RDV_ASK)
        conn_on_ask(conn);
    else if (type == MCI_RDV_LATE_BYE)
        conn->is_late = true;
    else
        conn->state = MCI_RDV_CONN_DONE;
    return MCOMM_SUCCESS;
}

/* Take what belongs to one frame; finish it if it is complete. */
static mcomm_err_t conn_take(struct mci_rdv_conn *conn, const uint8_t *p, size_t nbytes,
                             size_t *used_p)
{
    size_t want = MCI_RDV_HEADER_BYTES, body = 0, n;
    uint8_t type = 0;
    mcomm_err_t err;

    if (conn->in_nbytes >= MCI_RDV_HEADER_BYTES) {
        mci_rdv_header_get(conn->in, &type, &body);
        want += body;
    }
    n = want - conn->in_nbytes < nbytes ? want - conn->in_nbytes : nbytes;
    memcpy(conn->in + conn->in_nbytes, p, n);
    conn->in_nbytes += n;
    *used_p = n;
    if (conn->in_nbytes < want)
        return MCOMM_SUCCESS;
    if (want == MCI_RDV_HEADER_BYTES && type == 0) {
        err = conn_check_header(conn, &type, &body);
        if (err != MCOMM_SUCCESS || body > 0)
            return err;
    }
    return conn_on_frame(conn, type, body);
}

mcomm_err_t mci_rdv_conn_input(struct mci_rdv_conn *conn, const void *buf, size_t nbytes)
{
    const uint8_t *p = buf;
    mcomm_err_t err;
    size_t used;

    while (nbytes > 0) {
        if (conn->state == MCI_RDV_CONN_CLOSING || conn->state == MCI_RDV_CONN_DONE)
            return MCOMM_SUCCESS; /* whatever it is, it no longer matters */
        if (conn->state == MCI_RDV_CONN_ADMISSION) {
            err = mci_auth_input(&conn->auth, p, nbytes, &used);
            if (err == MCOMM_SUCCESS && conn->auth.state == MCI_AUTH_PROVEN)
                err = conn_on_admitted(conn);
        } else {
            err = conn_take(conn, p, nbytes, &used);
        }
        if (err != MCOMM_SUCCESS)
            return err;
        p += used;
        nbytes -= used;
    }
    return MCOMM_SUCCESS;
}

size_t mci_rdv_conn_output(struct mci_rdv_conn *conn, const void **buf_p)
{
    size_t n = mci_auth_output(&conn->auth, buf_p);

    if (n > 0)
        return n;
    if (conn->out_sent == conn->out_nbytes && conn->server->all != NULL &&
        conn->state == MCI_RDV_CONN_JOINED && !conn->is_all_begun) {
        conn->is_all_begun = true;
        conn->out = conn->server->all;
        conn->out_nbytes = conn->server->all_nbytes;
        conn->out_sent = 0;
    }
    *buf_p = conn->out + conn->out_sent;
    return conn->out_nbytes - conn->out_sent;
}

void mci_rdv_conn_sent(struct mci_rdv_conn *conn, size_t nbytes)
{
    const void *buf;

    if (mci_auth_output(&conn->auth, &buf) > 0)
        mci_auth_sent(&conn->auth, nbytes);
    else
        conn->out_sent += nbytes;
}

void mci_rdv_conn_give_up(struct mci_rdv_conn *conn, const char *text)
{
    if (conn->state != MCI_RDV_CONN_ADMITTED && conn->state != MCI_RDV_CONN_JOINED)
        return;
    conn_say(conn, MCI_RDV_GAVE_UP, text);
    mci_rdv_conn_fini(conn);
    conn->state = MCI_RDV_CONN_CLOSING;
}
