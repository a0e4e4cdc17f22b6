# What must stay true of the installed interface.
SCRIPT_TESTS +=
