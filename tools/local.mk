# Tools: they use mooncake_comm.h only, like any user.
bin_PROGRAMS +=
