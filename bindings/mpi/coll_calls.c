/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Collectives: each blocking, nonblocking and persistent; compiled twice, with int and MPI_Count.
 */
#include "mpi_priv.h"

#ifdef LARGE
#define NUMBERS(given) ((struct numbers){given, true})
#else
#define NUMBERS(given) ((struct numbers){given, false})
#endif

#define LIST(...) __VA_ARGS__
/* The last argument is the body; it uses form and request. */
#define THREE(Name, Iname, parameters, ...)                                                        \
    DEF_COUNT(Name, (LIST parameters))                                                             \
    {                                                                                              \
        const enum form form = BLOCKING;                                                           \
        MPI_Request *request = NULL;                                                               \
        __VA_ARGS__                                                                                \
    }                                                                                              \
    DEF_COUNT(Iname, (LIST parameters, MPI_Request * request))                                     \
    {                                                                                              \
        const enum form form = NONBLOCKING;                                                        \
        __VA_ARGS__                                                                                \
    }                                                                                              \
    DEF_COUNT(Name##_init, (LIST parameters, MPI_Info info, MPI_Request * request))                \
    {                                                                                              \
        const enum form form = PERSISTENT;                                                         \
        if (mpi_info_check(NULL, info) != MPI_SUCCESS)                                             \
            return MPI_ERR_INFO;                                                                   \
        __VA_ARGS__                                                                                \
    }

/* ---- moving data ---- */
#define PLAIN(given, num, handle)                                                                  \
    {                                                                                              \
        .buf = AT(given, 0), .count = num, .type = handle                                          \
    }
#define SPREAD(given, nums, offsets, handle)                                                       \
    {                                                                                              \
        .buf = AT(given, 0), .type = handle, .counts = NUMBERS(nums), .displs = NUMBERS(offsets),  \
    }

THREE(Bcast, Ibcast, (void *buf, MPI_NUM count, MPI_Datatype type, int root, MPI_Comm comm), {
    struct ends ends = PLAIN(buf, count, type);

    return mpi_exchange(form, COLL_BCAST, NULL, &ends, root, comm, request);
})

#define TO_OR_FROM_ROOT(Name, Iname, which)                                                        \
    THREE(Name, Iname,                                                                             \
          (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,           \
           MPI_NUM recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),                     \
          {                                                                                        \
              struct ends send = PLAIN(sendbuf, sendcount, sendtype),                              \
                          recv = PLAIN(recvbuf, recvcount, recvtype);                              \
                                                                                                   \
              return mpi_exchange(form, which, &send, &recv, root, comm, request);                 \
          })
TO_OR_FROM_ROOT(Gather, Igather, COLL_GATHER)
TO_OR_FROM_ROOT(Scatter, Iscatter, COLL_SCATTER)

#define AMONG_ALL(Name, Iname, which)                                                              \
    THREE(Name, Iname,                                                                             \
          (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,           \
           MPI_NUM recvcount, MPI_Datatype recvtype, MPI_Comm comm),                               \
          {                                                                                        \
              struct ends send = PLAIN(sendbuf, sendcount, sendtype),                              \
                          recv = PLAIN(recvbuf, recvcount, recvtype);                              \
                                                                                                   \
              return mpi_exchange(form, which, &send, &recv, 0, comm, request);                    \
          })
AMONG_ALL(Allgather, Iallgather, COLL_ALLGATHER)
AMONG_ALL(Alltoall, Ialltoall, COLL_ALLTOALL)

THREE(Gatherv, Igatherv,
      (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype, int root,
       MPI_Comm comm),
      {
          struct ends send = PLAIN(sendbuf, sendcount, sendtype),
                      recv = SPREAD(recvbuf, recvcounts, displs, recvtype);

          return mpi_exchange(form, COLL_GATHERV, &send, &recv, root, comm, request);
      })

THREE(Scatterv, Iscatterv,
      (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP displs[],
       MPI_Datatype sendtype, void *recvbuf, MPI_NUM recvcount, MPI_Datatype recvtype, int root,
       MPI_Comm comm),
      {
          struct ends send = SPREAD(sendbuf, sendcounts, displs, sendtype),
                      recv = PLAIN(recvbuf, recvcount, recvtype);

          return mpi_exchange(form, COLL_SCATTERV, &send, &recv, root, comm, request);
      })

THREE(Allgatherv, Iallgatherv,
      (const void *sendbuf, MPI_NUM sendcount, MPI_Datatype sendtype, void *recvbuf,
       const MPI_NUM recvcounts[], const MPI_DISP displs[], MPI_Datatype recvtype, MPI_Comm comm),
      {
          struct ends send = PLAIN(sendbuf, sendcount, sendtype),
                      recv = SPREAD(recvbuf, recvcounts, displs, recvtype);

          return mpi_exchange(form, COLL_ALLGATHERV, &send, &recv, 0, comm, request);
      })

THREE(Alltoallv, Ialltoallv,
      (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP sdispls[],
       MPI_Datatype sendtype, void *recvbuf, const MPI_NUM recvcounts[], const MPI_DISP rdispls[],
       MPI_Datatype recvtype, MPI_Comm comm),
      {
          struct ends send = SPREAD(sendbuf, sendcounts, sdispls, sendtype),
                      recv = SPREAD(recvbuf, recvcounts, rdispls, recvtype);

          return mpi_exchange(form, COLL_ALLTOALLV, &send, &recv, 0, comm, request);
      })

THREE(Alltoallw, Ialltoallw,
      (const void *sendbuf, const MPI_NUM sendcounts[], const MPI_DISP sdispls[],
       const MPI_Datatype sendtypes[], void *recvbuf, const MPI_NUM recvcounts[],
       const MPI_DISP rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
      {
          struct ends send = SPREAD(sendbuf, sendcounts, sdispls, MPI_DATATYPE_NULL),
                      recv = SPREAD(recvbuf, recvcounts, rdispls, MPI_DATATYPE_NULL);

          send.types = sendtypes;
          recv.types = recvtypes;
          return mpi_exchange(form, COLL_ALLTOALLW, &send, &recv, 0, comm, request);
      })

/* ---- reductions ---- */
THREE(Reduce, Ireduce,
      (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype type, MPI_Op op, int root,
       MPI_Comm comm),
      {
          struct reduction what = {.sendbuf = sendbuf,
                                   .recvbuf = recvbuf,
                                   .count = count,
                                   .type = type,
                                   .op = op,
                                   .root = root};

          return mpi_reduction(form, COLL_REDUCE, &what, comm, request);
      })

#define WITHOUT_ROOT(Name, Iname, which)                                                           \
    THREE(Name, Iname,                                                                             \
          (const void *sendbuf, void *recvbuf, MPI_NUM count, MPI_Datatype type, MPI_Op op,        \
           MPI_Comm comm),                                                                         \
          {                                                                                        \
              struct reduction what = {                                                            \
                  .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .type = type, .op = op}; \
                                                                                                   \
              return mpi_reduction(form, which, &what, comm, request);                             \
          })
WITHOUT_ROOT(Allreduce, Iallreduce, COLL_ALLREDUCE)
WITHOUT_ROOT(Scan, Iscan, COLL_SCAN)
WITHOUT_ROOT(Exscan, Iexscan, COLL_EXSCAN)
WITHOUT_ROOT(Reduce_scatter_block, Ireduce_scatter_block, COLL_REDUCE_SCATTER_BLOCK)

THREE(Reduce_scatter, Ireduce_scatter,
      (const void *sendbuf, void *recvbuf, const MPI_NUM recvcounts[], MPI_Datatype type, MPI_Op op,
       MPI_Comm comm),
      {
          struct reduction what = {.sendbuf = sendbuf,
                                   .recvbuf = recvbuf,
                                   .counts = NUMBERS(recvcounts),
                                   .type = type,
                                   .op = op};

          return mpi_reduction(form, COLL_REDUCE_SCATTER, &what, comm, request);
      })

DEF_COUNT(Reduce_local,
          (const void *in, void *inout, MPI_NUM count, MPI_Datatype type_handle, MPI_Op op_handle))
{
    struct op *op = mpi_op_get(op_handle);

    GET_TYPE(type, type_handle, NULL);
    if (op == NULL)
        return mpi_bad_op(NULL, op_handle);
    if (mpi_op_check(NULL, op, type) != MPI_SUCCESS)
        return MPI_ERR_OP;
    if (count < 0)
        return mpi_fail(NULL, MPI_ERR_COUNT, "count %lld", (long long)count);
    return mpi_done(NULL, mpi_op_apply(op, in, inout, count, type));
}
