/* The inner loops over units. They use plain IEEE arithmetic in a fixed order, compiled without contraction or
 * reassociation. So the contribution of a row is a function of that row and the public arguments, to the bit,
 * on any machine, whatever the position of the row. loops.py and *_loop.py have numpy versions, and a test
 * compares bits. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROUND 0x1.8p52 /* for |x| < 2^51, the bits of x + ROUND are those of ROUND plus the integer nearest to x */
#define TINY 0x1p-960  /* margin for each square in a sum, far above the error of underflow */
#define FLOOR 0x1p-1000 /* absolute margin of every bound of a squared norm */
#define Y_BITS 29       /* number of bits of a sparse row's Y in the lower word */
#define GROUP 32       /* rows processed together; a short last group is padded with zero rows */
#define AHEAD 16       /* prefetch distance, in entries of sparse rows */
#define SLAB 512       /* columns of the data processed together */
#define FLOAT_ROUND 0x1.8p23f /* the same for floats below 2^22 */
#define FLOAT_SLAB 64         /* columns whose products are summed as floats */
#define FLOAT_ROWS 256        /* rows whose integers, below 2^22 each, are summed in 32 bits */

/* Interleave columns: out[i][j] = columns[j][from + i], eight columns at a time over rows that fit in the
 * cache. */
#define INTERLEAVE(name, type)                                                                      \
    void name(const type *const *columns, size_t from, size_t n, size_t d, type *out)               \
    {                                                                                               \
        for (size_t i0 = 0; i0 < n; i0 += 128) {                                                    \
            size_t i1 = i0 + 128 < n ? i0 + 128 : n, j = 0;                                         \
            for (; j + 8 <= d; j += 8) {                                                            \
                const type *a = columns[j] + from, *b = columns[j + 1] + from,                      \
                           *c = columns[j + 2] + from, *e = columns[j + 3] + from,                  \
                           *f = columns[j + 4] + from, *g = columns[j + 5] + from,                  \
                           *h = columns[j + 6] + from, *k = columns[j + 7] + from;                  \
                for (size_t i = i0; i < i1; i++) {                                                  \
                    type *to = out + i * d + j;                                                     \
                    to[0] = a[i], to[1] = b[i], to[2] = c[i], to[3] = e[i];                         \
                    to[4] = f[i], to[5] = g[i], to[6] = h[i], to[7] = k[i];                         \
                }                                                                                   \
            }                                                                                       \
            for (; j < d; j++)                                                                      \
                for (size_t i = i0; i < i1; i++) out[i * d + j] = columns[j][from + i];             \
        }                                                                                           \
    }
INTERLEAVE(interleave_double, double)
INTERLEAVE(interleave_float, float)

/* Prefetch the columns r, r + GROUP, ... of a GROUP of rows. If rows are spread over columns, there are too many
 * streams for the hardware to prefetch them. */
static inline void ask_for(const void *const *columns, size_t size, size_t i, size_t n, size_t d, size_t r)
{
    for (size_t k = r; i + GROUP <= n && k < d; k += GROUP)
        for (size_t byte = 0; byte < GROUP * size; byte += 64)
            __builtin_prefetch((const char *)columns[k] + i * size + byte, 0, 2);
}

#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")
#define WIDTH 8
#define ROWS 8
#define NAME(f) f##_wide
#include "loops_body.h"
#undef NAME
#undef ROWS
#undef WIDTH
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2")
#define WIDTH 4
#define ROWS 4
#define NAME(f) f##_middle
#include "loops_body.h"
#undef NAME
#undef ROWS
#undef WIDTH
#pragma GCC pop_options
#endif

#define WIDTH 2
#define ROWS 4
#define NAME(f) f##_plain
#include "loops_body.h"
#undef NAME

/* Must equal _VERSION in loops.py. Increase both when a signature in this file changes. */
int loops_version(void) { return 12; }

/* The fastest of the three variants that this machine can run: 2 wide, 1 middle, 0 plain. */
int best_variant(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 2;
    if (__builtin_cpu_supports("avx2")) return 1;
#endif
    return 0;
}
