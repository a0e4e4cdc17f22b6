# L1 rt: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/rt.h %D%/rt_priv.h %D%/rt.c %D%/rt_blobs.c
libmcomm_all_la_SOURCES += %D%/rt_select.c %D%/rt_secret.c
libmcomm_all_la_SOURCES += %D%/rt_singleton.c %D%/rt_oob.c
libmcomm_all_la_SOURCES += %D%/rt_tcp.h %D%/rt_tcp.c %D%/rt_tcp_serve.c %D%/rt_tcp_join.c
libmcomm_all_la_SOURCES += %D%/rdv.h %D%/rdv_server.c %D%/rdv_client.c
libmcomm_all_la_SOURCES += %D%/rt_again.h %D%/rt_again.c
libmcomm_all_la_SOURCES += %D%/rt_pmi1.h %D%/rt_pmi1.c %D%/rt_pmi1_line.c %D%/rt_base64.h %D%/rt_base64.c
if HAVE_PMIX
libmcomm_all_la_SOURCES += %D%/rt_pmix.h %D%/rt_pmix.c %D%/rt_pmix_store.c %D%/rt_call.h %D%/rt_call.c
endif
libmcomm_all_la_SOURCES += %D%/auth.h %D%/auth.c %D%/auth_hash.c
libmcomm_all_la_SOURCES += %D%/addr.h %D%/addr.c %D%/addr_if.c
