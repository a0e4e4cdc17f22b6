# Manual pages (mdoc): one page a family, and an alias page for each further function.
dist_man_MANS += \
	%D%/mcomm_accumulate.3 %D%/mcomm_alltoall.3 %D%/mcomm_barrier.3 %D%/mcomm_bcast.3 \
	%D%/mcomm_check.1 %D%/mcomm_comm_dup.3 %D%/mcomm_comm_rank.3 %D%/mcomm_comm_revoke.3 %D%/mcomm_err_text.3 \
	%D%/mcomm_flush.3 %D%/mcomm_gather.3 %D%/mcomm_group_incl.3 %D%/mcomm_info.1 \
	%D%/mcomm_info_create.3 %D%/mcomm_init.3 %D%/mcomm_kv_acquire.3 %D%/mcomm_kv_open.3 \
	%D%/mcomm_kv_put.3 %D%/mcomm_op_create.3 %D%/mcomm_peer_query.3 %D%/mcomm_perf.1 %D%/mcomm_perf_report.1 \
	%D%/mcomm_probe.3 %D%/mcomm_put.3 %D%/mcomm_put_signal.3 %D%/mcomm_recv.3 %D%/mcomm_reduce.3 \
	%D%/mcomm_scan.3 %D%/mcomm_send.3 %D%/mcomm_setting_get.3 %D%/mcomm_trace.1 %D%/mcomm_wait.3 \
	%D%/mcomm_win_allocate.3 %D%/mooncake_comm.7 %D%/mcomm_mpi.7 %D%/mcomm_mpicc.1 \
	%D%/mcomm_mpicxx.1 %D%/mcomm_mpirun.1
dist_man_MANS += \
	%D%/mcomm_abort.3 %D%/mcomm_allgather.3 %D%/mcomm_allgather_init.3 %D%/mcomm_allgatherv.3 \
	%D%/mcomm_allgatherv_init.3 %D%/mcomm_allreduce.3 %D%/mcomm_allreduce_init.3 \
	%D%/mcomm_alltoall_init.3 %D%/mcomm_alltoallv.3 %D%/mcomm_alltoallv_init.3 \
	%D%/mcomm_barrier_init.3 %D%/mcomm_bcast_init.3 %D%/mcomm_bootstrap_text.3 \
	%D%/mcomm_build_config.3 %D%/mcomm_cancel.3 %D%/mcomm_coll_text.3 %D%/mcomm_comm_compare.3 \
	%D%/mcomm_comm_create_group.3 %D%/mcomm_comm_create_oob.3 %D%/mcomm_comm_free.3 \
	%D%/mcomm_comm_get_name.3 %D%/mcomm_comm_group.3 %D%/mcomm_comm_node_count.3 \
	%D%/mcomm_comm_self.3 %D%/mcomm_comm_set_name.3 %D%/mcomm_comm_set_timeout.3 %D%/mcomm_comm_is_revoked.3 \
	%D%/mcomm_comm_size.3 %D%/mcomm_comm_split.3 %D%/mcomm_comm_split_node.3 \
	%D%/mcomm_comm_world.3 %D%/mcomm_compare_and_swap.3 %D%/mcomm_datatype_size.3 \
	%D%/mcomm_err_name.3 %D%/mcomm_err_scope.3 %D%/mcomm_exscan.3 %D%/mcomm_exscan_init.3 \
	%D%/mcomm_fetch_and_op.3 %D%/mcomm_finalize.3 %D%/mcomm_flush_all.3 %D%/mcomm_flush_local.3 \
	%D%/mcomm_flush_local_all.3 %D%/mcomm_free.3 %D%/mcomm_gather_init.3 %D%/mcomm_gatherv.3 \
	%D%/mcomm_gatherv_init.3 %D%/mcomm_get.3 %D%/mcomm_get_accumulate.3 %D%/mcomm_get_version.3 \
	%D%/mcomm_getv.3 %D%/mcomm_group_compare.3 %D%/mcomm_group_difference.3 \
	%D%/mcomm_group_excl.3 %D%/mcomm_group_free.3 %D%/mcomm_group_intersection.3 \
	%D%/mcomm_group_rank.3 %D%/mcomm_group_size.3 %D%/mcomm_group_translate.3 \
	%D%/mcomm_group_union.3 %D%/mcomm_iallgather.3 %D%/mcomm_iallgatherv.3 %D%/mcomm_iallreduce.3 \
	%D%/mcomm_ialltoall.3 %D%/mcomm_ialltoallv.3 %D%/mcomm_ibarrier.3 %D%/mcomm_ibcast.3 \
	%D%/mcomm_iexscan.3 %D%/mcomm_igather.3 %D%/mcomm_igatherv.3 %D%/mcomm_improbe.3 \
	%D%/mcomm_imrecv.3 %D%/mcomm_info_free.3 %D%/mcomm_info_get.3 %D%/mcomm_info_set.3 \
	%D%/mcomm_iprobe.3 %D%/mcomm_irecv.3 %D%/mcomm_irecvv.3 %D%/mcomm_ireduce.3 \
	%D%/mcomm_ireduce_scatter.3 %D%/mcomm_ireduce_scatter_block.3 %D%/mcomm_is_initialized.3 \
	%D%/mcomm_iscan.3 %D%/mcomm_iscatter.3 %D%/mcomm_iscatterv.3 %D%/mcomm_isend.3 \
	%D%/mcomm_isendv.3 %D%/mcomm_issend.3 %D%/mcomm_kv_close.3 %D%/mcomm_kv_exists.3 \
	%D%/mcomm_kv_exists_batch.3 %D%/mcomm_kv_get.3 %D%/mcomm_kv_get_batch.3 \
	%D%/mcomm_kv_get_into.3 %D%/mcomm_kv_put_batch.3 %D%/mcomm_kv_release.3 %D%/mcomm_kv_remove.3 \
	%D%/mcomm_kv_remove_batch.3 %D%/mcomm_kv_size.3 %D%/mcomm_kv_stats.3 %D%/mcomm_last_error.3 \
	%D%/mcomm_mprobe.3 %D%/mcomm_mrecv.3 %D%/mcomm_op_free.3 %D%/mcomm_putv.3 \
	%D%/mcomm_rail_count.3 %D%/mcomm_rail_get.3 %D%/mcomm_recv_init.3 %D%/mcomm_reduce_init.3 \
	%D%/mcomm_reduce_local.3 %D%/mcomm_reduce_scatter.3 %D%/mcomm_reduce_scatter_block.3 \
	%D%/mcomm_reduce_scatter_block_init.3 %D%/mcomm_reduce_scatter_init.3 \
	%D%/mcomm_request_free.3 %D%/mcomm_rget.3 %D%/mcomm_rput.3 %D%/mcomm_scan_init.3 \
	%D%/mcomm_scatter.3 %D%/mcomm_scatter_init.3 %D%/mcomm_scatterv.3 %D%/mcomm_scatterv_init.3 \
	%D%/mcomm_send_init.3 %D%/mcomm_sendrecv.3 %D%/mcomm_setting_count.3 %D%/mcomm_ssend.3 \
	%D%/mcomm_ssend_init.3 %D%/mcomm_start.3 %D%/mcomm_startall.3 %D%/mcomm_test.3 \
	%D%/mcomm_testall.3 %D%/mcomm_testany.3 %D%/mcomm_topology_text.3 %D%/mcomm_wait_signal.3 \
	%D%/mcomm_waitall.3 %D%/mcomm_waitany.3 %D%/mcomm_waitsome.3 %D%/mcomm_win_attach.3 \
	%D%/mcomm_win_complete.3 %D%/mcomm_win_create.3 %D%/mcomm_win_create_dynamic.3 \
	%D%/mcomm_win_detach.3 %D%/mcomm_win_fence.3 %D%/mcomm_win_free.3 %D%/mcomm_win_lock.3 \
	%D%/mcomm_win_lock_all.3 %D%/mcomm_win_post.3 %D%/mcomm_win_query.3 \
	%D%/mcomm_win_shared_query.3 %D%/mcomm_win_start.3 %D%/mcomm_win_test.3 \
	%D%/mcomm_win_unlock.3 %D%/mcomm_win_unlock_all.3 %D%/mcomm_win_wait.3 %D%/mcomm_wtime.3

# mcomm_env(7) is made from the table of settings.
nodist_man_MANS = %D%/mcomm_env.7
EXTRA_DIST += %D%/make-env
CLEANFILES += %D%/mcomm_env.7
%D%/mcomm_env.7: %D%/make-env src/base/settings.def
	$(AM_V_GEN)$(MKDIR_P) %D% && $(top_srcdir)/man/make-env $(top_srcdir)/src/base/settings.def >$@
