# mcomm_trace: traces and their replay.
bin_PROGRAMS += mcomm_trace
mcomm_trace_SOURCES = %D%/mcomm_trace.c %D%/replay.c %D%/replay.h %D%/trace_file.c %D%/trace_file.h
mcomm_trace_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
mcomm_trace_LDADD = $(LDADD) $(ZLIB_LIBS) -lm
