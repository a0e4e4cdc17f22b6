# Multi-process tests: programs (linked with the shared library) and their case files.
EXTRA_DIST += %D%/mp.h %D%/nomem.h

# rt: start-up is tested below the public interface, so these are linked with the archive
MP_PROGS += %D%/rt_start %D%/rt_edges
%C%_rt_start_LDADD = libmcomm_all.la
%C%_rt_edges_LDADD = libmcomm_all.la
MP_CASES += %D%/rt_start.mp %D%/rt_start_pmix.mp %D%/rt_again.mp %D%/rt_again_pmix.mp %D%/rt_detach.mp \
	%D%/rt_missing.mp %D%/rt_missing_pmix.mp %D%/rt_stopped.mp %D%/rt_stopped_pmix.mp \
	%D%/rt_go_stopped.mp %D%/rt_go_killed.mp %D%/rt_abort.mp %D%/rt_abort_pmix.mp %D%/rt_death_told.mp %D%/rt_death_untold.mp \
	%D%/rt_64.mp %D%/rt_64_pmix.mp %D%/rt_torchrun.mp %D%/rt_intruders.mp %D%/rt_edges.mp
SCRIPT_TESTS += %D%/rt_launcher_lost.sh

# core: communicators, start and end
MP_PROGS += %D%/comm %D%/init
MP_CASES += %D%/comm_dup.mp %D%/comm_split.mp %D%/comm_node.mp %D%/comm_node2.mp %D%/comm_node3.mp \
	%D%/comm_many.mp %D%/comm_group.mp %D%/comm_threads.mp %D%/comm_oob.mp %D%/comm_limit.mp
MP_CASES += %D%/init_cycles.mp %D%/init_cycles_alone.mp %D%/init_counted.mp %D%/init_fork.mp \
	%D%/init_attr.mp %D%/init_leaks.mp
MP_PROGS += %D%/start_fails %D%/init_signals
MP_CASES += %D%/init_signals.mp
MP_CASES += %D%/start_fails.mp %D%/start_fails_pmix.mp
MP_PROGS += %D%/comm_nomem
MP_CASES += %D%/comm_nomem.mp
MP_PROGS += %D%/pt2pt_nomem
%C%_pt2pt_nomem_LDADD = $(UNIT_LDADD)
MP_CASES += %D%/pt2pt_nomem.mp %D%/pt2pt_nomem_first.mp
MP_PROGS += %D%/shm_nomem %D%/shm_crowd
%C%_shm_crowd_LDADD = $(LDADD) -lpthread
MP_CASES += %D%/shm_nomem.mp %D%/shm_crowd.mp
MP_PROGS += %D%/comm_death
MP_CASES += %D%/comm_death_fresh.mp %D%/comm_death_talked.mp %D%/comm_death_inside.mp \
	%D%/comm_death_root.mp %D%/comm_death_last.mp

# fault
MP_PROGS += %D%/comm_revoke
%C%_comm_revoke_LDADD = $(LDADD) -lpthread
MP_CASES += %D%/comm_revoke.mp %D%/comm_revoke_death.mp %D%/comm_revoke_stopped.mp

# coll
MP_PROGS += %D%/coll_wrap
%C%_coll_wrap_LDADD = $(UNIT_LDADD)
MP_CASES += %D%/coll_earlier.mp %D%/coll_wrap.mp %D%/coll_wrap_check.mp
MP_PROGS += %D%/coll_all %D%/coll_op %D%/coll_huge
%C%_coll_all_SOURCES = %D%/coll_all.c %D%/coll_trial.c %D%/coll_trial_draw.c \
	%D%/coll_trial_value.c %D%/coll_trial.h $(FOLD_ORACLE)
%C%_coll_all_LDADD = $(LDADD) -lm -lpthread
MP_CASES += %D%/coll_all.mp %D%/coll_all_nodes.mp %D%/coll_all_pmix.mp %D%/coll_all_leaders.mp \
	%D%/coll_all_any_length.mp %D%/coll_all_check.mp %D%/coll_all_threads.mp %D%/coll_all_long.mp \
	%D%/coll_all_threads_long.mp %D%/coll_rules.mp %D%/coll_far_leaders.mp \
	%D%/coll_far_slices.mp %D%/coll_far_check.mp %D%/coll_op.mp %D%/coll_huge.mp \
	%D%/coll_huge_long.mp
MP_PROGS += %D%/coll_wide
%C%_coll_wide_LDADD = $(LDADD) -lm
MP_CASES += %D%/coll_wide.mp %D%/coll_wide_messages.mp %D%/coll_wide_leaders.mp
MP_PROGS += %D%/coll_result %D%/coll_mismatch %D%/coll_wrong %D%/coll_split
MP_CASES += %D%/coll_bits.mp %D%/coll_truth.mp %D%/coll_deterministic.mp %D%/coll_deterministic_env.mp %D%/coll_mismatch.mp \
	%D%/coll_wrong.mp %D%/coll_split.mp
MP_PROGS += %D%/coll_death %D%/coll_kill %D%/coll_leave
MP_CASES += %D%/coll_death2.mp %D%/coll_death3.mp %D%/coll_death4.mp %D%/coll_death7.mp \
	%D%/coll_death_amid4.mp %D%/coll_death_amid7.mp %D%/coll_death_stages4.mp \
	%D%/coll_death_stages7.mp %D%/coll_death_slices4.mp %D%/coll_death_slices6.mp \
	%D%/coll_timeout.mp %D%/coll_kill_blocking4.mp %D%/coll_kill_blocking7.mp \
	%D%/coll_kill_nonblocking4.mp %D%/coll_kill_nonblocking7.mp \
	%D%/coll_kill_persistent4.mp %D%/coll_kill_persistent7.mp %D%/coll_kill_long.mp %D%/coll_kill_all.mp \
	%D%/coll_far_kill_blocking4.mp %D%/coll_far_kill_blocking7.mp \
	%D%/coll_far_kill_nonblocking4.mp %D%/coll_far_kill_nonblocking7.mp \
	%D%/coll_far_kill_leader4.mp %D%/coll_far_kill_leader6.mp \
	%D%/coll_far_kill_persistent4.mp %D%/coll_far_kill_persistent6.mp \
	%D%/coll_leave_done.mp %D%/coll_leave_given_up.mp %D%/coll_leave_never_first.mp \
	%D%/coll_leave_never_later.mp
MP_PROGS += %D%/coll_nothing
MP_CASES += %D%/coll_nothing.mp
MP_PROGS += %D%/coll_storm %D%/coll_calls %D%/coll_memory %D%/coll_full %D%/coll_ahead %D%/coll_nomem
MP_CASES += %D%/coll_ahead.mp %D%/coll_ahead_no_shm.mp
EXTRA_DIST += %D%/coll_check.h %D%/coll_kinds.h
%C%_coll_calls_LDADD = $(LDADD) -lpthread
MP_CASES += %D%/coll_full.mp %D%/coll_storm2.mp %D%/coll_storm4.mp %D%/coll_storm7.mp %D%/coll_storm_nodes.mp \
	%D%/coll_storm_long.mp %D%/coll_threads.mp %D%/coll_outstanding.mp %D%/coll_freed.mp \
	%D%/coll_finalized.mp %D%/coll_cancel.mp %D%/coll_computes.mp %D%/coll_wait_limit.mp %D%/coll_idle.mp \
	%D%/coll_memory.mp %D%/coll_many.mp %D%/coll_no_shm.mp %D%/coll_nomem.mp \
	%D%/coll_all_many.mp %D%/coll_all_no_cma.mp %D%/coll_all_no_shm.mp %D%/coll_all_one_cpu.mp %D%/coll_all_small_shm.mp

# rma
MP_PROGS += %D%/rma
MP_CASES += %D%/rma_random_allocate.mp %D%/rma_random_create.mp %D%/rma_random_dynamic.mp \
	%D%/rma_kill_all.mp %D%/rma_random_nocma.mp %D%/rma_random_cma_off.mp %D%/rma_random_noshm.mp %D%/rma_atomics_allocate.mp \
	%D%/rma_atomics_create.mp %D%/rma_atomics_dynamic.mp %D%/rma_refused.mp
EXTRA_DIST += %D%/rma_window.h
MP_PROGS += %D%/rma_kill
MP_CASES += %D%/rma_kill.mp
MP_PROGS += %D%/rma_lock %D%/rma_epoch %D%/rma_signal %D%/rma_target %D%/rma_windows %D%/rma_threads
%C%_rma_threads_LDADD = $(LDADD) -lpthread
%C%_rma_target_LDADD = $(LDADD) -lpthread
MP_CASES += %D%/rma_lock.mp %D%/rma_lock_user.mp %D%/rma_lock_death2.mp %D%/rma_lock_death3.mp %D%/rma_pscw_death.mp \
	%D%/rma_lock_death4.mp %D%/rma_pscw.mp %D%/rma_signal.mp %D%/rma_signal_user.mp \
	%D%/rma_signal_death2.mp %D%/rma_signal_death3.mp %D%/rma_signal_death4.mp \
	%D%/rma_passive.mp %D%/rma_passive_user.mp %D%/rma_death2.mp %D%/rma_death3.mp \
	%D%/rma_death4.mp %D%/rma_death_user2.mp %D%/rma_death_user3.mp %D%/rma_death_user4.mp \
	%D%/rma_stopped.mp %D%/rma_stopped_user.mp %D%/rma_applied.mp %D%/rma_applied_user.mp \
	%D%/rma_threads.mp %D%/rma_threads_user.mp %D%/rma_attach.mp %D%/rma_again.mp \
	%D%/rma_again_user.mp %D%/rma_whole.mp %D%/rma_agreed.mp \
	%D%/rma_signal_death_threads.mp %D%/rma_stopped_first.mp %D%/rma_stopped_threads.mp \
	%D%/rma_edges.mp %D%/rma_edges_user.mp %D%/rma_lanes.mp
%C%_rma_signal_LDADD = libmcomm_all.la -lpthread

MP_PROGS += %D%/rma_huge
MP_CASES += %D%/rma_huge.mp

# pt2pt
MP_PROGS += %D%/pt2pt_random %D%/pt2pt_calls
EXTRA_DIST += %D%/pt2pt_check.h
MP_CASES += %D%/pt2pt_random.mp %D%/pt2pt_settings.mp %D%/pt2pt_calls.mp
MP_PROGS += %D%/pt2pt_flow %D%/pt2pt_threads %D%/pt2pt_death %D%/pt2pt_timeout
%C%_pt2pt_threads_LDADD = $(LDADD) -lpthread
MP_CASES += %D%/pt2pt_credit.mp %D%/pt2pt_many.mp %D%/pt2pt_probe.mp %D%/pt2pt_huge.mp %D%/pt2pt_fair.mp %D%/pt2pt_torchrun.mp %D%/pt2pt_kill_all.mp \
	%D%/pt2pt_threads.mp %D%/pt2pt_timeout.mp
MP_CASES += %D%/pt2pt_death_recv.mp %D%/pt2pt_death_send.mp %D%/pt2pt_death_ssend.mp \
	%D%/pt2pt_death_stream.mp %D%/pt2pt_death_waitany.mp %D%/pt2pt_death_any.mp \
	%D%/pt2pt_death_before.mp %D%/pt2pt_death_sent.mp %D%/pt2pt_death_middle.mp

# the tcp rail under the layers above it
MP_PROGS += %D%/pt2pt_stopped %D%/pt2pt_forked
MP_CASES += %D%/pt2pt_stopped.mp %D%/pt2pt_forked.mp
MP_CASES += %D%/tcp_hosts.mp %D%/tcp_only.mp %D%/tcp_only_rma.mp

# kvobj
MP_PROGS += %D%/kv %D%/kv_calls %D%/kv_death %D%/kv_far %D%/kv_stopped
MP_CASES += %D%/kv_stopped.mp %D%/kv_stopped_close.mp
EXTRA_DIST += %D%/kv_check.h
%C%_kv_death_LDADD = $(LDADD) -lrt
%C%_kv_far_LDADD = $(LDADD) -lpthread -lrt
MP_CASES += %D%/kv_random.mp %D%/kv_pressure.mp %D%/kv_race.mp %D%/kv_modes.mp %D%/kv_args.mp \
	%D%/kv_large.mp %D%/kv_kill_all.mp %D%/kv_tiny.mp %D%/kv_tiny2.mp %D%/kv_probed.mp %D%/kv_full.mp \
	%D%/kv_far_oracle.mp %D%/kv_far_stack.mp %D%/kv_far_hot.mp %D%/kv_far_death.mp \
	%D%/kv_subset.mp %D%/kv_storm.mp %D%/kv_slow.mp %D%/kv_slow_far.mp \
	%D%/kv_views.mp %D%/kv_many.mp %D%/kv_death2.mp %D%/kv_death4.mp %D%/kv_threads.mp %D%/kv_far_calls.mp

# little of everything
EXTRA_DIST += %D%/args_calls.h
MP_PROGS += %D%/limits %D%/descriptors %D%/args %D%/signals
MP_CASES += %D%/descriptors.mp %D%/descriptors_window.mp
MP_CASES += %D%/args.mp %D%/signals_kept.mp %D%/signals_int.mp %D%/signals_hup.mp
MP_CASES += %D%/limits_shm.mp %D%/limits_as.mp %D%/limits_nofile.mp %D%/limits_nproc.mp
