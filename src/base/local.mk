# L0 base: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/version.c
libmcomm_all_la_SOURCES += %D%/err.c %D%/log.c %D%/mem.c %D%/hash.c %D%/clock.c %D%/handle.c
libmcomm_all_la_SOURCES += %D%/lock.c %D%/wait.c %D%/presence.c %D%/presence.h %D%/loop.c
libmcomm_all_la_SOURCES += %D%/err.h %D%/log.h %D%/mem.h %D%/list.h %D%/hash.h %D%/clock.h
libmcomm_all_la_SOURCES += %D%/handle.h %D%/settings.h %D%/settings.def %D%/lock.h %D%/wait.h %D%/loop.h
libmcomm_all_la_SOURCES += %D%/settings_warn.c
libmcomm_all_la_SOURCES += %D%/settings.c %D%/settings_text.c %D%/settings_text.h
libmcomm_all_la_SOURCES += %D%/info.c %D%/info.h
libmcomm_all_la_SOURCES += %D%/copy.c %D%/copy.h
libmcomm_all_la_SOURCES += %D%/proc.c %D%/proc.h
libmcomm_all_la_SOURCES += %D%/near.h %D%/defer.c %D%/defer.h
