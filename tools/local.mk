# Tools: they use mooncake_comm.h only, like any user.
bin_PROGRAMS += mcomm_info mcomm_check
mcomm_info_SOURCES = %D%/mcomm_info.c
mcomm_check_SOURCES = %D%/mcomm_check.c
dist_bin_SCRIPTS = %D%/mcomm_perf_report

include tools/perf/local.mk
include tools/trace/local.mk

# ---- make lint ----------------------------------------------------------------------------------
# What is not on this machine (clang-format, cppcheck) is named and left out.
EXTRA_DIST += %D%/check-layers %D%/check-symbols %D%/check-man %D%/check-files %D%/check-format \
	%D%/check-analyzer

.PHONY: lint lint-format lint-layers lint-files lint-symbols lint-man lint-analyzer lint-cppcheck
lint: lint-format lint-layers lint-files lint-symbols lint-man lint-analyzer lint-cppcheck
lint-format:
	$(top_srcdir)/tools/check-format $(top_srcdir)
lint-layers:
	$(top_srcdir)/tools/check-layers $(top_srcdir)
lint-files:
	$(top_srcdir)/tools/check-files $(top_srcdir)
lint-symbols: libmooncake_comm.la
	NM='$(NM)' $(top_srcdir)/tools/check-symbols .libs/libmooncake_comm.so $(top_srcdir)
lint-man:
	$(top_srcdir)/tools/check-man $(top_srcdir)
lint-analyzer: config.h
	$(top_srcdir)/tools/check-analyzer $(top_srcdir) \
		$(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(MCOMM_CFLAGS) $(MCOMM_PKG_CFLAGS) \
		-I$(top_srcdir)/tools
lint-cppcheck: config.h
	@if command -v cppcheck >/dev/null; then \
	    cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 \
	        --suppress=missingIncludeSystem --suppress=nullPointerArithmeticRedundantCheck --suppress=autoVariables --suppress=legacyUninitvar \
	        --suppress=unknownMacro:*/fold_kernels.c --force -j2 \
	        -DHAVE_CONFIG_H $(DEFAULT_INCLUDES) -I$(top_srcdir)/include -I$(top_srcdir)/src \
	        $(top_srcdir)/src $(top_srcdir)/bindings $(top_srcdir)/tools $(top_srcdir)/examples; \
	else echo "cppcheck is not here: left out"; fi
