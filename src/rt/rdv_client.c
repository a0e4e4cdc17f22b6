/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The other ranks' side of the rendezvous: be admitted, send the packet, wait for everybody's.
 * Allocates only when an admitted server announces all packets, never more than they can be.
 */
#include "config.h"

#include "rt/rdv.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

mcomm_err_t mci_rdv_client_init(struct mci_rdv_client *client,
                                const uint8_t secret[MCI_AUTH_SECRET_BYTES],
                                const struct mci_rdv_hello *hello, const void *packet,
                                size_t nbytes)
{
    uint8_t payload[MCI_RDV_HELLO_BYTES];

    memset(client, 0, sizeof(*client));
    client->size = (int)hello->size;
    mci_rdv_header_put(client->out, MCI_RDV_JOIN, nbytes);
    memcpy(client->out + MCI_RDV_HEADER_BYTES, packet, nbytes);
    client->out_nbytes = MCI_RDV_HEADER_BYTES + nbytes;
    mci_rdv_hello_put(payload, hello);
    return mci_auth_start(&client->auth, MCI_AUTH_INITIATOR, secret, payload, sizeof(payload));
}

void mci_rdv_client_fini(struct mci_rdv_client *client)
{
    mci_rt_blobs_free(&client->blobs);
    mci_mem_free(client->body);
    client->body = NULL;
    mci_auth_fini(&client->auth);
}

static mcomm_err_t client_fail(struct mci_rdv_client *client, mcomm_err_t err, bool is_fatal)
{
    client->state = MCI_RDV_CLIENT_FAILED;
    client->is_fatal = is_fatal;
    client->error = err;
    return err;
}

static mcomm_err_t client_bad_frame(struct mci_rdv_client *client, unsigned type, size_t nbytes)
{
    mci_err_set(MCOMM_ERR_BOOTSTRAP, "unexpected rendezvous frame %u of %zu bytes from rank 0",
                type, nbytes);
    return client_fail(client, MCOMM_ERR_BOOTSTRAP, true);
}

static void client_say(struct mci_rdv_client *client, enum mci_rdv_type type)
{
    if (client->out_nbytes + MCI_RDV_HEADER_BYTES > sizeof(client->out))
        return;
    mci_rdv_header_put(client->out + client->out_nbytes, type, 0);
    client->out_nbytes += MCI_RDV_HEADER_BYTES;
}

void mci_rdv_client_ask(struct mci_rdv_client *client)
{
    if (client->is_asked || client->state != MCI_RDV_CLIENT_WAITING)
        return;
    client->is_asked = true;
    client_say(client, MCI_RDV_ASK);
}

void mci_rdv_client_late(struct mci_rdv_client *client)
{
    if (client->state == MCI_RDV_CLIENT_WAITING)
        client_say(client, MCI_RDV_LATE_BYE);
}

static mcomm_err_t client_on_all(struct mci_rdv_client *client)
{
    mcomm_err_t err;

    err = mci_rt_blobs_unpack(client->body, client->body_nbytes, client->size, &client->blobs);
    if (err != MCOMM_SUCCESS)
        return client_fail(client, err, true);
    client->out_nbytes = client->out_sent = 0; /* an unsent question has no meaning any more */
    client_say(client, MCI_RDV_GOT);
    client->state = MCI_RDV_CLIENT_DONE;
    return MCOMM_SUCCESS;
}

/* Text from the network goes to a terminal: printable only. */
static void take_text(const struct mci_rdv_client *client, char text[MCI_RDV_TEXT_MAX])
{
    for (size_t i = 0; i < client->body_nbytes; i++)
        text[i] = client->body[i] >= ' ' && client->body[i] < 127 ? (char)client->body[i] : '?';
    text[client->body_nbytes] = '\0';
}

static mcomm_err_t client_on_frame(struct mci_rdv_client *client, uint8_t type)
{
    char text[MCI_RDV_TEXT_MAX];

    if (type == MCI_RDV_ALL)
        return client_on_all(client);
    take_text(client, text);
    if (type == MCI_RDV_MISSING) {
        memcpy(client->missing, text, sizeof(text));
        client->is_asked = false;
        return MCOMM_SUCCESS;
    }
    if (type == MCI_RDV_GAVE_UP) {
        mci_err_set(MCOMM_ERR_TIMEOUT, "%s", text);
        return client_fail(client, MCOMM_ERR_TIMEOUT, true);
    }
    mci_err_set(MCOMM_ERR_BOOTSTRAP, "refused by rank 0: %s", text);
    return client_fail(client, MCOMM_ERR_BOOTSTRAP, true);
}

static mcomm_err_t client_on_header(struct mci_rdv_client *client)
{
    size_t all_max = (size_t)client->size * (4 + MCI_RT_PACKET_MAX);
    uint8_t type;
    size_t n;

    if (!mci_rdv_header_get(client->head, &type, &n) || type < MCI_RDV_ALL ||
        type > MCI_RDV_GAVE_UP)
        return client_bad_frame(client, client->head[2], 0);
    if (n > (type == MCI_RDV_ALL ? all_max : MCI_RDV_TEXT_MAX - 1))
        return client_bad_frame(client, type, n);
    client->body = mci_mem_zalloc(n + 1);
    if (client->body == NULL)
        return client_fail(client, MCOMM_ERR_NO_MEM, true);
    client->body_nbytes = n;
    client->body_got = 0;
    return MCOMM_SUCCESS;
}

static mcomm_err_t client_take(struct mci_rdv_client *client, const uint8_t *p, size_t nbytes,
                               size_t *used_p)
{
    mcomm_err_t err = MCOMM_SUCCESS;
    size_t n;

    if (client->head_nbytes < MCI_RDV_HEADER_BYTES) {
        n = MCI_RDV_HEADER_BYTES - client->head_nbytes;
        n = n < nbytes ? n : nbytes;
        memcpy(client->head + client->head_nbytes, p, n);
        client->head_nbytes += n;
        if (client->head_nbytes == MCI_RDV_HEADER_BYTES)
            err = client_on_header(client);
    } else {
        n = client->body_nbytes - client->body_got;
        n = n < nbytes ? n : nbytes;
        memcpy(client->body + client->body_got, p, n);
        client->body_got += n;
    }
    *used_p = n;
    if (err == MCOMM_SUCCESS && client->body != NULL && client->body_got == client->body_nbytes) {
        err = client_on_frame(client, client->head[2]);
        mci_mem_free(client->body);
        client->body = NULL;
        client->head_nbytes = 0;
    }
    return err;
}

static mcomm_err_t client_check_server(struct mci_rdv_client *client)
{
    size_t nbytes;

    mci_auth_peer_payload(&client->auth, &nbytes);
    if (nbytes != MCI_RDV_HELLO_BYTES) {
        mci_err_set(MCOMM_ERR_BOOTSTRAP, "what answers is not a rendezvous of this library");
        return client_fail(client, MCOMM_ERR_BOOTSTRAP, true);
    }
    client->state = MCI_RDV_CLIENT_WAITING;
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rdv_client_input(struct mci_rdv_client *client, const void *buf, size_t nbytes)
{
    const uint8_t *p = buf;
    mcomm_err_t err = MCOMM_SUCCESS;
    size_t used;

    while (nbytes > 0 && err == MCOMM_SUCCESS && client->state != MCI_RDV_CLIENT_DONE) {
        if (client->state == MCI_RDV_CLIENT_FAILED)
            return MCOMM_ERR_BOOTSTRAP;
        if (client->state == MCI_RDV_CLIENT_ADMISSION) {
            err = mci_auth_input(&client->auth, p, nbytes, &used);
            if (err != MCOMM_SUCCESS) /* no word of it is authentic, but a clear "no" is believed */
                err = client_fail(client, err, client->auth.is_refused_by_peer);
            else if (client->auth.state == MCI_AUTH_PROVEN)
                err = client_check_server(client);
        } else {
            err = client_take(client, p, nbytes, &used);
        }
        p += used;
        nbytes -= used;
    }
    return err;
}

size_t mci_rdv_client_output(struct mci_rdv_client *client, const void **buf_p)
{
    size_t n = mci_auth_output(&client->auth, buf_p);

    if (n > 0)
        return n;
    if (client->auth.state != MCI_AUTH_PROVEN)
        return 0;
    *buf_p = client->out + client->out_sent;
    return client->out_nbytes - client->out_sent;
}

void mci_rdv_client_sent(struct mci_rdv_client *client, size_t nbytes)
{
    const void *buf;

    if (mci_auth_output(&client->auth, &buf) > 0) {
        mci_auth_sent(&client->auth, nbytes);
        return;
    }
    client->out_sent += nbytes;
    if (client->out_sent == client->out_nbytes)
        client->out_sent = client->out_nbytes = 0;
}
