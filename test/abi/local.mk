# What must stay true of the installed interface, and of the tree.
SCRIPT_TESTS += %D%/header_alone.sh
SCRIPT_TESTS += %D%/layers.sh
SCRIPT_TESTS += %D%/manual.sh
SCRIPT_TESTS += %D%/struct_sizes.sh
SCRIPT_TESTS += %D%/symbols.sh
EXTRA_DIST += %D%/structs.txt %D%/symbols.txt
