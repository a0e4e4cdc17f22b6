# L4 rma: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/rma.h %D%/rma_priv.h %D%/op_expr.h %D%/interval.h
libmcomm_all_la_SOURCES += %D%/module.c %D%/rma_api.c %D%/win.c %D%/local.c %D%/ops.c
libmcomm_all_la_SOURCES += %D%/remote.c %D%/target.c %D%/sync.c %D%/serve.c %D%/hold.c
libmcomm_all_la_SOURCES += %D%/acc.c %D%/list.c %D%/lock.c %D%/pscw.c
libmcomm_all_la_SOURCES += %D%/signal.c %D%/kick.c %D%/dynamic.c %D%/interval.c %D%/atomics.c
