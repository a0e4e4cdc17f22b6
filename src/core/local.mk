# L3 core: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/core.h %D%/core_priv.h
libmcomm_all_la_SOURCES += %D%/init.c %D%/init_api.c %D%/event.c %D%/check.c
libmcomm_all_la_SOURCES += %D%/comm.c %D%/comm_make.c %D%/comm_api.c %D%/tree.c
libmcomm_all_la_SOURCES += %D%/group.c %D%/group_api.c
libmcomm_all_la_SOURCES += %D%/request.c %D%/request_api.c
libmcomm_all_la_SOURCES += %D%/info_api.c %D%/query_api.c
# The one file above all layers.
libmcomm_all_la_SOURCES += src/modules.c
