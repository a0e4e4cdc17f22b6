# Unit tests: per test one line in the list and one that links the archive.
UNIT_TESTS += %D%/test_base_version
%C%_test_base_version_LDADD = $(UNIT_LDADD)
