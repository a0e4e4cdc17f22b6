# L7 kvobj: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/kv_api.c
libmcomm_all_la_SOURCES += %D%/kv_batch.c
libmcomm_all_la_SOURCES += %D%/kv_clean.c
libmcomm_all_la_SOURCES += %D%/kv_dir.c
libmcomm_all_la_SOURCES += %D%/kv_get.c
libmcomm_all_la_SOURCES += %D%/kv_mem.c
libmcomm_all_la_SOURCES += %D%/kv_open.c
libmcomm_all_la_SOURCES += %D%/kv_place.c
libmcomm_all_la_SOURCES += %D%/kv_put.c
libmcomm_all_la_SOURCES += %D%/kv_record.c
libmcomm_all_la_SOURCES += %D%/kv_rma.c
libmcomm_all_la_SOURCES += %D%/kv_room.c
libmcomm_all_la_SOURCES += %D%/kv_slab.c
libmcomm_all_la_SOURCES += %D%/kv_stats.c
libmcomm_all_la_SOURCES += %D%/kv_view.c
libmcomm_all_la_SOURCES += %D%/kv_wait.c
libmcomm_all_la_SOURCES += %D%/kvobj.h %D%/kv_priv.h
