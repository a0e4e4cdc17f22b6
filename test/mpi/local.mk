# MPI programs: compiled with the layer's mpi.h and linked with its library, like any user's.
EXTRA_DIST += %D%/mpi_test.h %D%/messages.c %D%/collectives.c
MPI_CASES = %D%/messages.mp %D%/collectives.mp
EXTRA_DIST += $(MPI_CASES)
SCRIPT_TESTS += %D%/unsupported.sh %D%/symbols.sh
if MPI_LAYER
MP_PROGS += %D%/messages %D%/collectives
MP_CASES += $(MPI_CASES)
MPI_TEST_CPPFLAGS = -I$(top_srcdir)/bindings/mpi
%C%_messages_CPPFLAGS = $(MPI_TEST_CPPFLAGS)
%C%_messages_LDADD = libmpi_abi.la
%C%_collectives_CPPFLAGS = $(MPI_TEST_CPPFLAGS)
%C%_collectives_LDADD = libmpi_abi.la
endif
