# L2 rail: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/rail.h %D%/rail_priv.h %D%/handshake.h
EXTRA_DIST += %D%/handshake.c
libmcomm_all_la_SOURCES += %D%/rail.h %D%/rail_priv.h %D%/peer.c %D%/op.c %D%/iov.c %D%/self.c
libmcomm_all_la_SOURCES += %D%/shm/shm_priv.h %D%/shm/shm_ops.c %D%/shm/shm_conn.c \
	%D%/shm/shm_peer.c %D%/shm/shm_ctl.c %D%/shm/shm_seg.c %D%/shm/shm_copy.c %D%/shm/shm_ring.c \
	%D%/shm/shm_bulk.c %D%/shm/shm_recv.c %D%/shm/shm_cma.c %D%/shm/shm_region.c
