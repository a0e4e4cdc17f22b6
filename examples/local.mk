# Examples: under 80 lines each, one idea.
noinst_PROGRAMS += %D%/hello %D%/pingpong %D%/put_signal %D%/object_store
