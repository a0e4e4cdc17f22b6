# Multi-process tests: programs (linked with the shared library) and their case files.
MP_PROGS +=
MP_CASES +=
