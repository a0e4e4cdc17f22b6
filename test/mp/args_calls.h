/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Every exported function that can fail, with what its parameters are: CALL(name, parameters,
 * arguments). A parameter is a kind and its name in the header. Kinds:
 *   C G I W Y K Q    comm, group, info, window, dynamic window, store, request; J: info or null
 *   m g i w v q s o  pointer to a comm, group, info, window, store, request, message, operation
 *   l L V            list of requests, of ranks, of pieces
 *   O B b            pointer that may not be null; buffer; address that is not attached
 *   Z A a            struct with struct_size: must be there; may be null; may be null, of a window
 *   N n k u x        count or size; bytes and place in a window; size of a key; index
 *   r R T t c M      rank; or any; tag; or any; colour; time limit
 *   D P e p f .      type, operation, other enumerators, operation of signals, function; anything
 */
#ifndef TEST_MP_ARGS_CALLS_H
#define TEST_MP_ARGS_CALLS_H

#define CALLS_START(CALL)                                                                          \
    CALL(setting_get, "x index,Z setting_p", SIZE(0), PTR(1))                                      \
    CALL(info_create, "O info_p", PTR(0))                                                          \
    CALL(info_set, "I info,O key,O value", PTR(0), PTR(1), PTR(2))                                 \
    CALL(info_get, "I info,O key,O value_p", PTR(0), PTR(1), PTR(2))                               \
    CALL(info_free, "i info_p", PTR(0))

#define CALLS_GROUP(CALL)                                                                          \
    CALL(comm_group, "C comm,O group_p", PTR(0), PTR(1))                                           \
    CALL(group_size, "G group,O size_p", PTR(0), PTR(1))                                           \
    CALL(group_rank, "G group,O rank_p", PTR(0), PTR(1))                                           \
    CALL(group_incl, "G group,N count,L ranks,O group_p", PTR(0), SIZE(1), PTR(2), PTR(3))         \
    CALL(group_excl, "G group,N count,L ranks,O group_p", PTR(0), SIZE(1), PTR(2), PTR(3))         \
    CALL(group_union, "G a,G b,O group_p", PTR(0), PTR(1), PTR(2))                                 \
    CALL(group_intersection, "G a,G b,O group_p", PTR(0), PTR(1), PTR(2))                          \
    CALL(group_difference, "G a,G b,O group_p", PTR(0), PTR(1), PTR(2))                            \
    CALL(group_translate, "G a,N count,L ranks_a,G b,O ranks_b_p", PTR(0), SIZE(1), PTR(2),        \
         PTR(3), PTR(4))                                                                           \
    CALL(group_compare, "G a,G b,O result_p", PTR(0), PTR(1), PTR(2))                              \
    CALL(group_free, "g group_p", PTR(0))

#define CALLS_COMM(CALL)                                                                           \
    CALL(comm_rank, "C comm,O rank_p", PTR(0), PTR(1))                                             \
    CALL(comm_size, "C comm,O size_p", PTR(0), PTR(1))                                             \
    CALL(comm_compare, "C a,C b,O result_p", PTR(0), PTR(1), PTR(2))                               \
    CALL(comm_dup, "C comm,J info,O newcomm_p", PTR(0), PTR(1), PTR(2))                            \
    CALL(comm_split, "C comm,c colour,. key,O newcomm_p", PTR(0), INT(1), INT(2), PTR(3))          \
    CALL(comm_split_node, "C comm,. key,O newcomm_p", PTR(0), INT(1), PTR(2))                      \
    CALL(comm_create_group, "C comm,G group,T tag,O newcomm_p", PTR(0), PTR(1), INT(2), PTR(3))    \
    CALL(comm_create_oob, "O oob,O newcomm_p", PTR(0), PTR(1))                                     \
    CALL(comm_revoke, "C comm", PTR(0))                                                            \
    CALL(comm_is_revoked, "C comm,O is_revoked_p", PTR(0), PTR(1))                                 \
    CALL(comm_free, "m comm_p", PTR(0))                                                            \
    CALL(comm_set_name, "C comm,O name", PTR(0), PTR(1))                                           \
    CALL(comm_get_name, "C comm,O name_p", PTR(0), PTR(1))                                         \
    CALL(comm_set_timeout, "C comm,M timeout_ms", PTR(0), INT(1))                                  \
    CALL(comm_node_count, "C comm,O count_p", PTR(0), PTR(1))                                      \
    CALL(peer_query, "C comm,r rank,. connect,Z desc_p", PTR(0), INT(1), INT(2), PTR(3))           \
    CALL(rail_get, "x index,Z desc_p", SIZE(0), PTR(1))

#define CALLS_REQUEST(CALL)                                                                        \
    CALL(test, "q request_p,O done_p,. status_p", PTR(0), PTR(1), PTR(2))                          \
    CALL(wait, "q request_p,M timeout_ms,. status_p", PTR(0), INT(1), PTR(2))                      \
    CALL(waitall, "N count,l requests,M timeout_ms,. statuses_p", SIZE(0), PTR(1), INT(2), PTR(3)) \
    CALL(waitany, "N count,l requests,M timeout_ms,O index_p,. status_p", SIZE(0), PTR(1), INT(2), \
         PTR(3), PTR(4))                                                                           \
    CALL(waitsome, "N count,l requests,M timeout_ms,O done_count_p,O indices_p,. statuses_p",      \
         SIZE(0), PTR(1), INT(2), PTR(3), PTR(4), PTR(5))                                          \
    CALL(testall, "N count,l requests,O done_p,. statuses_p", SIZE(0), PTR(1), PTR(2), PTR(3))     \
    CALL(testany, "N count,l requests,O index_p,O done_p,. status_p", SIZE(0), PTR(1), PTR(2),     \
         PTR(3), PTR(4))                                                                           \
    CALL(cancel, "Q request", PTR(0))                                                              \
    CALL(start, "Q request", PTR(0))                                                               \
    CALL(startall, "N count,l requests", SIZE(0), PTR(1))                                          \
    CALL(request_free, "q request_p", PTR(0))

#define SENDS "B buf,N nbytes,r dest,T tag,C comm"
#define RECVS "B buf,N nbytes,R source,t tag,C comm"
#define MESSAGE PTR(0), SIZE(1), INT(2), INT(3), PTR(4)
#define CALLS_MESSAGE(CALL)                                                                        \
    CALL(send, SENDS, MESSAGE)                                                                     \
    CALL(ssend, SENDS, MESSAGE)                                                                    \
    CALL(recv, RECVS ",. status_p", MESSAGE, PTR(5))                                               \
    CALL(isend, SENDS ",O request_p", MESSAGE, PTR(5))                                             \
    CALL(issend, SENDS ",O request_p", MESSAGE, PTR(5))                                            \
    CALL(irecv, RECVS ",O request_p", MESSAGE, PTR(5))                                             \
    CALL(send_init, SENDS ",O request_p", MESSAGE, PTR(5))                                         \
    CALL(ssend_init, SENDS ",O request_p", MESSAGE, PTR(5))                                        \
    CALL(recv_init, RECVS ",O request_p", MESSAGE, PTR(5))                                         \
    CALL(sendrecv,                                                                                 \
         "B sendbuf,N send_nbytes,r dest,T sendtag,B recvbuf,N recv_nbytes,R source,t recvtag,"    \
         "C comm,. status_p",                                                                      \
         MESSAGE, SIZE(5), INT(6), INT(7), PTR(8), PTR(9))                                         \
    CALL(isendv, "V iov,N iov_count,r dest,T tag,C comm,O request_p", MESSAGE, PTR(5))             \
    CALL(irecvv, "V iov,N iov_count,R source,t tag,C comm,O request_p", MESSAGE, PTR(5))           \
    CALL(probe, "R source,t tag,C comm,. status_p", INT(0), INT(1), PTR(2), PTR(3))                \
    CALL(iprobe, "R source,t tag,C comm,O found_p,. status_p", INT(0), INT(1), PTR(2), PTR(3),     \
         PTR(4))                                                                                   \
    CALL(mprobe, "R source,t tag,C comm,O message_p,. status_p", INT(0), INT(1), PTR(2), PTR(3),   \
         PTR(4))                                                                                   \
    CALL(improbe, "R source,t tag,C comm,O found_p,O message_p,. status_p", INT(0), INT(1),        \
         PTR(2), PTR(3), PTR(4), PTR(5))                                                           \
    CALL(mrecv, "B buf,N nbytes,s message_p,. status_p", PTR(0), SIZE(1), PTR(2), PTR(3))          \
    CALL(imrecv, "B buf,N nbytes,s message_p,O request_p", PTR(0), SIZE(1), PTR(2), PTR(3))

#define CALLS_WIN(CALL)                                                                            \
    CALL(win_allocate, "a attr,C comm,O base_p,O win_p", PTR(0), PTR(1), PTR(2), PTR(3))           \
    CALL(win_create, "B base,a attr,C comm,O win_p", PTR(0), PTR(1), PTR(2), PTR(3))               \
    CALL(win_create_dynamic, "a attr,C comm,O win_p", PTR(0), PTR(1), PTR(2))                      \
    CALL(win_attach, "Y win,B base,N nbytes", PTR(0), PTR(1), SIZE(2))                             \
    CALL(win_detach, "Y win,b base", PTR(0), PTR(1))                                               \
    CALL(win_free, "w win_p", PTR(0))                                                              \
    CALL(win_query, "W win,r rank,. nbytes_p,. unit_p", PTR(0), INT(1), PTR(2), PTR(3))            \
    CALL(win_shared_query, "W win,r rank,O base_p", PTR(0), INT(1), PTR(2))                        \
    CALL(flush, "r target,W win", INT(0), PTR(1))                                                  \
    CALL(flush_local, "r target,W win", INT(0), PTR(1))                                            \
    CALL(flush_all, "W win", PTR(0))                                                               \
    CALL(flush_local_all, "W win", PTR(0))                                                         \
    CALL(win_fence, "W win", PTR(0))                                                               \
    CALL(win_lock, "e type,r target,W win", INT(0), INT(1), PTR(2))                                \
    CALL(win_unlock, "r target,W win", INT(0), PTR(1))                                             \
    CALL(win_lock_all, "W win", PTR(0))                                                            \
    CALL(win_unlock_all, "W win", PTR(0))                                                          \
    CALL(win_post, "G group,W win", PTR(0), PTR(1))                                                \
    CALL(win_start, "G group,W win", PTR(0), PTR(1))                                               \
    CALL(win_complete, "W win", PTR(0))                                                            \
    CALL(win_wait, "W win", PTR(0))                                                                \
    CALL(win_test, "W win,O done_p", PTR(0), PTR(1))

#define ACCESS "B buf,n nbytes,r target,u disp,W win"
#define ACCESS_ARGS PTR(0), SIZE(1), INT(2), WORD(3), PTR(4)
#define CALLS_RMA(CALL)                                                                            \
    CALL(put, ACCESS, ACCESS_ARGS)                                                                 \
    CALL(get, ACCESS, ACCESS_ARGS)                                                                 \
    CALL(rput, ACCESS ",O request_p", ACCESS_ARGS, PTR(5))                                         \
    CALL(rget, ACCESS ",O request_p", ACCESS_ARGS, PTR(5))                                         \
    CALL(putv, "O segs,N seg_count,r target,W win", PTR(0), SIZE(1), INT(2), PTR(3))               \
    CALL(getv, "O segs,N seg_count,r target,W win", PTR(0), SIZE(1), INT(2), PTR(3))               \
    CALL(accumulate, "B buf,N count,D dtype,r target,u disp,P op,W win", PTR(0), SIZE(1), INT(2),  \
         INT(3), WORD(4), INT(5), PTR(6))                                                          \
    CALL(get_accumulate, "B buf,B result,N count,D dtype,r target,u disp,P op,W win", PTR(0),      \
         PTR(1), SIZE(2), INT(3), INT(4), WORD(5), INT(6), PTR(7))                                 \
    CALL(fetch_and_op, "B buf,B result,D dtype,r target,u disp,P op,W win", PTR(0), PTR(1),        \
         INT(2), INT(3), WORD(4), INT(5), PTR(6))                                                  \
    CALL(compare_and_swap, "B swap,B compare,B result,D dtype,r target,u disp,W win", PTR(0),      \
         PTR(1), PTR(2), INT(3), INT(4), WORD(5), PTR(6))                                          \
    CALL(put_signal, "B buf,n nbytes,r target,u disp,u signal_disp,. signal,p op,W win", PTR(0),   \
         SIZE(1), INT(2), WORD(3), WORD(4), WORD(5), INT(6), PTR(7))                               \
    CALL(wait_signal, "u signal_disp,e cmp,. value,M timeout_ms,. value_p,W win", WORD(0), INT(1), \
         WORD(2), INT(3), PTR(4), PTR(5))

/* The collectives themselves are spoilt in coll_wrong.c. */
#define CALLS_COLL(CALL)                                                                           \
    CALL(op_create, "f fn,. arg,. is_commutative,O op_p", a[0].fn, PTR(1), INT(2), PTR(3))         \
    CALL(op_free, "o op_p", PTR(0))                                                                \
    CALL(reduce_local, "B in,B inout,N count,D dtype,P op", PTR(0), PTR(1), SIZE(2), INT(3), INT(4))

#define KEY "K kv,O key,k key_nbytes"
#define KEY_ARGS PTR(0), PTR(1), SIZE(2)
#define CALLS_KV(CALL)                                                                             \
    CALL(kv_open, "C comm,A attr,O kv_p", PTR(0), PTR(1), PTR(2))                                  \
    CALL(kv_close, "v kv_p", PTR(0))                                                               \
    CALL(kv_put, KEY ",B value,N nbytes,A attr", KEY_ARGS, PTR(3), SIZE(4), PTR(5))                \
    CALL(kv_get, KEY ",O value_p,O nbytes_p", KEY_ARGS, PTR(3), PTR(4))                            \
    CALL(kv_get_into, KEY ",B buf,N capacity,O nbytes_p", KEY_ARGS, PTR(3), SIZE(4), PTR(5))       \
    CALL(kv_exists, KEY ",O exists_p", KEY_ARGS, PTR(3))                                           \
    CALL(kv_size, KEY ",O nbytes_p", KEY_ARGS, PTR(3))                                             \
    CALL(kv_remove, KEY, KEY_ARGS)                                                                 \
    CALL(kv_acquire, KEY ",O view_p", KEY_ARGS, PTR(3))                                            \
    CALL(kv_release, "K kv,O view_p", PTR(0), PTR(1))                                              \
    CALL(kv_put_batch, "K kv,O items,N count,A attr", PTR(0), PTR(1), SIZE(2), PTR(3))             \
    CALL(kv_get_batch, "K kv,O items,N count", PTR(0), PTR(1), SIZE(2))                            \
    CALL(kv_exists_batch, "K kv,O items,N count", PTR(0), PTR(1), SIZE(2))                         \
    CALL(kv_remove_batch, "K kv,O items,N count", PTR(0), PTR(1), SIZE(2))                         \
    CALL(kv_stats, "K kv,Z stats_p", PTR(0), PTR(1))

#define ALL_CALLS(CALL)                                                                            \
    CALLS_START(CALL)                                                                              \
    CALLS_GROUP(CALL)                                                                              \
    CALLS_COMM(CALL)                                                                               \
    CALLS_REQUEST(CALL)                                                                            \
    CALLS_MESSAGE(CALL)                                                                            \
    CALLS_WIN(CALL)                                                                                \
    CALLS_RMA(CALL)                                                                                \
    CALLS_COLL(CALL)                                                                               \
    CALLS_KV(CALL)

/* These cannot fail, or have no arguments; mcomm_init() is in init.c. */
#define WITHOUT_ARGUMENTS                                                                          \
    "abort", "bootstrap_text", "build_config", "coll_text", "comm_self", "comm_world",             \
        "datatype_size", "err_name", "err_scope", "err_text", "finalize", "free", "get_version",   \
        "init", "is_initialized", "last_error", "rail_count", "setting_count", "topology_text",    \
        "wtime"

#endif
