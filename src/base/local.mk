# L0 base: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/version.c
