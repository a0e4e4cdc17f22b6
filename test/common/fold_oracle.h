/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What a fold of elements must give, by plain code that shares nothing with the library: every
 * type and operation, small floats by arithmetic, in the order of the sources and rounded once.
 */
#ifndef TEST_COMMON_FOLD_ORACLE_H
#define TEST_COMMON_FOLD_ORACLE_H

#include "mooncake_comm.h"

#include <stdbool.h>
#include <stdint.h>

#define ORACLE_ELEM_MAX 16 /* bytes of the largest type */

bool oracle_is_pair(mcomm_datatype_t dtype);
bool oracle_is_complex(mcomm_datatype_t dtype);
bool oracle_is_integer(mcomm_datatype_t dtype);
bool oracle_is_real(mcomm_datatype_t dtype);
/* The operation has a meaning for the type. */
bool oracle_has(mcomm_datatype_t dtype, mcomm_op_t op);

/* The fold of one element of n sources; of one source a copy. */
void oracle_fold(char *to, const char *const *srcs, int n, mcomm_datatype_t dtype, mcomm_op_t op);
/* What a collective makes of one rank's element: of truth values 0 or 1. */
void oracle_truth(char *to, mcomm_datatype_t dtype, mcomm_op_t op);
/* Any element, special values among them. */
void oracle_draw(char *to, mcomm_datatype_t dtype, uint64_t *state);
/* Bits, but that a NaN of a float or double is a NaN. */
bool oracle_is_same(mcomm_datatype_t dtype, const char *a, const char *b);

double oracle_real(mcomm_datatype_t dtype, const char *from);
void oracle_real_set(mcomm_datatype_t dtype, char *to, double value);
/* Of FLOAT16, BFLOAT16, FLOAT8_E4M3, FLOAT8_E5M2: a code's value, and the nearest code. */
float oracle_decode(mcomm_datatype_t dtype, unsigned code);
unsigned oracle_encode(mcomm_datatype_t dtype, float value);

#endif
