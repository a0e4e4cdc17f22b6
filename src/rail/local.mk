# L2 rail: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/rail.h %D%/rail_priv.h %D%/handshake.h
EXTRA_DIST += %D%/handshake.c
libmcomm_all_la_SOURCES += %D%/rail.h %D%/rail_priv.h %D%/peer.c %D%/op.c %D%/iov.c %D%/self.c
