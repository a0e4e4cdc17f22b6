/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * As mpi_calls.h: functions that are there twice, MPI_Send and MPI_Send_c. Counts are MPI_NUM (int,
 * MPI_Count), displacements MPI_DISP (int, MPI_Aint), sizes in bytes MPI_BYTES (MPI_Aint,
 * MPI_Count).
 */
/* clang-format off */
MPI_NO(int, Accumulate, (const void *origin_addr, MPI_NUM origin_count, MPI_Datatype
       origin_datatype, int target_rank, MPI_Aint target_disp, MPI_NUM target_count, MPI_Datatype
       target_datatype, MPI_Op op, MPI_Win win))
MPI_FN(int, Allgather, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm))
MPI_FN(int, Allgather_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request
       *request))
MPI_FN(int, Allgatherv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype,
       MPI_Comm comm))
MPI_FN(int, Allgatherv_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype,
       MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Allreduce, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, MPI_Comm comm))
MPI_FN(int, Allreduce_init, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype
       datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Alltoall, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm))
MPI_FN(int, Alltoall_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request
       *request))
MPI_FN(int, Alltoallv, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP sdispls[],
       MPI_Datatype sendtype, void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP rdispls[],
       MPI_Datatype recvtype, MPI_Comm comm))
MPI_FN(int, Alltoallv_init, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP
       sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP
       rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Alltoallw, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP sdispls[],
       const MPI_Datatype sendtypes[], void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP
       rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
MPI_FN(int, Alltoallw_init, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP
       sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const MPI_NUM recvcounts[], const
       MPI_DISP rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, MPI_Request
       *request))
MPI_FN(int, Bcast, (void *buffer, MPI_NUM count, MPI_Datatype datatype, int root, MPI_Comm comm))
MPI_FN(int, Bcast_init, (void *buffer, MPI_NUM count, MPI_Datatype datatype, int root, MPI_Comm
       comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Bsend, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm))
MPI_FN(int, Bsend_init, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Buffer_attach, (void *buffer, MPI_NUM size))
MPI_FN(int, Buffer_detach, (void *buffer_addr, MPI_NUM *size))
MPI_FN(int, Comm_attach_buffer, (MPI_Comm comm, void *buffer, MPI_NUM size))
MPI_FN(int, Comm_detach_buffer, (MPI_Comm comm, void *buffer_addr, MPI_NUM *size))
MPI_FN(int, Exscan, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, MPI_Comm comm))
MPI_FN(int, Exscan_init, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_NO(int, File_get_type_extent, (MPI_File fh, MPI_Datatype datatype, MPI_BYTES *extent))
MPI_NO(int, File_iread, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype, MPI_Request
       *request))
MPI_NO(int, File_iread_all, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Request *request))
MPI_NO(int, File_iread_at, (MPI_File fh, MPI_Offset offset, void *buf, MPI_NUM count, MPI_Datatype
       datatype, MPI_Request *request))
MPI_NO(int, File_iread_at_all, (MPI_File fh, MPI_Offset offset, void *buf, MPI_NUM count,
       MPI_Datatype datatype, MPI_Request *request))
MPI_NO(int, File_iread_shared, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Request *request))
MPI_NO(int, File_iwrite, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Request *request))
MPI_NO(int, File_iwrite_all, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Request *request))
MPI_NO(int, File_iwrite_at, (MPI_File fh, MPI_Offset offset, const void *buf, MPI_NUM count,
       MPI_Datatype datatype, MPI_Request *request))
MPI_NO(int, File_iwrite_at_all, (MPI_File fh, MPI_Offset offset, const void *buf, MPI_NUM count,
       MPI_Datatype datatype, MPI_Request *request))
MPI_NO(int, File_iwrite_shared, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Request *request))
MPI_NO(int, File_read, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype, MPI_Status
       *status))
MPI_NO(int, File_read_all, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype, MPI_Status
       *status))
MPI_NO(int, File_read_all_begin, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype))
MPI_NO(int, File_read_at, (MPI_File fh, MPI_Offset offset, void *buf, MPI_NUM count, MPI_Datatype
       datatype, MPI_Status *status))
MPI_NO(int, File_read_at_all, (MPI_File fh, MPI_Offset offset, void *buf, MPI_NUM count,
       MPI_Datatype datatype, MPI_Status *status))
MPI_NO(int, File_read_at_all_begin, (MPI_File fh, MPI_Offset offset, void *buf, MPI_NUM count,
       MPI_Datatype datatype))
MPI_NO(int, File_read_ordered, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Status *status))
MPI_NO(int, File_read_ordered_begin, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype))
MPI_NO(int, File_read_shared, (MPI_File fh, void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Status *status))
MPI_NO(int, File_write, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Status *status))
MPI_NO(int, File_write_all, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Status *status))
MPI_NO(int, File_write_all_begin, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype
       datatype))
MPI_NO(int, File_write_at, (MPI_File fh, MPI_Offset offset, const void *buf, MPI_NUM count,
       MPI_Datatype datatype, MPI_Status *status))
MPI_NO(int, File_write_at_all, (MPI_File fh, MPI_Offset offset, const void *buf, MPI_NUM count,
       MPI_Datatype datatype, MPI_Status *status))
MPI_NO(int, File_write_at_all_begin, (MPI_File fh, MPI_Offset offset, const void *buf, MPI_NUM
       count, MPI_Datatype datatype))
MPI_NO(int, File_write_ordered, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Status *status))
MPI_NO(int, File_write_ordered_begin, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype
       datatype))
MPI_NO(int, File_write_shared, (MPI_File fh, const void *buf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Status *status))
MPI_FN(int, Gather, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       MPI_NUM recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
MPI_FN(int, Gather_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
       MPI_Request *request))
MPI_FN(int, Gatherv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype, int root,
       MPI_Comm comm))
MPI_FN(int, Gatherv_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype, int
       root, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_NO(int, Get, (void *origin_addr, MPI_NUM origin_count, MPI_Datatype origin_datatype, int
       target_rank, MPI_Aint target_disp, MPI_NUM target_count, MPI_Datatype target_datatype,
       MPI_Win win))
MPI_NO(int, Get_accumulate, (const void *origin_addr, MPI_NUM origin_count, MPI_Datatype
       origin_datatype, void *result_addr, MPI_NUM result_count, MPI_Datatype result_datatype, int
       target_rank, MPI_Aint target_disp, MPI_NUM target_count, MPI_Datatype target_datatype, MPI_Op
       op, MPI_Win win))
MPI_FN(int, Get_count, (const MPI_Status *status, MPI_Datatype datatype, MPI_NUM *count))
MPI_FN(int, Get_elements, (const MPI_Status *status, MPI_Datatype datatype, MPI_NUM *count))
MPI_FN(int, Iallgather, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Iallgatherv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Iallreduce, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Ialltoall, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Ialltoallv, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP sdispls[],
       MPI_Datatype sendtype, void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP rdispls[],
       MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Ialltoallw, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP sdispls[],
       const MPI_Datatype sendtypes[], void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP
       rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Ibcast, (void *buffer, MPI_NUM count, MPI_Datatype datatype, int root, MPI_Comm comm,
       MPI_Request *request))
MPI_FN(int, Ibsend, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Iexscan, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Igather, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       MPI_NUM recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Igatherv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype, int root,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Imrecv, (void *buf, MPI_NUM count, MPI_Datatype datatype, MPI_Message *message,
       MPI_Request *request))
MPI_NO(int, Ineighbor_allgather, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype,
       void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request
       *request))
MPI_NO(int, Ineighbor_allgatherv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype,
       void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype,
       MPI_Comm comm, MPI_Request *request))
MPI_NO(int, Ineighbor_alltoall, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request))
MPI_NO(int, Ineighbor_alltoallv, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP
       sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP
       rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request))
MPI_NO(int, Ineighbor_alltoallw, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_Aint
       sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const MPI_NUM recvcounts[], const
       MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Irecv, (void *buf, MPI_NUM count, MPI_Datatype datatype, int source, int tag, MPI_Comm
       comm, MPI_Request *request))
MPI_FN(int, Ireduce, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, int root, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Ireduce_scatter, (const void *sendbuf, void *recvbuf, const MPI_NUM recvcounts[],
       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Ireduce_scatter_block, (const void *sendbuf, void *recvbuf, MPI_NUM recvcount,
       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Irsend, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Iscan, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype, MPI_Op
       op, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Iscatter, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       MPI_NUM recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Iscatterv, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP displs[],
       MPI_Datatype sendtype, void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, int root,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Isend, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Isendrecv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, int dest, int
       sendtag, void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, int source, int recvtag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Isendrecv_replace, (void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int
       sendtag, int source, int recvtag, MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Issend, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Mrecv, (void *buf, MPI_NUM count, MPI_Datatype datatype, MPI_Message *message,
       MPI_Status *status))
MPI_NO(int, Neighbor_allgather, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm))
MPI_NO(int, Neighbor_allgather_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype,
       void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
       MPI_Request *request))
MPI_NO(int, Neighbor_allgatherv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype,
       void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype,
       MPI_Comm comm))
MPI_NO(int, Neighbor_allgatherv_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype
       sendtype, void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype
       recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_NO(int, Neighbor_alltoall, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm))
MPI_NO(int, Neighbor_alltoall_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype,
       void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
       MPI_Request *request))
MPI_NO(int, Neighbor_alltoallv, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP
       sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP
       rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
MPI_NO(int, Neighbor_alltoallv_init, (const void *sendbuf, const MPI_NUM sendcounts[], const
       MPI_DISP sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_NUM recvcounts[], const
       MPI_DISP rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request
       *request))
MPI_NO(int, Neighbor_alltoallw, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_Aint
       sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const MPI_NUM recvcounts[], const
       MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
MPI_NO(int, Neighbor_alltoallw_init, (const void *sendbuf, const MPI_NUM sendcounts[], const
       MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const MPI_NUM
       recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
       MPI_Info info, MPI_Request *request))
MPI_FN(int, Pack, (const void *inbuf, MPI_NUM incount, MPI_Datatype datatype, void *outbuf, MPI_NUM
       outsize, MPI_NUM *position, MPI_Comm comm))
MPI_FN(int, Pack_external, (const char *datarep, const void *inbuf, MPI_NUM incount, MPI_Datatype
       datatype, void *outbuf, MPI_BYTES outsize, MPI_BYTES *position))
MPI_FN(int, Pack_external_size, (const char *datarep, MPI_NUM incount, MPI_Datatype datatype,
       MPI_BYTES *size))
MPI_FN(int, Pack_size, (MPI_NUM incount, MPI_Datatype datatype, MPI_Comm comm, MPI_NUM *size))
MPI_NO(int, Put, (const void *origin_addr, MPI_NUM origin_count, MPI_Datatype origin_datatype, int
       target_rank, MPI_Aint target_disp, MPI_NUM target_count, MPI_Datatype target_datatype,
       MPI_Win win))
MPI_NO(int, Raccumulate, (const void *origin_addr, MPI_NUM origin_count, MPI_Datatype
       origin_datatype, int target_rank, MPI_Aint target_disp, MPI_NUM target_count, MPI_Datatype
       target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request))
MPI_FN(int, Recv, (void *buf, MPI_NUM count, MPI_Datatype datatype, int source, int tag, MPI_Comm
       comm, MPI_Status *status))
MPI_FN(int, Recv_init, (void *buf, MPI_NUM count, MPI_Datatype datatype, int source, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Reduce, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, int root, MPI_Comm comm))
MPI_FN(int, Reduce_init, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Reduce_local, (const void *inbuf, void *inoutbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op))
MPI_FN(int, Reduce_scatter, (const void *sendbuf, void *recvbuf, const MPI_NUM recvcounts[],
       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm))
MPI_FN(int, Reduce_scatter_block, (const void *sendbuf, void *recvbuf, MPI_NUM recvcount,
       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm))
MPI_FN(int, Reduce_scatter_block_init, (const void *sendbuf, void *recvbuf, MPI_NUM recvcount,
       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Reduce_scatter_init, (const void *sendbuf, void *recvbuf, const MPI_NUM recvcounts[],
       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_NO(int, Rget, (void *origin_addr, MPI_NUM origin_count, MPI_Datatype origin_datatype, int
       target_rank, MPI_Aint target_disp, MPI_NUM target_count, MPI_Datatype target_datatype,
       MPI_Win win, MPI_Request *request))
MPI_NO(int, Rget_accumulate, (const void *origin_addr, MPI_NUM origin_count, MPI_Datatype
       origin_datatype, void *result_addr, MPI_NUM result_count, MPI_Datatype result_datatype, int
       target_rank, MPI_Aint target_disp, MPI_NUM target_count, MPI_Datatype target_datatype, MPI_Op
       op, MPI_Win win, MPI_Request *request))
MPI_NO(int, Rput, (const void *origin_addr, MPI_NUM origin_count, MPI_Datatype origin_datatype, int
       target_rank, MPI_Aint target_disp, MPI_NUM target_count, MPI_Datatype target_datatype,
       MPI_Win win, MPI_Request *request))
MPI_FN(int, Rsend, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm))
MPI_FN(int, Rsend_init, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Scan, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype, MPI_Op
       op, MPI_Comm comm))
MPI_FN(int, Scan_init, (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype datatype,
       MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Scatter, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       MPI_NUM recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
MPI_FN(int, Scatter_init, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void
       *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
       MPI_Request *request))
MPI_FN(int, Scatterv, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP displs[],
       MPI_Datatype sendtype, void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, int root,
       MPI_Comm comm))
MPI_FN(int, Scatterv_init, (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP
       displs[], MPI_Datatype sendtype, void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, int
       root, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Send, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm))
MPI_FN(int, Send_init, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Sendrecv, (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, int dest, int
       sendtag, void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, int source, int recvtag,
       MPI_Comm comm, MPI_Status *status))
MPI_FN(int, Sendrecv_replace, (void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int
       sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status *status))
MPI_NO(int, Session_attach_buffer, (MPI_Session session, void *buffer, MPI_NUM size))
MPI_NO(int, Session_detach_buffer, (MPI_Session session, void *buffer_addr, MPI_NUM *size))
MPI_FN(int, Ssend, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm))
MPI_FN(int, Ssend_init, (const void *buf, MPI_NUM count, MPI_Datatype datatype, int dest, int tag,
       MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Status_set_elements, (MPI_Status *status, MPI_Datatype datatype, MPI_NUM count))
MPI_FN(int, Type_contiguous, (MPI_NUM count, MPI_Datatype oldtype, MPI_Datatype *newtype))
MPI_NO(int, Type_create_darray, (int size, int rank, int ndims, const MPI_NUM array_of_gsizes[],
       const int array_of_distribs[], const int array_of_dargs[], const int array_of_psizes[], int
       order, MPI_Datatype oldtype, MPI_Datatype *newtype))
MPI_FN(int, Type_create_hindexed, (MPI_NUM count, const MPI_NUM array_of_blocklengths[], const
       MPI_BYTES array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype))
MPI_FN(int, Type_create_hindexed_block, (MPI_NUM count, MPI_NUM blocklength, const MPI_BYTES
       array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype))
MPI_FN(int, Type_create_hvector, (MPI_NUM count, MPI_NUM blocklength, MPI_BYTES stride, MPI_Datatype
       oldtype, MPI_Datatype *newtype))
MPI_FN(int, Type_create_indexed_block, (MPI_NUM count, MPI_NUM blocklength, const MPI_NUM
       array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype))
MPI_FN(int, Type_create_resized, (MPI_Datatype oldtype, MPI_BYTES lb, MPI_BYTES extent, MPI_Datatype
       *newtype))
MPI_FN(int, Type_create_struct, (MPI_NUM count, const MPI_NUM array_of_blocklengths[], const
       MPI_BYTES array_of_displacements[], const MPI_Datatype array_of_types[], MPI_Datatype
       *newtype))
MPI_FN(int, Type_create_subarray, (int ndims, const MPI_NUM array_of_sizes[], const MPI_NUM
       array_of_subsizes[], const MPI_NUM array_of_starts[], int order, MPI_Datatype oldtype,
       MPI_Datatype *newtype))
MPI_FN(int, Type_get_extent, (MPI_Datatype datatype, MPI_BYTES *lb, MPI_BYTES *extent))
MPI_FN(int, Type_get_true_extent, (MPI_Datatype datatype, MPI_BYTES *true_lb, MPI_BYTES
       *true_extent))
MPI_FN(int, Type_indexed, (MPI_NUM count, const MPI_NUM array_of_blocklengths[], const MPI_NUM
       array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype))
MPI_FN(int, Type_size, (MPI_Datatype datatype, MPI_NUM *size))
MPI_FN(int, Type_vector, (MPI_NUM count, MPI_NUM blocklength, MPI_NUM stride, MPI_Datatype oldtype,
       MPI_Datatype *newtype))
MPI_FN(int, Unpack, (const void *inbuf, MPI_NUM insize, MPI_NUM *position, void *outbuf, MPI_NUM
       outcount, MPI_Datatype datatype, MPI_Comm comm))
MPI_FN(int, Unpack_external, (const char datarep[], const void *inbuf, MPI_BYTES insize, MPI_BYTES
       *position, void *outbuf, MPI_NUM outcount, MPI_Datatype datatype))
MPI_NO(int, Win_allocate, (MPI_Aint size, MPI_DISP disp_unit, MPI_Info info, MPI_Comm comm, void
       *baseptr, MPI_Win *win))
MPI_NO(int, Win_allocate_shared, (MPI_Aint size, MPI_DISP disp_unit, MPI_Info info, MPI_Comm comm,
       void *baseptr, MPI_Win *win))
MPI_NO(int, Win_create, (void *base, MPI_Aint size, MPI_DISP disp_unit, MPI_Info info, MPI_Comm
       comm, MPI_Win *win))
MPI_NO(int, Win_shared_query, (MPI_Win win, int rank, MPI_Aint *size, MPI_DISP *disp_unit, void
       *baseptr))
