/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Folds of n vectors in one pass, written with the compiler's vector types and compiled once for
 * each set of instructions: FOLD_TABLE is the table's name, FOLD_VLEN the bytes of a vector. The
 * sets give the same bits: no product is contracted with a sum (-ffp-contract=off), each element
 * takes the same way wherever it lies in the vector, and 16- and 8-bit floats have one NaN. (Of two
 * NaNs of a float or double the processor keeps the left one; that is all it may depend on.)
 */
#include "config.h"

#include "coll/fold_kernels.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* gcc's analyzer takes the elements of all vectors for 16 bits wide. */
#if __GNUC__ >= 12 && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-shift-count-overflow"
#endif

#ifndef FOLD_VLEN /* read by itself, not built: as the plain set */
#define FOLD_TABLE mci_fold_plain
#define FOLD_VLEN 16
#endif

#define INLINE static inline __attribute__((always_inline))
#define VECTOR(NAME, T, NBYTES) typedef T NAME __attribute__((vector_size(NBYTES)))

VECTOR(vi8, int8_t, FOLD_VLEN);
VECTOR(vu8, uint8_t, FOLD_VLEN);
VECTOR(vi16, int16_t, FOLD_VLEN);
VECTOR(vu16, uint16_t, FOLD_VLEN);
VECTOR(vi32, int32_t, FOLD_VLEN);
VECTOR(vu32, uint32_t, FOLD_VLEN);
VECTOR(vi64, int64_t, FOLD_VLEN);
VECTOR(vu64, uint64_t, FOLD_VLEN);
VECTOR(vf32, float, FOLD_VLEN);
VECTOR(vf64, double, FOLD_VLEN);
/* as many elements as a vf32 has */
VECTOR(half_i16, int16_t, FOLD_VLEN / 2);
VECTOR(half_u16, uint16_t, FOLD_VLEN / 2);
VECTOR(quarter_u8, uint8_t, FOLD_VLEN / 4);

/* mask: 0 or all ones */
#define PICK(V, I, MASK, A, B) ((V)(((I)(A) & (MASK)) | ((I)(B) & ~(MASK))))
INLINE vu32 pick(vi32 mask, vu32 a, vu32 b)
{
    return PICK(vu32, vi32, mask, a, b);
}

/* ---- between 32-bit elements and narrow ones (compilers convert them one by one) ---- */
#if defined(__AVX512F__)
INLINE vu32 widen16(half_u16 raw)
{
    return (vu32)_mm512_cvtepu16_epi32((__m256i)raw);
}

INLINE half_u16 narrow16(vu32 wide)
{
    return (half_u16)_mm512_cvtepi32_epi16((__m512i)wide);
}

INLINE vu32 widen8(quarter_u8 raw)
{
    return (vu32)_mm512_cvtepu8_epi32((__m128i)raw);
}

INLINE quarter_u8 narrow8(vu32 wide)
{
    return (quarter_u8)_mm512_cvtepi32_epi8((__m512i)wide);
}
#elif defined(__AVX2__)
INLINE vu32 widen16(half_u16 raw)
{
    return (vu32)_mm256_cvtepu16_epi32((__m128i)raw);
}

INLINE half_u16 narrow16(vu32 wide)
{
    return (half_u16)_mm_packus_epi32(_mm256_castsi256_si128((__m256i)wide),
                                      _mm256_extracti128_si256((__m256i)wide, 1));
}

INLINE vu32 widen8(quarter_u8 raw)
{
    return (vu32)_mm256_cvtepu8_epi32(_mm_set_epi64x(0, (long long)raw));
}

INLINE quarter_u8 narrow8(vu32 wide)
{
    __m128i words = (__m128i)narrow16(wide);

    return (quarter_u8)_mm_cvtsi128_si64(_mm_packus_epi16(words, words));
}
#elif defined(__SSE2__) && defined(__x86_64__)
INLINE vu32 widen16(half_u16 raw)
{
    return (vu32)_mm_unpacklo_epi16(_mm_set_epi64x(0, (long long)raw), _mm_setzero_si128());
}

/* SSE2 packs signed words only. */
INLINE half_u16 narrow16(vu32 wide)
{
    __m128i words = _mm_srai_epi32(_mm_slli_epi32((__m128i)wide, 16), 16);

    return (half_u16)_mm_cvtsi128_si64(_mm_packs_epi32(words, words));
}

INLINE vu32 widen8(quarter_u8 raw)
{
    __m128i none = _mm_setzero_si128();

    return (vu32)_mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128((int)raw), none), none);
}

INLINE quarter_u8 narrow8(vu32 wide)
{
    __m128i words = _mm_packs_epi32((__m128i)wide, (__m128i)wide);

    return (quarter_u8)_mm_cvtsi128_si32(_mm_packus_epi16(words, words));
}
#else
INLINE vu32 widen16(half_u16 raw)
{
    return __builtin_convertvector(raw, vu32);
}

INLINE half_u16 narrow16(vu32 wide)
{
    return __builtin_convertvector(wide, half_u16);
}

INLINE vu32 widen8(quarter_u8 raw)
{
    return __builtin_convertvector(raw, vu32);
}

INLINE quarter_u8 narrow8(vu32 wide)
{
    return __builtin_convertvector(wide, quarter_u8);
}
#endif

/* ---- 16- and 8-bit floats ---- */
INLINE vf32 load_bf16(half_u16 raw)
{
    return (vf32)(widen16(raw) << 16);
}

INLINE half_u16 store_bf16(vf32 value)
{
    vu32 bits = (vu32)value, none = {0};
    vi32 is_nan = (vi32)(bits & 0x7fffffff) > 0x7f800000;

    bits = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return narrow16(pick(is_nan, none + 0x7fc0, bits));
}

/* A format with a sign, exponents biased by bias, and mant bits of mantissa. */
struct format {
    unsigned width, mant, bias;
    int over; /* code of what is too large for the format */
    unsigned nan;
    float least; /* subnormal */
    float magic; /* 2^23 least: a float of this size has the format's last place */
};
#if !defined(__F16C__)
static const struct format f16 = {16, 10, 15, 0x7c00, 0x7e00, 0x1p-24f, 0.5f};
#endif
static const struct format e4m3 = {8, 3, 7, 0x7f, 0x7f, 0x1p-9f, 0x1p14f};
static const struct format e5m2 = {8, 2, 15, 0x7c, 0x7e, 0x1p-16f, 0x1p7f};

INLINE vf32 unpack(vu32 code, const struct format *format)
{
    unsigned shift = 23 - format->mant, lift = 127 - format->bias;
    vu32 sign = code >> (format->width - 1) << 31;
    vu32 bits = code & ((1u << (format->width - 1)) - 1);
    vu32 small = (vu32)(__builtin_convertvector((vi32)bits, vf32) * format->least);
    vu32 normal = (bits << shift) + (lift << 23);
    vi32 is_small = (vi32)bits < (1 << format->mant);
    vi32 is_special = (vi32)bits >= format->over; /* NaN, and where there is one infinity */
    vu32 special = (bits << shift) | 0x7f800000;

    return (vf32)(pick(is_small, small, pick(is_special, special, normal)) | sign);
}

/* Round to nearest, ties to even. */
INLINE vu32 pack(vf32 value, const struct format *format)
{
    unsigned shift = 23 - format->mant, lift = 127 - format->bias;
    vu32 bits = (vu32)value & 0x7fffffff, none = {0};
    vu32 sign = (vu32)value >> 31 << (format->width - 1);
    vf32 none_float = {0};
    vu32 small = (vu32)((vf32)bits + format->magic) - (vu32)(none_float + format->magic);
    vu32 normal =
        (bits - (lift << 23) + ((1u << (shift - 1)) - 1) + ((bits >> shift) & 1)) >> shift;
    vu32 code = pick((vi32)bits < (int)((lift + 1) << 23), small, normal);

    code = pick((vi32)code >= format->over, none + (unsigned)format->over, code) | sign;
    return pick((vi32)bits > 0x7f800000, none + format->nan, code);
}

#if defined(__F16C__)
INLINE vf32 load_f16(half_u16 raw)
{
#if FOLD_VLEN == 64
    return (vf32)_mm512_cvtph_ps((__m256i)raw);
#else
    return (vf32)_mm256_cvtph_ps((__m128i)raw);
#endif
}

INLINE half_u16 store_f16(vf32 value)
{
#if FOLD_VLEN == 64
    half_u16 code = (half_u16)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT);
#else
    half_u16 code = (half_u16)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
#endif
    half_u16 nan = {0};
    half_i16 is_nan = (half_i16)(code & 0x7fff) > 0x7c00;

    nan += 0x7e00;
    return PICK(half_u16, half_i16, is_nan, nan, code);
}
#else
INLINE vf32 load_f16(half_u16 raw)
{
    return unpack(widen16(raw), &f16);
}

INLINE half_u16 store_f16(vf32 value)
{
    return narrow16(pack(value, &f16));
}
#endif

#define FLOAT8(NAME)                                                                               \
    INLINE vf32 load_##NAME(quarter_u8 raw)                                                        \
    {                                                                                              \
        return unpack(widen8(raw), &NAME);                                                         \
    }                                                                                              \
    INLINE quarter_u8 store_##NAME(vf32 value)                                                     \
    {                                                                                              \
        return narrow8(pack(value, &NAME));                                                        \
    }
FLOAT8(e4m3)
FLOAT8(e5m2)

/* ---- one pass ---- */
/* Averages: each operand times a power of two, so that the sum overflows only if the result does.
 */
static inline float scale_of(int divisor)
{
    float scale = 1;

    while ((double)scale * divisor > 1)
        scale /= 2;
    return scale;
}

/*
 * RAW: vector as it lies in memory; LOAD, STORE: to and from what is computed with; FIRST of x and
 * scale; EXPR of a and b; LAST of a, divisor and scale. Four vectors at a time, then single ones;
 * the rest of less than one goes through a vector too.
 */
#define KERNEL(NAME, RAW, LOAD, STORE, FIRST, EXPR, LAST)                                          \
    INLINE __typeof__(LOAD((RAW){0})) load_##NAME(const char *from, size_t nbytes, float scale)    \
    {                                                                                              \
        RAW raw = {0};                                                                             \
        memcpy(&raw, from, nbytes);                                                                \
        __auto_type x = LOAD(raw);                                                                 \
        (void)scale;                                                                               \
        return FIRST;                                                                              \
    }                                                                                              \
    INLINE __typeof__(LOAD((RAW){0})) op_##NAME(__typeof__(LOAD((RAW){0})) a,                      \
                                                __typeof__(LOAD((RAW){0})) b)                      \
    {                                                                                              \
        return EXPR;                                                                               \
    }                                                                                              \
    INLINE void store_##NAME(char *to, size_t nbytes, __typeof__(LOAD((RAW){0})) a, int divisor,   \
                             float scale)                                                          \
    {                                                                                              \
        RAW raw = STORE(LAST);                                                                     \
        (void)divisor;                                                                             \
        (void)scale;                                                                               \
        memcpy(to, &raw, nbytes);                                                                  \
    }                                                                                              \
    INLINE void one_##NAME(char *dst, const char *const *srcs, int n, size_t at, size_t nbytes,    \
                           int divisor, float scale)                                               \
    {                                                                                              \
        __auto_type acc = load_##NAME(srcs[0] + at, nbytes, scale);                                \
        for (int s = 1; s < n; s++)                                                                \
            acc = op_##NAME(acc, load_##NAME(srcs[s] + at, nbytes, scale));                        \
        store_##NAME(dst + at, nbytes, acc, divisor, scale);                                       \
    }                                                                                              \
    static void fold_##NAME(char *dst, const char *const *srcs, int n, size_t nbytes, int divisor) \
    {                                                                                              \
        const size_t one = sizeof(RAW);                                                            \
        const float scale = scale_of(divisor);                                                     \
        size_t at = 0;                                                                             \
        for (; nbytes - at >= 4 * one; at += 4 * one) {                                            \
            const char *from = srcs[0] + at;                                                       \
            __auto_type acc0 = load_##NAME(from, one, scale);                                      \
            __auto_type acc1 = load_##NAME(from + one, one, scale);                                \
            __auto_type acc2 = load_##NAME(from + 2 * one, one, scale);                            \
            __auto_type acc3 = load_##NAME(from + 3 * one, one, scale);                            \
            for (int s = 1; s < n; s++) {                                                          \
                from = srcs[s] + at;                                                               \
                acc0 = op_##NAME(acc0, load_##NAME(from, one, scale));                             \
                acc1 = op_##NAME(acc1, load_##NAME(from + one, one, scale));                       \
                acc2 = op_##NAME(acc2, load_##NAME(from + 2 * one, one, scale));                   \
                acc3 = op_##NAME(acc3, load_##NAME(from + 3 * one, one, scale));                   \
            }                                                                                      \
            store_##NAME(dst + at, one, acc0, divisor, scale);                                     \
            store_##NAME(dst + at + one, one, acc1, divisor, scale);                               \
            store_##NAME(dst + at + 2 * one, one, acc2, divisor, scale);                           \
            store_##NAME(dst + at + 3 * one, one, acc3, divisor, scale);                           \
        }                                                                                          \
        for (; nbytes - at >= one; at += one)                                                      \
            one_##NAME(dst, srcs, n, at, one, divisor, scale);                                     \
        if (nbytes > at)                                                                           \
            one_##NAME(dst, srcs, n, at, nbytes - at, divisor, scale);                             \
    }

#define SAME(x) (x)
#define TRUTH(x) ((vu8)((x) != 0) & 1)

/* V: vector of the type, U and I: of unsigned and of signed integers of its size */
#define INT_KERNELS(DTYPE, V, U, I)                                                                \
    KERNEL(DTYPE##_SUM, U, SAME, SAME, x, a + b, a)                                                \
    KERNEL(DTYPE##_PROD, U, SAME, SAME, x, a *b, a)                                                \
    KERNEL(DTYPE##_MIN, V, SAME, SAME, x, PICK(V, I, (I)(b < a), b, a), a)                         \
    KERNEL(DTYPE##_MAX, V, SAME, SAME, x, PICK(V, I, (I)(b > a), b, a), a)                         \
    KERNEL(DTYPE##_LAND, U, SAME, SAME, x, (U)((a != 0) & (b != 0)) & 1, a)                        \
    KERNEL(DTYPE##_LOR, U, SAME, SAME, x, (U)((a | b) != 0) & 1, a)                                \
    KERNEL(DTYPE##_LXOR, U, SAME, SAME, x, (U)((a != 0) ^ (b != 0)) & 1, a)

#define FLOAT_KERNELS(DTYPE, RAW, LOAD, STORE, V, I, T)                                            \
    KERNEL(DTYPE##_SUM, RAW, LOAD, STORE, x, a + b, a)                                             \
    KERNEL(DTYPE##_AVG, RAW, LOAD, STORE, x *(T)scale, a + b, a / ((T)divisor * (T)scale))         \
    KERNEL(DTYPE##_PROD, RAW, LOAD, STORE, x, a *b, a)                                             \
    KERNEL(DTYPE##_MIN, RAW, LOAD, STORE, x, PICK(V, I, (I)(b < a), b, a), a)                      \
    KERNEL(DTYPE##_MAX, RAW, LOAD, STORE, x, PICK(V, I, (I)(b > a), b, a), a)

INT_KERNELS(INT8, vi8, vu8, vi8)
INT_KERNELS(UINT8, vu8, vu8, vi8)
INT_KERNELS(INT16, vi16, vu16, vi16)
INT_KERNELS(UINT16, vu16, vu16, vi16)
INT_KERNELS(INT32, vi32, vu32, vi32)
INT_KERNELS(UINT32, vu32, vu32, vi32)
INT_KERNELS(INT64, vi64, vu64, vi64)
INT_KERNELS(UINT64, vu64, vu64, vi64)
FLOAT_KERNELS(FLOAT, vf32, SAME, SAME, vf32, vi32, float)
FLOAT_KERNELS(DOUBLE, vf64, SAME, SAME, vf64, vi64, double)
FLOAT_KERNELS(FLOAT16, half_u16, load_f16, store_f16, vf32, vi32, float)
FLOAT_KERNELS(BFLOAT16, half_u16, load_bf16, store_bf16, vf32, vi32, float)
FLOAT_KERNELS(FLOAT8_E4M3, quarter_u8, load_e4m3, store_e4m3, vf32, vi32, float)
FLOAT_KERNELS(FLOAT8_E5M2, quarter_u8, load_e5m2, store_e5m2, vf32, vi32, float)
/* of bits, whatever the size of the type */
KERNEL(BAND, vu64, SAME, SAME, x, a &b, a)
KERNEL(BOR, vu64, SAME, SAME, x, a | b, a)
KERNEL(BXOR, vu64, SAME, SAME, x, a ^ b, a)
KERNEL(BOOL_and, vu8, TRUTH, SAME, x, a &b, a)
KERNEL(BOOL_or, vu8, TRUTH, SAME, x, a | b, a)
KERNEL(BOOL_xor, vu8, TRUTH, SAME, x, a ^ b, a)

/* ---- operands to partial results, and back ---- */
/* T: what is computed with, of vectors V; KERNEL has it */
#define CONVERT(DTYPE, RAW, V, STORE, T)                                                           \
    INLINE void widen_one_##DTYPE(char *dst, const char *src, size_t nbytes, float scale)          \
    {                                                                                              \
        V wide = load_##DTYPE##_SUM(src, nbytes, 1) * (T)scale;                                    \
        memcpy(dst, &wide, nbytes *(sizeof(V) / sizeof(RAW)));                                     \
    }                                                                                              \
    INLINE void narrow_one_##DTYPE(char *dst, const char *src, size_t nbytes, T divisor)           \
    {                                                                                              \
        V wide = {0};                                                                              \
        memcpy(&wide, src, nbytes *(sizeof(V) / sizeof(RAW)));                                     \
        RAW raw = STORE(wide / divisor);                                                           \
        memcpy(dst, &raw, nbytes);                                                                 \
    }                                                                                              \
    static void widen_##DTYPE(char *dst, const char *src, size_t nbytes, int operands)             \
    {                                                                                              \
        const size_t one = sizeof(RAW), ratio = sizeof(V) / sizeof(RAW);                           \
        const float scale = scale_of(operands);                                                    \
        size_t at = 0;                                                                             \
        for (; nbytes - at >= one; at += one)                                                      \
            widen_one_##DTYPE(dst + at * ratio, src + at, one, scale);                             \
        if (nbytes > at)                                                                           \
            widen_one_##DTYPE(dst + at * ratio, src + at, nbytes - at, scale);                     \
    }                                                                                              \
    static void narrow_##DTYPE(char *dst, const char *src, size_t nbytes, int operands)            \
    {                                                                                              \
        const size_t one = sizeof(RAW), ratio = sizeof(V) / sizeof(RAW);                           \
        const T divisor = (T)operands * (T)scale_of(operands);                                     \
        size_t at = 0;                                                                             \
        for (; nbytes - at >= one; at += one)                                                      \
            narrow_one_##DTYPE(dst + at, src + at * ratio, one, divisor);                          \
        if (nbytes > at)                                                                           \
            narrow_one_##DTYPE(dst + at, src + at * ratio, nbytes - at, divisor);                  \
    }

CONVERT(FLOAT, vf32, vf32, SAME, float)
CONVERT(DOUBLE, vf64, vf64, SAME, double)
CONVERT(FLOAT16, half_u16, vf32, store_f16, float)
CONVERT(BFLOAT16, half_u16, vf32, store_bf16, float)
CONVERT(FLOAT8_E4M3, quarter_u8, vf32, store_e4m3, float)
CONVERT(FLOAT8_E5M2, quarter_u8, vf32, store_e5m2, float)

#define ROW(DTYPE, OP) [MCOMM_##OP] = fold_##DTYPE##_##OP
#define BIT_ROWS [MCOMM_BAND] = fold_BAND, [MCOMM_BOR] = fold_BOR, [MCOMM_BXOR] = fold_BXOR
#define INT_ROWS(DTYPE)                                                                            \
    [MCOMM_##DTYPE] = {ROW(DTYPE, SUM),  ROW(DTYPE, PROD), ROW(DTYPE, MIN),  ROW(DTYPE, MAX),      \
                       ROW(DTYPE, LAND), ROW(DTYPE, LOR),  ROW(DTYPE, LXOR), BIT_ROWS}
#define FLOAT_ROWS(DTYPE)                                                                          \
    [MCOMM_##DTYPE] = {ROW(DTYPE, SUM), ROW(DTYPE, AVG), ROW(DTYPE, PROD), ROW(DTYPE, MIN),        \
                       ROW(DTYPE, MAX)}

#define CONVERT_ROW(DTYPE, BY) [MCOMM_##DTYPE] = {widen_##BY, narrow_##BY}

const struct mci_fold_set FOLD_TABLE = {
    .convert = {CONVERT_ROW(FLOAT, FLOAT), CONVERT_ROW(DOUBLE, DOUBLE),
                CONVERT_ROW(FLOAT16, FLOAT16), CONVERT_ROW(BFLOAT16, BFLOAT16),
                CONVERT_ROW(FLOAT8_E4M3, FLOAT8_E4M3), CONVERT_ROW(FLOAT8_E5M2, FLOAT8_E5M2),
                CONVERT_ROW(COMPLEX_FLOAT, FLOAT), CONVERT_ROW(COMPLEX_DOUBLE, DOUBLE)},
    .fold =
        {INT_ROWS(INT8), INT_ROWS(UINT8), INT_ROWS(INT16), INT_ROWS(UINT16), INT_ROWS(INT32),
         INT_ROWS(UINT32), INT_ROWS(INT64), INT_ROWS(UINT64), FLOAT_ROWS(FLOAT), FLOAT_ROWS(DOUBLE),
         FLOAT_ROWS(FLOAT16), FLOAT_ROWS(BFLOAT16), FLOAT_ROWS(FLOAT8_E4M3),
         FLOAT_ROWS(FLOAT8_E5M2),
         [MCOMM_COMPLEX_FLOAT] = {[MCOMM_SUM] = fold_FLOAT_SUM, [MCOMM_AVG] = fold_FLOAT_AVG},
         [MCOMM_COMPLEX_DOUBLE] = {[MCOMM_SUM] = fold_DOUBLE_SUM, [MCOMM_AVG] = fold_DOUBLE_AVG},
         [MCOMM_BYTE] = {BIT_ROWS},
         /* a sum of truths is their or, a product their and */
         [MCOMM_BOOL] = {[MCOMM_SUM] = fold_BOOL_or,
                         [MCOMM_PROD] = fold_BOOL_and,
                         [MCOMM_MIN] = fold_BOOL_and,
                         [MCOMM_MAX] = fold_BOOL_or,
                         [MCOMM_LAND] = fold_BOOL_and,
                         [MCOMM_LOR] = fold_BOOL_or,
                         [MCOMM_LXOR] = fold_BOOL_xor,
                         [MCOMM_BAND] = fold_BOOL_and,
                         [MCOMM_BOR] = fold_BOOL_or,
                         [MCOMM_BXOR] = fold_BOOL_xor}},
};
