#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
#
# The public header compiles alone, twice, without a warning, as C11 and as C++17, and needs no
# config.h. A C++ program can call the library.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
include=$MCOMM_TEST_SRCDIR/include
warnings='-Wall -Wextra -Wpedantic -Wundef -Werror'
fails=0

cat >"$dir/alone.c" <<EOF
#include <mooncake_comm.h>
#include <mooncake_comm.h>
int main(void)
{
    int major = 0;

    mcomm_get_version(&major, 0, 0);
    return major == MCOMM_VERSION_MAJOR ? 0 : 1;
}
EOF
cp "$dir/alone.c" "$dir/alone.cc"

# try COMPILER STANDARD FILE: compile it; link and run it too unless the library wants a sanitizer
try() {
    if ! $1 -std="$2" $warnings -I"$include" -c "$3" -o "$dir/alone.o"; then
        echo "FAIL: $1 -std=$2"
        fails=$((fails + 1))
    elif [ "${MCOMM_TEST_SANITIZE:-no}" = no ]; then
        $1 "$dir/alone.o" -o "$dir/alone" -L"$MCOMM_TEST_BUILDDIR/.libs" -lmooncake_comm &&
            LD_LIBRARY_PATH=$MCOMM_TEST_BUILDDIR/.libs "$dir/alone" || {
            echo "FAIL: to link or run with $1 -std=$2"
            fails=$((fails + 1))
        }
    fi
}

cc=${CC:-cc}
try "${cc%% -std=*}" c11 "$dir/alone.c"
tried=no
for cxx in ${CXX:-} g++ clang++; do
    if command -v "$cxx" >/dev/null; then
        try "$cxx" c++17 "$dir/alone.cc"
        tried=yes
        break
    fi
done
[ $tried = yes ] || echo "no C++ compiler here: tried as C only"
[ $fails -eq 0 ]
