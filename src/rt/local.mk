# L1 rt: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/rt.h %D%/addr.h %D%/auth.h
