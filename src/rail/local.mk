# L2 rail: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/rail.h %D%/rail_priv.h %D%/rail.c %D%/card.c %D%/peer.c
libmcomm_all_la_SOURCES += %D%/op.c %D%/iov.c %D%/self.c %D%/tell.c
libmcomm_all_la_SOURCES += %D%/shm/shm_priv.h %D%/shm/shm_ops.c %D%/shm/shm_conn.c \
	%D%/shm/shm_peer.c %D%/shm/shm_connect.c %D%/shm/shm_listen.c %D%/shm/shm_ctl.c \
	%D%/shm/shm_seg.c %D%/shm/shm_ring.c %D%/shm/shm_bulk.c %D%/shm/shm_recv.c \
	%D%/shm/shm_cma.c %D%/shm/shm_region.c
libmcomm_all_la_SOURCES += %D%/handshake.h %D%/handshake.c
libmcomm_all_la_SOURCES += %D%/tcp/tcp_wire.h %D%/tcp/tcp_priv.h %D%/tcp/tcp_rail.c
libmcomm_all_la_SOURCES += %D%/tcp/tcp_peer.c %D%/tcp/tcp_connect.c %D%/tcp/tcp_listen.c
libmcomm_all_la_SOURCES += %D%/tcp/tcp_send.c %D%/tcp/tcp_recv.c %D%/tcp/tcp_bulk.c \
	%D%/tcp/tcp_reap.c %D%/tcp/tcp_vec.h %D%/tcp/tcp_vec.c
