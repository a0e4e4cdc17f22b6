# Unit tests: per test one line in the list and one that links the archive.
UNIT_TESTS += %D%/test_base_version
%C%_test_base_version_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_base_hash
%C%_test_base_hash_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_base_handle
%C%_test_base_handle_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_base_presence
%C%_test_base_presence_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_base_wait
%C%_test_base_wait_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_base_copy
%C%_test_base_copy_LDADD = $(UNIT_LDADD)

UNIT_TESTS += %D%/test_pt2pt_match
%C%_test_pt2pt_match_LDADD = $(UNIT_LDADD)

UNIT_TESTS += %D%/test_rt_auth %D%/test_rt_addr %D%/test_rt_rdv %D%/test_rt_fuzz %D%/test_rt_select
%C%_test_rt_auth_LDADD = $(UNIT_LDADD)
%C%_test_rt_addr_LDADD = $(UNIT_LDADD)
%C%_test_rt_rdv_LDADD = $(UNIT_LDADD)
%C%_test_rt_fuzz_LDADD = $(UNIT_LDADD)
%C%_test_rt_select_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_rail_shm_pair %D%/test_rail_shm_bulk %D%/test_rail_shm_garbage
UNIT_TESTS += %D%/test_rail_shm_kill %D%/test_rail_shm_meet %D%/test_rail_shm_region
RAIL_SHM_PAIR = %D%/rail_shm_pair.c %D%/rail_shm_pair.h %D%/rail_shm_common.h
%C%_test_rail_shm_pair_SOURCES = %D%/test_rail_shm_pair.c $(RAIL_SHM_PAIR)
%C%_test_rail_shm_pair_LDADD = $(UNIT_LDADD)
%C%_test_rail_shm_bulk_SOURCES = %D%/test_rail_shm_bulk.c $(RAIL_SHM_PAIR)
%C%_test_rail_shm_bulk_LDADD = $(UNIT_LDADD)
%C%_test_rail_shm_garbage_SOURCES = %D%/test_rail_shm_garbage.c $(RAIL_SHM_PAIR)
%C%_test_rail_shm_garbage_LDADD = $(UNIT_LDADD)
RAIL_SHM_KID = %D%/rail_shm_kid.c %D%/rail_shm_kid.h %D%/rail_shm_common.h
%C%_test_rail_shm_kill_SOURCES = %D%/test_rail_shm_kill.c $(RAIL_SHM_KID)
%C%_test_rail_shm_kill_LDADD = $(UNIT_LDADD)
%C%_test_rail_shm_meet_SOURCES = %D%/test_rail_shm_meet.c $(RAIL_SHM_KID)
%C%_test_rail_shm_meet_LDADD = $(UNIT_LDADD)
%C%_test_rail_shm_region_SOURCES = %D%/test_rail_shm_region.c $(RAIL_SHM_KID)
%C%_test_rail_shm_region_LDADD = $(UNIT_LDADD)

RAIL_PAIR = %D%/rail_pair.c %D%/rail_pair.h
UNIT_TESTS += %D%/test_rail_tcp %D%/test_rail_tcp_connect %D%/test_rail_tcp_end
UNIT_TESTS += %D%/test_rail_tcp_fuzz
%C%_test_rail_tcp_SOURCES = %D%/test_rail_tcp.c $(RAIL_PAIR)
%C%_test_rail_tcp_LDADD = $(UNIT_LDADD)
%C%_test_rail_tcp_connect_SOURCES = %D%/test_rail_tcp_connect.c $(RAIL_PAIR)
%C%_test_rail_tcp_connect_LDADD = $(UNIT_LDADD)
%C%_test_rail_tcp_end_SOURCES = %D%/test_rail_tcp_end.c $(RAIL_PAIR)
%C%_test_rail_tcp_end_LDADD = $(UNIT_LDADD)
%C%_test_rail_tcp_fuzz_SOURCES = %D%/test_rail_tcp_fuzz.c $(RAIL_PAIR)
%C%_test_rail_tcp_fuzz_LDADD = $(UNIT_LDADD)

# settings, core, topo
UNIT_TESTS += %D%/test_base_settings %D%/test_core_objects %D%/test_core_threads %D%/test_topo
%C%_test_core_threads_LDADD = $(UNIT_LDADD) -lpthread
%C%_test_base_settings_LDADD = $(UNIT_LDADD)
%C%_test_core_objects_LDADD = $(UNIT_LDADD)
%C%_test_topo_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_kvobj_place
%C%_test_kvobj_place_SOURCES = %D%/test_kvobj_place.c %D%/kv_fixture.c %D%/kv_fixture.h
%C%_test_kvobj_place_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_kvobj_store
%C%_test_kvobj_store_SOURCES = %D%/test_kvobj_store.c %D%/kv_fixture.c %D%/kv_fixture.h
%C%_test_kvobj_store_LDADD = $(UNIT_LDADD)

UNIT_TESTS += %D%/test_rma_interval %D%/test_rma_op
%C%_test_rma_interval_LDADD = $(UNIT_LDADD)
%C%_test_rma_op_LDADD = $(UNIT_LDADD) -lm
UNIT_TESTS += %D%/test_kvobj_slab
%C%_test_kvobj_slab_SOURCES = %D%/test_kvobj_slab.c %D%/kv_fixture.c %D%/kv_fixture.h
%C%_test_kvobj_slab_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_kvobj_fault
%C%_test_kvobj_fault_SOURCES = %D%/test_kvobj_fault.c %D%/kv_fixture.c %D%/kv_fixture.h
%C%_test_kvobj_fault_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_kvobj_kill
%C%_test_kvobj_kill_SOURCES = %D%/test_kvobj_kill.c %D%/kv_fixture.c %D%/kv_fixture.h
%C%_test_kvobj_kill_LDADD = $(UNIT_LDADD)

UNIT_TESTS += %D%/test_core_start
%C%_test_core_start_LDADD = $(UNIT_LDADD)
%C%_test_core_start_LDFLAGS = -Wl,--wrap=getrandom -Wl,--wrap=accept4 -Wl,--wrap=listen
UNIT_TESTS += %D%/test_rma_nomem
%C%_test_rma_nomem_LDADD = $(UNIT_LDADD)
%C%_test_rma_nomem_LDFLAGS = -Wl,--wrap=mci_mem_alloc -Wl,--wrap=mci_mem_zalloc
UNIT_TESTS += %D%/test_rma_bulk
%C%_test_rma_bulk_LDADD = $(UNIT_LDADD)
UNIT_TESTS += %D%/test_rail_self
%C%_test_rail_self_SOURCES = %D%/test_rail_self.c $(RAIL_PAIR)
%C%_test_rail_self_LDADD = $(UNIT_LDADD)
%C%_test_rail_self_LDFLAGS = -Wl,--wrap=mci_mem_alloc
UNIT_TESTS += %D%/test_coll_fold %D%/test_coll_op
%C%_test_coll_fold_SOURCES = %D%/test_coll_fold.c $(FOLD_ORACLE)
%C%_test_coll_fold_LDADD = $(UNIT_LDADD) -lm
UNIT_TESTS += %D%/test_coll_wide
%C%_test_coll_wide_LDADD = $(UNIT_LDADD)
%C%_test_coll_op_SOURCES = %D%/test_coll_op.c $(FOLD_ORACLE)
%C%_test_coll_op_LDADD = $(UNIT_LDADD) -lm
