# How tests are run.
EXTRA_DIST += %D%/README.md %D%/count %D%/limit %D%/mprun %D%/mprun_case.py %D%/mprun_launch.py \
	%D%/mprun_sandbox.py %D%/mprun_sweep.py %D%/slurm-up %D%/lsan.supp %D%/tsan.supp
SCRIPT_TESTS += %D%/selftest.sh %D%/slurm_stop.sh
