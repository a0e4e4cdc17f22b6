# Tests of the tools, as their users run them.
MP_CASES += %D%/check.mp %D%/check_slips.mp %D%/info.mp %D%/info_coll.mp %D%/perf.mp %D%/perf_forms.mp %D%/perf_op.mp \
	%D%/perf_op_wrong.mp %D%/perf_ranks.mp %D%/trace_conversation.mp \
	%D%/trace_conversation_mpirun.mp %D%/trace_conversation_nodes.mp %D%/trace_evicts.mp \
	%D%/trace_free_run.mp %D%/trace_private.mp %D%/trace_synthetic.mp %D%/trace_synthetic_nodes.mp
SCRIPT_TESTS += %D%/trace_errors.sh %D%/perf_report.sh
