/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* As mpi_calls.h: files, and tools (MPI_T). */
/* clang-format off */
MPI_FN(int, File_call_errhandler, (MPI_File fh, int errorcode))
MPI_NO(int, File_close, (MPI_File *fh))
MPI_FN(int, File_create_errhandler, (MPI_File_errhandler_function *file_errhandler_fn,
       MPI_Errhandler *errhandler))
MPI_NO(int, File_delete, (const char *filename, MPI_Info info))
MPI_FN(MPI_File, File_fromint, (int file))
MPI_NO(int, File_get_amode, (MPI_File fh, int *amode))
MPI_NO(int, File_get_atomicity, (MPI_File fh, int *flag))
MPI_NO(int, File_get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset *disp))
MPI_FN(int, File_get_errhandler, (MPI_File file, MPI_Errhandler *errhandler))
MPI_NO(int, File_get_group, (MPI_File fh, MPI_Group *group))
MPI_NO(int, File_get_info, (MPI_File fh, MPI_Info *info_used))
MPI_NO(int, File_get_position, (MPI_File fh, MPI_Offset *offset))
MPI_NO(int, File_get_position_shared, (MPI_File fh, MPI_Offset *offset))
MPI_NO(int, File_get_size, (MPI_File fh, MPI_Offset *size))
MPI_NO(int, File_get_view, (MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype
       *filetype, char *datarep))
MPI_NO(int, File_open, (MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File
       *fh))
MPI_NO(int, File_preallocate, (MPI_File fh, MPI_Offset size))
MPI_NO(int, File_read_all_end, (MPI_File fh, void *buf, MPI_Status *status))
MPI_NO(int, File_read_at_all_end, (MPI_File fh, void *buf, MPI_Status *status))
MPI_NO(int, File_read_ordered_end, (MPI_File fh, void *buf, MPI_Status *status))
MPI_NO(int, File_seek, (MPI_File fh, MPI_Offset offset, int whence))
MPI_NO(int, File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence))
MPI_NO(int, File_set_atomicity, (MPI_File fh, int flag))
MPI_FN(int, File_set_errhandler, (MPI_File file, MPI_Errhandler errhandler))
MPI_NO(int, File_set_info, (MPI_File fh, MPI_Info info))
MPI_NO(int, File_set_size, (MPI_File fh, MPI_Offset size))
MPI_NO(int, File_set_view, (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
       const char *datarep, MPI_Info info))
MPI_NO(int, File_sync, (MPI_File fh))
MPI_FN(int, File_toint, (MPI_File file))
MPI_NO(int, File_write_all_end, (MPI_File fh, const void *buf, MPI_Status *status))
MPI_NO(int, File_write_at_all_end, (MPI_File fh, const void *buf, MPI_Status *status))
MPI_NO(int, File_write_ordered_end, (MPI_File fh, const void *buf, MPI_Status *status))
MPI_NO(int, Register_datarep, (const char *datarep, MPI_Datarep_conversion_function
       *read_conversion_fn, MPI_Datarep_conversion_function *write_conversion_fn,
       MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state))
MPI_NO(int, Register_datarep_c, (const char *datarep, MPI_Datarep_conversion_function_c
       *read_conversion_fn, MPI_Datarep_conversion_function_c *write_conversion_fn,
       MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state))
MPI_NO(int, T_category_changed, (int *update_number))
MPI_NO(int, T_category_get_categories, (int cat_index, int len, int indices[]))
MPI_NO(int, T_category_get_cvars, (int cat_index, int len, int indices[]))
MPI_NO(int, T_category_get_events, (int cat_index, int len, int indices[]))
MPI_NO(int, T_category_get_index, (const char *name, int *cat_index))
MPI_NO(int, T_category_get_info, (int cat_index, char *name, int *name_len, char *desc, int
       *desc_len, int *num_cvars, int *num_pvars, int *num_categories))
MPI_NO(int, T_category_get_num, (int *num_cat))
MPI_NO(int, T_category_get_num_events, (int cat_index, int *num_events))
MPI_NO(int, T_category_get_pvars, (int cat_index, int len, int indices[]))
MPI_NO(int, T_cvar_get_index, (const char *name, int *cvar_index))
MPI_NO(int, T_cvar_get_info, (int cvar_index, char *name, int *name_len, int *verbosity,
       MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int
       *scope))
MPI_NO(int, T_cvar_get_num, (int *num_cvar))
MPI_NO(int, T_cvar_handle_alloc, (int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int
       *count))
MPI_NO(int, T_cvar_handle_free, (MPI_T_cvar_handle *handle))
MPI_NO(int, T_cvar_read, (MPI_T_cvar_handle handle, void *buf))
MPI_NO(int, T_cvar_write, (MPI_T_cvar_handle handle, const void *buf))
MPI_NO(int, T_enum_get_info, (MPI_T_enum enumtype, int *num, char *name, int *name_len))
MPI_NO(int, T_enum_get_item, (MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len))
MPI_NO(int, T_event_callback_get_info, (MPI_T_event_registration event_registration, MPI_T_cb_safety
       cb_safety, MPI_Info *info_used))
MPI_NO(int, T_event_callback_set_info, (MPI_T_event_registration event_registration, MPI_T_cb_safety
       cb_safety, MPI_Info info))
MPI_NO(int, T_event_copy, (MPI_T_event_instance event_instance, void *buffer))
MPI_NO(int, T_event_get_index, (const char *name, int *event_index))
MPI_NO(int, T_event_get_info, (int event_index, char *name, int *name_len, int *verbosity,
       MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[], int *num_elements,
       MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len, int *bind))
MPI_NO(int, T_event_get_num, (int *num_events))
MPI_NO(int, T_event_get_source, (MPI_T_event_instance event_instance, int *source_index))
MPI_NO(int, T_event_get_timestamp, (MPI_T_event_instance event_instance, MPI_Count
       *event_timestamp))
MPI_NO(int, T_event_handle_alloc, (int event_index, void *obj_handle, MPI_Info info,
       MPI_T_event_registration *event_registration))
MPI_NO(int, T_event_handle_free, (MPI_T_event_registration event_registration, void *user_data,
       MPI_T_event_free_cb_function free_cb_function))
MPI_NO(int, T_event_handle_get_info, (MPI_T_event_registration event_registration, MPI_Info
       *info_used))
MPI_NO(int, T_event_handle_set_info, (MPI_T_event_registration event_registration, MPI_Info info))
MPI_NO(int, T_event_read, (MPI_T_event_instance event_instance, int element_index, void *buffer))
MPI_NO(int, T_event_register_callback, (MPI_T_event_registration event_registration, MPI_T_cb_safety
       cb_safety, MPI_Info info, void *user_data, MPI_T_event_cb_function event_cb_function))
MPI_NO(int, T_event_set_dropped_handler, (MPI_T_event_registration event_registration,
       MPI_T_event_dropped_cb_function dropped_cb_function))
MPI_NO(int, T_finalize, (void))
MPI_NO(int, T_init_thread, (int required, int *provided))
MPI_NO(int, T_pvar_get_index, (const char *name, int var_class, int *pvar_index))
MPI_NO(int, T_pvar_get_info, (int pvar_index, char *name, int *name_len, int *verbosity, int
       *var_class, MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int
       *bind, int *readonly, int *continuous, int *atomic))
MPI_NO(int, T_pvar_get_num, (int *num_pvar))
MPI_NO(int, T_pvar_handle_alloc, (MPI_T_pvar_session session, int pvar_index, void *obj_handle,
       MPI_T_pvar_handle *handle, int *count))
MPI_NO(int, T_pvar_handle_free, (MPI_T_pvar_session session, MPI_T_pvar_handle *handle))
MPI_NO(int, T_pvar_read, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf))
MPI_NO(int, T_pvar_readreset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf))
MPI_NO(int, T_pvar_reset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
MPI_NO(int, T_pvar_session_create, (MPI_T_pvar_session *session))
MPI_NO(int, T_pvar_session_free, (MPI_T_pvar_session *session))
MPI_NO(int, T_pvar_start, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
MPI_NO(int, T_pvar_stop, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
MPI_NO(int, T_pvar_write, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf))
MPI_NO(int, T_source_get_info, (int source_index, char *name, int *name_len, char *desc, int
       *desc_len, MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks,
       MPI_Info *info))
MPI_NO(int, T_source_get_num, (int *num_sources))
MPI_NO(int, T_source_get_timestamp, (int source_index, MPI_Count *timestamp))
