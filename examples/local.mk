# Examples: under 80 lines each, one idea.
noinst_PROGRAMS +=
