# How tests are run.
EXTRA_DIST += %D%/limit
