# Examples: under 80 lines each, one idea.
noinst_PROGRAMS += %D%/hello %D%/pingpong %D%/put_signal %D%/object_store %D%/overlap
MP_CASES += %D%/hello.mp %D%/pingpong.mp %D%/put_signal.mp %D%/object_store.mp %D%/overlap.mp
