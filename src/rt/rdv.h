/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The rendezvous protocol as state machines without I/O: rank 0 holds a server and one conn per
 * accepted connection, every other rank a client. After admission (rt/auth.h) a client joins with
 * its packet; when the last one has joined, everybody gets all packets, confirms, and the
 * connection ends. A conn that sends nonsense is to be closed; it never touches the server before
 * it is admitted.
 */
#ifndef MCI_RT_RDV_H
#define MCI_RT_RDV_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/addr.h"
#include "rt/auth.h"
#include "rt/rt_priv.h"

#define MCI_RDV_HEADER_BYTES 8
#define MCI_RDV_TEXT_MAX 512
#define MCI_RDV_HELLO_BYTES 24 /* the client's admission payload */

/* Who a client says it is; believed once it is admitted. */
struct mci_rdv_hello {
    uint32_t version;
    uint32_t rank;
    uint32_t size;
    uint32_t pid;
    uint64_t instance; /* random per start, tells a reconnect from a second process */
};

struct mci_rdv_conn;

struct mci_rdv_slot {
    struct mci_rdv_conn *conn; /* NULL: nobody */
    size_t packet_nbytes;
    uint8_t *packet;
};

enum mci_rdv_presence {
    MCI_RDV_ABSENT,
    MCI_RDV_HERE,
    MCI_RDV_SILENT, /* admitted, but its packet has not come */
    MCI_RDV_LATE,   /* came, and said that its own time was over */
    MCI_RDV_LEFT,   /* came, and its connection ended without a word */
    MCI_RDV_PRESENCE_NUM
};

struct mci_rdv_server {
    int size;
    uint32_t pid;
    uint8_t secret[MCI_AUTH_SECRET_BYTES];
    int num_arrived;
    unsigned char *presence; /* enum mci_rdv_presence of each rank */
    struct mci_rdv_slot *slots;
    uint8_t *all; /* the frame with all packets, once everybody has arrived */
    size_t all_nbytes;
};

enum mci_rdv_conn_state {
    MCI_RDV_CONN_ADMISSION,
    MCI_RDV_CONN_ADMITTED, /* its packet is still to come */
    MCI_RDV_CONN_JOINED,
    MCI_RDV_CONN_CLOSING, /* refused: close once the output is sent */
    MCI_RDV_CONN_DONE,    /* has confirmed that it got everything */
};

struct mci_rdv_conn {
    struct mci_rdv_server *server;
    struct mci_auth auth;
    enum mci_rdv_conn_state state;
    bool is_all_begun;
    bool is_late; /* its own time is over */
    char from[MCI_ADDR_TEXT_MAX];
    struct mci_rdv_hello hello;
    size_t in_nbytes;
    const uint8_t *out;
    size_t out_nbytes;
    size_t out_sent;
    uint8_t in[MCI_RDV_HEADER_BYTES + MCI_RT_PACKET_MAX];
    uint8_t text[MCI_RDV_HEADER_BYTES + MCI_RDV_TEXT_MAX];
};

/** packet is rank 0's own. */
mcomm_err_t mci_rdv_server_init(struct mci_rdv_server *server, int size,
                                const uint8_t secret[MCI_AUTH_SECRET_BYTES], const void *packet,
                                size_t nbytes);
void mci_rdv_server_fini(struct mci_rdv_server *server);
bool mci_rdv_server_is_complete(const struct mci_rdv_server *server);
/** "rank 1-2", "rank 1; connected, but silent: rank 2": who is not there, and what is known. */
const char *mci_rdv_server_missing(const struct mci_rdv_server *server, char *buf, size_t nbytes);
/** All packets, once complete. */
mcomm_err_t mci_rdv_server_blobs(const struct mci_rdv_server *server, struct mci_rt_blobs *blobs_p);

/** from: for messages. */
mcomm_err_t mci_rdv_conn_init(struct mci_rdv_conn *conn, struct mci_rdv_server *server,
                              const char *from);
/** The connection is gone: its rank has not arrived after all, unless all is done already. */
void mci_rdv_conn_fini(struct mci_rdv_conn *conn);
/** @return anything but success: close the connection now (after trying to send the output) */
mcomm_err_t mci_rdv_conn_input(struct mci_rdv_conn *conn, const void *buf, size_t nbytes);
size_t mci_rdv_conn_output(struct mci_rdv_conn *conn, const void **buf_p);
void mci_rdv_conn_sent(struct mci_rdv_conn *conn, size_t nbytes);
/** Tell a joined client that the server gives up; text says why. */
void mci_rdv_conn_give_up(struct mci_rdv_conn *conn, const char *text);

enum mci_rdv_client_state {
    MCI_RDV_CLIENT_ADMISSION,
    MCI_RDV_CLIENT_WAITING, /* admitted, packet on its way or there */
    MCI_RDV_CLIENT_DONE,    /* has everything; the output still holds the confirmation */
    MCI_RDV_CLIENT_FAILED,
};

struct mci_rdv_client {
    struct mci_auth auth;
    enum mci_rdv_client_state state;
    int size;
    bool is_fatal;     /* FAILED, and trying again is no use */
    bool is_asked;     /* a question is to be sent or was */
    mcomm_err_t error; /* why it FAILED */
    size_t out_nbytes;
    size_t out_sent;
    size_t head_nbytes; /* of the incoming frame */
    uint8_t head[MCI_RDV_HEADER_BYTES];
    uint8_t *body; /* of the incoming frame, at most all packets */
    size_t body_nbytes;
    size_t body_got;
    char missing[MCI_RDV_TEXT_MAX]; /* the server's last word on who is missing */
    uint8_t out[2 * MCI_RDV_HEADER_BYTES + MCI_RT_PACKET_MAX];
    struct mci_rt_blobs blobs; /* DONE: taken over by the caller, who clears it */
};

mcomm_err_t mci_rdv_client_init(struct mci_rdv_client *client,
                                const uint8_t secret[MCI_AUTH_SECRET_BYTES],
                                const struct mci_rdv_hello *hello, const void *packet,
                                size_t nbytes);
void mci_rdv_client_fini(struct mci_rdv_client *client);
mcomm_err_t mci_rdv_client_input(struct mci_rdv_client *client, const void *buf, size_t nbytes);
size_t mci_rdv_client_output(struct mci_rdv_client *client, const void **buf_p);
void mci_rdv_client_sent(struct mci_rdv_client *client, size_t nbytes);
/** Ask the server who is missing; the answer appears in client->missing. */
void mci_rdv_client_ask(struct mci_rdv_client *client);
/** Tell the server that this client's time is over, before it goes. */
void mci_rdv_client_late(struct mci_rdv_client *client);

/* ---- frames */

enum mci_rdv_type {
    MCI_RDV_JOIN = 1,     /* client: its packet */
    MCI_RDV_ASK = 2,      /* client: who is missing? */
    MCI_RDV_GOT = 3,      /* client: got everything */
    MCI_RDV_ALL = 4,      /* server: for each rank a length of 4 bytes and the packet */
    MCI_RDV_REFUSED = 5,  /* server: text */
    MCI_RDV_MISSING = 6,  /* server: text */
    MCI_RDV_GAVE_UP = 7,  /* server: text */
    MCI_RDV_LATE_BYE = 8, /* client: its time is over, it goes */
};

#define MCI_RDV_VERSION 1

void mci_rdv_header_put(uint8_t head[MCI_RDV_HEADER_BYTES], enum mci_rdv_type type, size_t nbytes);
/** @return false: not one of ours */
bool mci_rdv_header_get(const uint8_t head[MCI_RDV_HEADER_BYTES], uint8_t *type_p,
                        size_t *nbytes_p);
void mci_rdv_hello_put(uint8_t buf[MCI_RDV_HELLO_BYTES], const struct mci_rdv_hello *hello);
void mci_rdv_hello_get(const uint8_t buf[MCI_RDV_HELLO_BYTES], struct mci_rdv_hello *hello);
uint32_t mci_rdv_get32(const uint8_t *p);
void mci_rdv_put32(uint8_t *p, uint32_t x);

#endif
