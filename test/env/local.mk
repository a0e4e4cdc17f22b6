# Surroundings: launchers, a single core, forbidden direct copies, other users, tiny /dev/shm, kills.
MP_CASES += %D%/kill_all.mp %D%/kill_all_messages.mp %D%/launchers_check.mp %D%/launchers_coll.mp \
	%D%/launchers_evictions.mp %D%/launchers_objects.mp \
	%D%/launchers_messages.mp %D%/launchers_windows.mp %D%/launchers_locks.mp %D%/launchers_signals.mp \
	%D%/launchers_dynamic.mp %D%/launchers_refused.mp %D%/many_ranks.mp %D%/no_cma.mp \
	%D%/no_cma_check.mp %D%/no_hwloc.mp %D%/no_shm.mp %D%/one_cpu.mp %D%/one_cpu_rma.mp \
	%D%/one_cpu_trace.mp %D%/other_users.mp %D%/other_users_rma.mp %D%/tiny_shm.mp \
	%D%/tiny_shm_messages.mp
