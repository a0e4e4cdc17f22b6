dnl SPDX-License-Identifier: BSD-3-Clause
dnl Copyright (c) 2026 The Mooncake Comm Authors

# MCOMM_TABLE_ROW(LABEL, TEXT)
# ----------------------------
# Append one row to the table that configure prints at its end and that mcomm_info prints at run
# time (MCI_CONFIG_TABLE in config.h).
AC_DEFUN([MCOMM_TABLE_ROW], [
  mcomm_table="$mcomm_table$(printf '%-12s %s' "$1:" "$2")\\n"
])

# MCOMM_OPTIONAL_PKG(NAME, MODULES, PURPOSE, [MACRO-SUFFIX = NAME], [PROGRAM], [NOT-YET])
# ---------------------------------------------------------------------------------------
# --with-<name>=auto|yes|no, looked for with pkg-config. auto takes what is there, yes fails loudly,
# no does not look. PROGRAM (a whole translation unit) proves that headers and library work.
# Defines HAVE_<suffix> to 1 or leaves it undefined; sets the conditional of the same name. With
# NOT-YET, a text, nothing in the library uses it so far: it is looked for but not linked.
AC_DEFUN([MCOMM_OPTIONAL_PKG], [
  AC_ARG_WITH(m4_tolower([$1]),
    [AS_HELP_STRING([--with-]m4_tolower([$1])[=auto|yes|no], [$3 ($2) @<:@auto@:>@])],
    [], [with_]m4_tolower([$1])[=auto])
  mcomm_want=$[with_]m4_tolower([$1])
  mcomm_have=no
  AS_CASE([$mcomm_want],
    [no], [mcomm_why="no (switched off)"],
    [auto|yes], [
      PKG_CHECK_MODULES([$1], [$2], [mcomm_have=yes], [mcomm_why="no (not found: $2)"])
      m4_ifval([$5], [
        AS_IF([test $mcomm_have = yes], [
          mcomm_save_CFLAGS=$CFLAGS; mcomm_save_LIBS=$LIBS
          CFLAGS="$CFLAGS $$1_CFLAGS"; LIBS="$$1_LIBS $LIBS"
          AC_MSG_CHECKING([whether $1 works])
          AC_LINK_IFELSE([AC_LANG_SOURCE([$5])],
            [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             mcomm_have=no; mcomm_why="no (found, but too old or broken: see config.log)"])
          CFLAGS=$mcomm_save_CFLAGS; LIBS=$mcomm_save_LIBS
        ])
      ])
      AS_IF([test $mcomm_want = yes && test $mcomm_have = no],
        [AC_MSG_ERROR([--with-]m4_tolower([$1])[=yes, but: $mcomm_why])])
    ],
    [AC_MSG_ERROR([--with-]m4_tolower([$1])[ takes auto, yes or no, not "$mcomm_want"])])
  AS_IF([test $mcomm_have = yes], [
    mcomm_why="m4_default([$6], [yes ($3)])"
    AC_DEFINE([HAVE_]m4_default([$4], [$1]), [1], [Define to 1 for: $3.])
    m4_if(m4_case([$1], [CMOCKA], [no])[]m4_ifval([$6], [no]), [], [
      MCOMM_PKG_CFLAGS="$MCOMM_PKG_CFLAGS $$1_CFLAGS"
      MCOMM_PKG_LIBS="$MCOMM_PKG_LIBS $$1_LIBS"
    ])
  ])
  AM_CONDITIONAL([HAVE_]m4_default([$4], [$1]), [test $mcomm_have = yes])
  MCOMM_TABLE_ROW([$1], [$mcomm_why])
])
