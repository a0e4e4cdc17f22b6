# The MPI layer: a library of its own that uses mooncake_comm.h only, in folders of its own, so that
# it takes no other MPI's place.
EXTRA_DIST += %D%/mcomm_mpicc.in %D%/mcomm_mpirun
if MPI_LAYER
mpilibdir = $(libdir)/mooncake_comm/mpi
mpilib_LTLIBRARIES = libmpi_abi.la
mpiincludedir = $(includedir)/mooncake_comm/mpi
mpiinclude_HEADERS = %D%/mpi.h %D%/mpi_calls.h %D%/mpi_calls_count.h %D%/mpi_calls_data.h \
	%D%/mpi_calls_io.h

libmpi_abi_la_SOURCES = %D%/mpi_priv.h %D%/handle.c %D%/error.c %D%/errhandler.c %D%/init.c \
	%D%/session.c %D%/info.c %D%/attr.c %D%/group.c %D%/comm.c %D%/topo.c %D%/unsupported.c
libmpi_abi_la_SOURCES += %D%/type.c %D%/type_make.c %D%/type_calls.c %D%/type_calls_c.c \
	%D%/type_info.c
libmpi_abi_la_SOURCES += %D%/status.c %D%/request.c %D%/grequest.c %D%/pt2pt.c %D%/pt2pt_calls.c \
	%D%/pt2pt_calls_c.c %D%/bsend.c
libmpi_abi_la_SOURCES += %D%/op.c %D%/coll.h %D%/coll.c %D%/reduce.c %D%/coll_calls.c \
	%D%/coll_calls_c.c
libmpi_abi_la_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)/%D% $(MCOMM_CPPFLAGS)
libmpi_abi_la_CFLAGS = $(MCOMM_CFLAGS)
libmpi_abi_la_LIBADD = libmooncake_comm.la
# Its own calls of MPI functions stay inside, whatever a tool puts before them.
libmpi_abi_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined $(MCOMM_SO_LDFLAGS) \
	-Wl,-Bsymbolic

bin_SCRIPTS = %D%/mcomm_mpicc %D%/mcomm_mpicxx %D%/mcomm_mpirun
CLEANFILES += %D%/mcomm_mpicc %D%/mcomm_mpicxx
mpi_subst = sed -e 's|@prefix[@]|$(prefix)|' -e 's|@includedir[@]|$(mpiincludedir)|' \
	-e 's|@libdir[@]|$(mpilibdir)|' -e 's|@mcommlibdir[@]|$(libdir)|'
%D%/mcomm_mpicc: %D%/mcomm_mpicc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && $(mpi_subst) -e 's|@compiler[@]|$(CC)|' -e 's|@variable[@]|CC|' \
	    $(srcdir)/%D%/mcomm_mpicc.in >$@ && chmod +x $@
%D%/mcomm_mpicxx: %D%/mcomm_mpicc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && $(mpi_subst) -e 's|@compiler[@]|c++|' -e 's|@variable[@]|CXX|' \
	    $(srcdir)/%D%/mcomm_mpicc.in >$@ && chmod +x $@
endif
