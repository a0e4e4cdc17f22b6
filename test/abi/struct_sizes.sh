#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
#
# The public structs have the sizes that structs.txt lists (64-bit): an old client passes them by
# these. With -u the list is rewritten; a change that is not growth at the end breaks clients.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
src=${MCOMM_TEST_SRCDIR:-$(dirname "$0")/../..}
export LC_ALL=C
header=$src/include/mooncake_comm.h
list=$src/test/abi/structs.txt
cc=${CC:-cc}
{
    echo "#include <mooncake_comm.h>"
    echo "#include <stdio.h>"
    echo "int main(void) {"
    sed -n 's/^} \(mcomm_[a-z0-9_]*_t\);.*/\1/p' "$header" | sort |
        sed 's/.*/printf("%s %zu\\n", "&", sizeof(&));/'
    echo "return sizeof(void *) == 8 ? 0 : 77; }"
} >"$dir/sizes.c"
${cc%% *} -I"$src/include" "$dir/sizes.c" -o "$dir/sizes" || exit 1
"$dir/sizes" >"$dir/sizes.txt" || { echo "SKIP: not a 64-bit machine"; exit 77; }
if [ "$1" = -u ]; then
    cp "$dir/sizes.txt" "$list"
    exit 0
fi
diff -u "$list" "$dir/sizes.txt" || { echo "a public struct changed its size"; exit 1; }
