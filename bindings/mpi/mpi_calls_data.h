/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * As mpi_calls.h: messages, requests, status, datatypes, operations, windows; without the functions
 * of two sizes.
 */
/* clang-format off */
MPI_FN(int, Barrier, (MPI_Comm comm))
MPI_FN(int, Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Buffer_flush, (void))
MPI_NO(int, Buffer_iflush, (MPI_Request *request))
MPI_FN(int, Cancel, (MPI_Request *request))
MPI_NO(int, Compare_and_swap, (const void *origin_addr, const void *compare_addr, void *result_addr,
       MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win))
MPI_NO(int, Fetch_and_op, (const void *origin_addr, void *result_addr, MPI_Datatype datatype, int
       target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win))
MPI_FN(int, Get_elements_x, (const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count))
MPI_FN(int, Grequest_complete, (MPI_Request request))
MPI_FN(int, Grequest_start, (MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function
       *free_fn, MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request))
MPI_FN(int, Ibarrier, (MPI_Comm comm, MPI_Request *request))
MPI_FN(int, Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
       MPI_Status *status))
MPI_FN(int, Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status))
MPI_FN(MPI_Message, Message_fromint, (int message))
MPI_FN(int, Message_toint, (MPI_Message message))
MPI_FN(int, Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status))
MPI_FN(int, Op_commutative, (MPI_Op op, int *commute))
MPI_FN(int, Op_create, (MPI_User_function *user_fn, int commute, MPI_Op *op))
MPI_FN(int, Op_create_c, (MPI_User_function_c *user_fn, int commute, MPI_Op *op))
MPI_FN(int, Op_free, (MPI_Op *op))
MPI_FN(MPI_Op, Op_fromint, (int op))
MPI_FN(int, Op_toint, (MPI_Op op))
MPI_NO(int, Parrived, (MPI_Request request, int partition, int *flag))
MPI_NO(int, Pready, (int partition, MPI_Request request))
MPI_NO(int, Pready_list, (int length, const int array_of_partitions[], MPI_Request request))
MPI_NO(int, Pready_range, (int partition_low, int partition_high, MPI_Request request))
MPI_NO(int, Precv_init, (void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int
       dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status))
MPI_NO(int, Psend_init, (const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
       int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request))
MPI_FN(int, Request_free, (MPI_Request *request))
MPI_FN(MPI_Request, Request_fromint, (int request))
MPI_FN(int, Request_get_status, (MPI_Request request, int *flag, MPI_Status *status))
MPI_FN(int, Request_get_status_all, (int count, const MPI_Request array_of_requests[], int *flag,
       MPI_Status *array_of_statuses))
MPI_FN(int, Request_get_status_any, (int count, const MPI_Request array_of_requests[], int *indx,
       int *flag, MPI_Status *status))
MPI_FN(int, Request_get_status_some, (int incount, const MPI_Request array_of_requests[], int
       *outcount, int array_of_indices[], MPI_Status *array_of_statuses))
MPI_FN(int, Request_toint, (MPI_Request request))
MPI_FN(int, Start, (MPI_Request *request))
MPI_FN(int, Startall, (int count, MPI_Request array_of_requests[]))
MPI_FN(int, Status_get_error, (const MPI_Status *status, int *error))
MPI_FN(int, Status_get_source, (const MPI_Status *status, int *source))
MPI_FN(int, Status_get_tag, (const MPI_Status *status, int *tag))
MPI_FN(int, Status_set_cancelled, (MPI_Status *status, int flag))
MPI_FN(int, Status_set_elements_x, (MPI_Status *status, MPI_Datatype datatype, MPI_Count count))
MPI_FN(int, Status_set_error, (MPI_Status *status, int error))
MPI_FN(int, Status_set_source, (MPI_Status *status, int source))
MPI_FN(int, Status_set_tag, (MPI_Status *status, int tag))
MPI_FN(int, Test, (MPI_Request *request, int *flag, MPI_Status *status))
MPI_FN(int, Test_cancelled, (const MPI_Status *status, int *flag))
MPI_FN(int, Testall, (int count, MPI_Request array_of_requests[], int *flag, MPI_Status
       *array_of_statuses))
MPI_FN(int, Testany, (int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status
       *status))
MPI_FN(int, Testsome, (int incount, MPI_Request array_of_requests[], int *outcount, int
       array_of_indices[], MPI_Status *array_of_statuses))
MPI_FN(int, Type_commit, (MPI_Datatype *datatype))
MPI_NO(int, Type_create_f90_complex, (int p, int r, MPI_Datatype *newtype))
MPI_NO(int, Type_create_f90_integer, (int r, MPI_Datatype *newtype))
MPI_NO(int, Type_create_f90_real, (int p, int r, MPI_Datatype *newtype))
MPI_FN(int, Type_create_keyval, (MPI_Type_copy_attr_function *type_copy_attr_fn,
       MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval, void *extra_state))
MPI_FN(int, Type_delete_attr, (MPI_Datatype datatype, int type_keyval))
MPI_FN(int, Type_dup, (MPI_Datatype oldtype, MPI_Datatype *newtype))
MPI_FN(int, Type_free, (MPI_Datatype *datatype))
MPI_FN(int, Type_free_keyval, (int *type_keyval))
MPI_FN(MPI_Datatype, Type_fromint, (int datatype))
MPI_FN(int, Type_get_attr, (MPI_Datatype datatype, int type_keyval, void *attribute_val, int *flag))
MPI_FN(int, Type_get_contents, (MPI_Datatype datatype, int max_integers, int max_addresses, int
       max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[], MPI_Datatype
       array_of_datatypes[]))
MPI_FN(int, Type_get_contents_c, (MPI_Datatype datatype, MPI_Count max_integers, MPI_Count
       max_addresses, MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
       MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[], MPI_Datatype
       array_of_datatypes[]))
MPI_FN(int, Type_get_envelope, (MPI_Datatype datatype, int *num_integers, int *num_addresses, int
       *num_datatypes, int *combiner))
MPI_FN(int, Type_get_envelope_c, (MPI_Datatype datatype, MPI_Count *num_integers, MPI_Count
       *num_addresses, MPI_Count *num_large_counts, MPI_Count *num_datatypes, int *combiner))
MPI_FN(int, Type_get_extent_x, (MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent))
MPI_FN(int, Type_get_name, (MPI_Datatype datatype, char *type_name, int *resultlen))
MPI_FN(int, Type_get_true_extent_x, (MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count
       *true_extent))
MPI_FN(int, Type_get_value_index, (MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype
       *pair_type))
MPI_FN(int, Type_match_size, (int typeclass, int size, MPI_Datatype *datatype))
MPI_FN(int, Type_set_attr, (MPI_Datatype datatype, int type_keyval, void *attribute_val))
MPI_FN(int, Type_set_name, (MPI_Datatype datatype, const char *type_name))
MPI_FN(int, Type_size_x, (MPI_Datatype datatype, MPI_Count *size))
MPI_FN(int, Type_toint, (MPI_Datatype datatype))
MPI_FN(int, Wait, (MPI_Request *request, MPI_Status *status))
MPI_FN(int, Waitall, (int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses))
MPI_FN(int, Waitany, (int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status))
MPI_FN(int, Waitsome, (int incount, MPI_Request array_of_requests[], int *outcount, int
       array_of_indices[], MPI_Status *array_of_statuses))
MPI_NO(int, Win_attach, (MPI_Win win, void *base, MPI_Aint size))
MPI_FN(int, Win_call_errhandler, (MPI_Win win, int errorcode))
MPI_NO(int, Win_complete, (MPI_Win win))
MPI_NO(int, Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win))
MPI_FN(int, Win_create_errhandler, (MPI_Win_errhandler_function *win_errhandler_fn, MPI_Errhandler
       *errhandler))
MPI_NO(int, Win_create_keyval, (MPI_Win_copy_attr_function *win_copy_attr_fn,
       MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval, void *extra_state))
MPI_NO(int, Win_delete_attr, (MPI_Win win, int win_keyval))
MPI_NO(int, Win_detach, (MPI_Win win, const void *base))
MPI_NO(int, Win_fence, (int assert, MPI_Win win))
MPI_NO(int, Win_flush, (int rank, MPI_Win win))
MPI_NO(int, Win_flush_all, (MPI_Win win))
MPI_NO(int, Win_flush_local, (int rank, MPI_Win win))
MPI_NO(int, Win_flush_local_all, (MPI_Win win))
MPI_NO(int, Win_free, (MPI_Win *win))
MPI_NO(int, Win_free_keyval, (int *win_keyval))
MPI_FN(MPI_Win, Win_fromint, (int win))
MPI_NO(int, Win_get_attr, (MPI_Win win, int win_keyval, void *attribute_val, int *flag))
MPI_FN(int, Win_get_errhandler, (MPI_Win win, MPI_Errhandler *errhandler))
MPI_NO(int, Win_get_group, (MPI_Win win, MPI_Group *group))
MPI_NO(int, Win_get_info, (MPI_Win win, MPI_Info *info_used))
MPI_NO(int, Win_get_name, (MPI_Win win, char *win_name, int *resultlen))
MPI_NO(int, Win_lock, (int lock_type, int rank, int assert, MPI_Win win))
MPI_NO(int, Win_lock_all, (int assert, MPI_Win win))
MPI_NO(int, Win_post, (MPI_Group group, int assert, MPI_Win win))
MPI_NO(int, Win_set_attr, (MPI_Win win, int win_keyval, void *attribute_val))
MPI_FN(int, Win_set_errhandler, (MPI_Win win, MPI_Errhandler errhandler))
MPI_NO(int, Win_set_info, (MPI_Win win, MPI_Info info))
MPI_NO(int, Win_set_name, (MPI_Win win, const char *win_name))
MPI_NO(int, Win_start, (MPI_Group group, int assert, MPI_Win win))
MPI_NO(int, Win_sync, (MPI_Win win))
MPI_NO(int, Win_test, (MPI_Win win, int *flag))
MPI_FN(int, Win_toint, (MPI_Win win))
MPI_NO(int, Win_unlock, (int rank, MPI_Win win))
MPI_NO(int, Win_unlock_all, (MPI_Win win))
MPI_NO(int, Win_wait, (MPI_Win win))
