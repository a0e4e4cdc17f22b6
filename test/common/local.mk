# What unit tests and multi-process tests share; they include it as "common/...".
FOLD_ORACLE = %D%/fold_oracle.c %D%/fold_oracle.h
EXTRA_DIST += %D%/random.h %D%/proc.h
