/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Every function of the interface, a line each, in four files: MPI_FN(type, name, parameters) where
 * it works, MPI_NO where it returns MPI_ERR_UNSUPPORTED_OPERATION. mpi.h makes declarations of the
 * lines, unsupported.c functions. This file: start and end, errors, info, groups, communicators,
 * topologies, attributes.
 */
/* clang-format off */
MPI_NO(int, Abi_get_fortran_booleans, (int logical_size, void *logical_true, void *logical_false,
       int *is_set))
MPI_NO(int, Abi_get_fortran_info, (MPI_Info *info))
MPI_FN(int, Abi_get_info, (MPI_Info *info))
MPI_FN(int, Abi_get_version, (int *abi_major, int *abi_minor))
MPI_NO(int, Abi_set_fortran_booleans, (int logical_size, void *logical_true, void *logical_false))
MPI_NO(int, Abi_set_fortran_info, (MPI_Info info))
MPI_FN(int, Abort, (MPI_Comm comm, int errorcode))
MPI_FN(int, Add_error_class, (int *errorclass))
MPI_FN(int, Add_error_code, (int errorclass, int *errorcode))
MPI_FN(int, Add_error_string, (int errorcode, const char *string))
MPI_FN(MPI_Aint, Aint_add, (MPI_Aint base, MPI_Aint disp))
MPI_FN(MPI_Aint, Aint_diff, (MPI_Aint addr1, MPI_Aint addr2))
MPI_FN(int, Alloc_mem, (MPI_Aint size, MPI_Info info, void *baseptr))
MPI_FN(int, Attr_delete, (MPI_Comm comm, int keyval))
MPI_FN(int, Attr_get, (MPI_Comm comm, int keyval, void *attribute_val, int *flag))
MPI_FN(int, Attr_put, (MPI_Comm comm, int keyval, void *attribute_val))
MPI_FN(int, Cart_coords, (MPI_Comm comm, int rank, int maxdims, int coords[]))
MPI_FN(int, Cart_create, (MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int
       reorder, MPI_Comm *comm_cart))
MPI_FN(int, Cart_get, (MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]))
MPI_FN(int, Cart_map, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int
       *newrank))
MPI_FN(int, Cart_rank, (MPI_Comm comm, const int coords[], int *rank))
MPI_FN(int, Cart_shift, (MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest))
MPI_FN(int, Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm))
MPI_FN(int, Cartdim_get, (MPI_Comm comm, int *ndims))
MPI_NO(int, Close_port, (const char *port_name))
MPI_NO(int, Comm_accept, (const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm
       *newcomm))
MPI_FN(int, Comm_call_errhandler, (MPI_Comm comm, int errorcode))
MPI_FN(int, Comm_compare, (MPI_Comm comm1, MPI_Comm comm2, int *result))
MPI_NO(int, Comm_connect, (const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm
       *newcomm))
MPI_FN(int, Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm))
MPI_FN(int, Comm_create_errhandler, (MPI_Comm_errhandler_function *comm_errhandler_fn,
       MPI_Errhandler *errhandler))
MPI_FN(int, Comm_create_from_group, (MPI_Group group, const char *stringtag, MPI_Info info,
       MPI_Errhandler errhandler, MPI_Comm *newcomm))
MPI_FN(int, Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm))
MPI_FN(int, Comm_create_keyval, (MPI_Comm_copy_attr_function *comm_copy_attr_fn,
       MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval, void *extra_state))
MPI_FN(int, Comm_delete_attr, (MPI_Comm comm, int comm_keyval))
MPI_FN(int, Comm_disconnect, (MPI_Comm *comm))
MPI_FN(int, Comm_dup, (MPI_Comm comm, MPI_Comm *newcomm))
MPI_FN(int, Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm))
MPI_FN(int, Comm_flush_buffer, (MPI_Comm comm))
MPI_FN(int, Comm_free, (MPI_Comm *comm))
MPI_FN(int, Comm_free_keyval, (int *comm_keyval))
MPI_FN(MPI_Comm, Comm_fromint, (int comm))
MPI_FN(int, Comm_get_attr, (MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag))
MPI_FN(int, Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler *errhandler))
MPI_FN(int, Comm_get_info, (MPI_Comm comm, MPI_Info *info_used))
MPI_FN(int, Comm_get_name, (MPI_Comm comm, char *comm_name, int *resultlen))
MPI_FN(int, Comm_get_parent, (MPI_Comm *parent))
MPI_FN(int, Comm_group, (MPI_Comm comm, MPI_Group *group))
MPI_NO(int, Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request))
MPI_NO(int, Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request
       *request))
MPI_NO(int, Comm_iflush_buffer, (MPI_Comm comm, MPI_Request *request))
MPI_NO(int, Comm_join, (int fd, MPI_Comm *intercomm))
MPI_FN(int, Comm_rank, (MPI_Comm comm, int *rank))
MPI_FN(int, Comm_remote_group, (MPI_Comm comm, MPI_Group *group))
MPI_FN(int, Comm_remote_size, (MPI_Comm comm, int *size))
MPI_FN(int, Comm_set_attr, (MPI_Comm comm, int comm_keyval, void *attribute_val))
MPI_FN(int, Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler errhandler))
MPI_FN(int, Comm_set_info, (MPI_Comm comm, MPI_Info info))
MPI_FN(int, Comm_set_name, (MPI_Comm comm, const char *comm_name))
MPI_FN(int, Comm_size, (MPI_Comm comm, int *size))
MPI_NO(int, Comm_spawn, (const char *command, char *argv[], int maxprocs, MPI_Info info, int root,
       MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]))
MPI_NO(int, Comm_spawn_multiple, (int count, char *array_of_commands[], char **array_of_argv[],
       const int array_of_maxprocs[], const MPI_Info array_of_info[], int root, MPI_Comm comm,
       MPI_Comm *intercomm, int array_of_errcodes[]))
MPI_FN(int, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *newcomm))
MPI_FN(int, Comm_split_type, (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm
       *newcomm))
MPI_FN(int, Comm_test_inter, (MPI_Comm comm, int *flag))
MPI_FN(int, Comm_toint, (MPI_Comm comm))
MPI_FN(int, Dims_create, (int nnodes, int ndims, int dims[]))
MPI_NO(int, Dist_graph_create, (MPI_Comm comm_old, int n, const int sources[], const int degrees[],
       const int destinations[], const int *weights, MPI_Info info, int reorder, MPI_Comm
       *comm_dist_graph))
MPI_NO(int, Dist_graph_create_adjacent, (MPI_Comm comm_old, int indegree, const int sources[], const
       int *sourceweights, int outdegree, const int destinations[], const int *destweights, MPI_Info
       info, int reorder, MPI_Comm *comm_dist_graph))
MPI_NO(int, Dist_graph_neighbors, (MPI_Comm comm, int maxindegree, int sources[], int
       *sourceweights, int maxoutdegree, int destinations[], int *destweights))
MPI_NO(int, Dist_graph_neighbors_count, (MPI_Comm comm, int *indegree, int *outdegree, int
       *weighted))
MPI_FN(int, Errhandler_free, (MPI_Errhandler *errhandler))
MPI_FN(MPI_Errhandler, Errhandler_fromint, (int errhandler))
MPI_FN(int, Errhandler_toint, (MPI_Errhandler errhandler))
MPI_FN(int, Error_class, (int errorcode, int *errorclass))
MPI_FN(int, Error_string, (int errorcode, char *string, int *resultlen))
MPI_FN(int, Finalize, (void))
MPI_FN(int, Finalized, (int *flag))
MPI_FN(int, Free_mem, (void *base))
MPI_FN(int, Get_address, (const void *location, MPI_Aint *address))
MPI_FN(int, Get_hw_resource_info, (MPI_Info *hw_info))
MPI_FN(int, Get_library_version, (char *version, int *resultlen))
MPI_FN(int, Get_processor_name, (char *name, int *resultlen))
MPI_FN(int, Get_version, (int *version, int *subversion))
MPI_NO(int, Graph_create, (MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int
       reorder, MPI_Comm *comm_graph))
MPI_NO(int, Graph_get, (MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[]))
MPI_NO(int, Graph_map, (MPI_Comm comm, int nnodes, const int indx[], const int edges[], int
       *newrank))
MPI_NO(int, Graph_neighbors, (MPI_Comm comm, int rank, int maxneighbors, int neighbors[]))
MPI_NO(int, Graph_neighbors_count, (MPI_Comm comm, int rank, int *nneighbors))
MPI_NO(int, Graphdims_get, (MPI_Comm comm, int *nnodes, int *nedges))
MPI_FN(int, Group_compare, (MPI_Group group1, MPI_Group group2, int *result))
MPI_FN(int, Group_difference, (MPI_Group group1, MPI_Group group2, MPI_Group *newgroup))
MPI_FN(int, Group_excl, (MPI_Group group, int n, const int ranks[], MPI_Group *newgroup))
MPI_FN(int, Group_free, (MPI_Group *group))
MPI_FN(int, Group_from_session_pset, (MPI_Session session, const char *pset_name, MPI_Group
       *newgroup))
MPI_FN(MPI_Group, Group_fromint, (int group))
MPI_FN(int, Group_incl, (MPI_Group group, int n, const int ranks[], MPI_Group *newgroup))
MPI_FN(int, Group_intersection, (MPI_Group group1, MPI_Group group2, MPI_Group *newgroup))
MPI_FN(int, Group_range_excl, (MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup))
MPI_FN(int, Group_range_incl, (MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup))
MPI_FN(int, Group_rank, (MPI_Group group, int *rank))
MPI_FN(int, Group_size, (MPI_Group group, int *size))
MPI_FN(int, Group_toint, (MPI_Group group))
MPI_FN(int, Group_translate_ranks, (MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
       int ranks2[]))
MPI_FN(int, Group_union, (MPI_Group group1, MPI_Group group2, MPI_Group *newgroup))
MPI_FN(int, Info_create, (MPI_Info *info))
MPI_FN(int, Info_create_env, (int argc, char *argv[], MPI_Info *info))
MPI_FN(int, Info_delete, (MPI_Info info, const char *key))
MPI_FN(int, Info_dup, (MPI_Info info, MPI_Info *newinfo))
MPI_FN(int, Info_free, (MPI_Info *info))
MPI_FN(MPI_Info, Info_fromint, (int info))
MPI_FN(int, Info_get, (MPI_Info info, const char *key, int valuelen, char *value, int *flag))
MPI_FN(int, Info_get_nkeys, (MPI_Info info, int *nkeys))
MPI_FN(int, Info_get_nthkey, (MPI_Info info, int n, char *key))
MPI_FN(int, Info_get_string, (MPI_Info info, const char *key, int *buflen, char *value, int *flag))
MPI_FN(int, Info_get_valuelen, (MPI_Info info, const char *key, int *valuelen, int *flag))
MPI_FN(int, Info_set, (MPI_Info info, const char *key, const char *value))
MPI_FN(int, Info_toint, (MPI_Info info))
MPI_FN(int, Init, (int *argc, char ***argv))
MPI_FN(int, Init_thread, (int *argc, char ***argv, int required, int *provided))
MPI_FN(int, Initialized, (int *flag))
MPI_NO(int, Intercomm_create, (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int
       remote_leader, int tag, MPI_Comm *newintercomm))
MPI_NO(int, Intercomm_create_from_groups, (MPI_Group local_group, int local_leader, MPI_Group
       remote_group, int remote_leader, const char *stringtag, MPI_Info info, MPI_Errhandler
       errhandler, MPI_Comm *newintercomm))
MPI_NO(int, Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm *newintracomm))
MPI_FN(int, Is_thread_main, (int *flag))
MPI_FN(int, Keyval_create, (MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval,
       void *extra_state))
MPI_FN(int, Keyval_free, (int *keyval))
MPI_NO(int, Lookup_name, (const char *service_name, MPI_Info info, char *port_name))
MPI_NO(int, Open_port, (MPI_Info info, char *port_name))
MPI_FN(int, Pcontrol, (const int level, ...))
MPI_NO(int, Publish_name, (const char *service_name, MPI_Info info, const char *port_name))
MPI_FN(int, Query_thread, (int *provided))
MPI_FN(int, Remove_error_class, (int errorclass))
MPI_FN(int, Remove_error_code, (int errorcode))
MPI_FN(int, Remove_error_string, (int errorcode))
MPI_FN(int, Session_call_errhandler, (MPI_Session session, int errorcode))
MPI_FN(int, Session_create_errhandler, (MPI_Session_errhandler_function *session_errhandler_fn,
       MPI_Errhandler *errhandler))
MPI_FN(int, Session_finalize, (MPI_Session *session))
MPI_NO(int, Session_flush_buffer, (MPI_Session session))
MPI_FN(MPI_Session, Session_fromint, (int session))
MPI_FN(int, Session_get_errhandler, (MPI_Session session, MPI_Errhandler *errhandler))
MPI_FN(int, Session_get_info, (MPI_Session session, MPI_Info *info_used))
MPI_FN(int, Session_get_nth_pset, (MPI_Session session, MPI_Info info, int n, int *pset_len, char
       *pset_name))
MPI_FN(int, Session_get_num_psets, (MPI_Session session, MPI_Info info, int *npset_names))
MPI_FN(int, Session_get_pset_info, (MPI_Session session, const char *pset_name, MPI_Info *info))
MPI_NO(int, Session_iflush_buffer, (MPI_Session session, MPI_Request *request))
MPI_FN(int, Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session))
MPI_FN(int, Session_set_errhandler, (MPI_Session session, MPI_Errhandler errhandler))
MPI_FN(int, Session_toint, (MPI_Session session))
MPI_FN(int, Topo_test, (MPI_Comm comm, int *status))
MPI_NO(int, Unpublish_name, (const char *service_name, MPI_Info info, const char *port_name))
MPI_FN(double, Wtick, (void))
MPI_FN(double, Wtime, (void))
