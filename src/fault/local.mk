# L5 fault: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/fault.h %D%/revoke.c %D%/fault_api.c
