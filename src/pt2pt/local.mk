# L4 pt2pt: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/api_check.c %D%/api_check.h
libmcomm_all_la_SOURCES += %D%/blocking.c
libmcomm_all_la_SOURCES += %D%/context.c
libmcomm_all_la_SOURCES += %D%/credit.c
libmcomm_all_la_SOURCES += %D%/match.c
libmcomm_all_la_SOURCES += %D%/module.c
libmcomm_all_la_SOURCES += %D%/msg.c
libmcomm_all_la_SOURCES += %D%/reserve.c
libmcomm_all_la_SOURCES += %D%/probe.c
libmcomm_all_la_SOURCES += %D%/probe_api.c
libmcomm_all_la_SOURCES += %D%/pt2pt.h %D%/pt2pt_priv.h
libmcomm_all_la_SOURCES += %D%/pt2pt_api.c
libmcomm_all_la_SOURCES += %D%/recv.c
libmcomm_all_la_SOURCES += %D%/request.c
libmcomm_all_la_SOURCES += %D%/send.c
libmcomm_all_la_SOURCES += %D%/watch.c
