/* Included by loops_body.h: rows of floats, multiplied and rounded in single precision, twice as many at a
 * time.
 * Sums of products start again from 0 after every FLOAT_SLAB columns, and these sums are added as doubles. This
 * affects the result, so it is the same for every WIDTH. */
typedef float NAME(fvec) __attribute__((vector_size(8 * WIDTH), aligned(4)));
typedef float NAME(hvec) __attribute__((vector_size(4 * WIDTH), aligned(4)));
typedef uint32_t NAME(uvec) __attribute__((vector_size(8 * WIDTH), aligned(4)));
#define FVEC NAME(fvec)
#define HVEC NAME(hvec)
#define UVEC NAME(uvec)
#define FLOATS (2 * WIDTH)

/* Copy rows (or interleave columns), times the factors, minus the shift. Rows past the end become zero. */
INLINE void NAME(load_floats)(const float *X, const float *const *columns, const double *factors, size_t i, size_t n,
                              size_t d, const double *shift, float *x)
{
    size_t there = n - i < GROUP ? n - i : GROUP;
    if (columns)
        interleave_float(columns, i, there, d, x);
    else
        memcpy(x, X + i * d, there * d * sizeof *x);
    memset(x + there * d, 0, (GROUP - there) * d * sizeof *x);
    for (size_t r = 0; factors && r < there; r++)
        for (size_t k = 0; k < d; k++) x[r * d + k] = (float)((double)x[r * d + k] * factors[k]);
    for (size_t r = 0; shift && r < there; r++)
        for (size_t k = 0; k < d; k++) x[r * d + k] = (float)((double)x[r * d + k] - shift[k]);
}

/* Squared norm in doubles, by the same eight interleaved sums. */
INLINE double NAME(square_floats)(const float *x, size_t d)
{
    VEC part[8 / WIDTH] = {0};
    double lane[8], total = 0;
    size_t k = 0;
    for (; k + 8 <= d; k += 8)
        for (size_t l = 0; l < 8 / WIDTH; l++) {
            VEC e = __builtin_convertvector(*(const HVEC *)(x + k + l * WIDTH), VEC);
            part[l] += e * e;
        }
    memcpy(lane, part, sizeof lane);
    for (int l = 0; k < d; k++, l++) lane[l] += (double)x[k] * (double)x[k];
    for (int l = 0; l < 8; l++) total += lane[l];
    return total;
}

/* out += part, with floats converted to doubles. */
INLINE void NAME(add_floats)(FVEC part, double *out)
{
    float floats[FLOATS];
    *(FVEC *)floats = part;
    *(VEC *)out += __builtin_convertvector(*(HVEC *)floats, VEC);
    *(VEC *)(out + WIDTH) += __builtin_convertvector(*(HVEC *)(floats + WIDTH), VEC);
}

/* out += x[:, from:to] B[from:to] for ROWS rows; cols is a multiple of 16. */
INLINE void NAME(tile_floats)(const float *x, size_t d, size_t from, size_t to, const float *B, size_t cols,
                              double *out)
{
    size_t j = 0;
    for (; j + 2 * FLOATS <= cols; j += 2 * FLOATS) {
        FVEC a[ROWS], b[ROWS];
        for (int r = 0; r < ROWS; r++) a[r] = b[r] = (FVEC){0};
        for (size_t k = from; k < to; k++) {
            FVEC p = *(const FVEC *)(B + k * cols + j), q = *(const FVEC *)(B + k * cols + j + FLOATS);
            _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {
                float e = x[r * d + k];
                a[r] += p * e;
                b[r] += q * e;
            }
        }
        for (int r = 0; r < ROWS; r++) {
            NAME(add_floats)(a[r], out + r * cols + j);
            NAME(add_floats)(b[r], out + r * cols + j + FLOATS);
        }
    }
    for (; j < cols; j += FLOATS) {
        FVEC a[ROWS];
        for (int r = 0; r < ROWS; r++) a[r] = (FVEC){0};
        for (size_t k = from; k < to; k++) {
            FVEC p = *(const FVEC *)(B + k * cols + j);
            _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) a[r] += p * x[r * d + k];
        }
        for (int r = 0; r < ROWS; r++) NAME(add_floats)(a[r], out + r * cols + j);
    }
}

/* out = x B for GROUP rows. */
INLINE void NAME(product_floats)(const float *x, size_t d, const float *B, size_t cols, double *out)
{
    memset(out, 0, GROUP * cols * sizeof *out);
    for (size_t from = 0; from < d; from += FLOAT_SLAB) {
        size_t to = from + FLOAT_SLAB < d ? from + FLOAT_SLAB : d;
        for (size_t r = 0; r < GROUP; r += ROWS) NAME(tile_floats)(x + r * d, d, from, to, B, cols, out + r * cols);
    }
}

/* sum += round(y x^T) over GROUP rows, as integers, each offset by the bits of FLOAT_ROUND. */
INLINE void NAME(add_rounded_floats)(const float *x, size_t d, const float *y, size_t mp, uint32_t *sum)
{
    for (size_t from = 0; from < d; from += SLAB) {
        size_t to = from + SLAB < d ? from + SLAB : d;
        for (size_t r0 = 0; r0 < GROUP; r0 += ROWS)
            for (size_t j = 0; j < mp; j += FLOATS) {
                FVEC v[ROWS];
                for (int r = 0; r < ROWS; r++) v[r] = *(const FVEC *)(y + (r0 + r) * mp + j);
                for (size_t k = from; k < to; k++) {
                    UVEC total = *(const UVEC *)(sum + k * mp + j);
                    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++)
                        total += (UVEC)(v[r] * x[(r0 + r) * d + k] + FLOAT_ROUND);
                    *(UVEC *)(sum + k * mp + j) = total;
                }
            }
    }
}

/* Like rows_survey, for rows of floats. Products use B32 (B in floats), with the relative error bound error32.
 * A row that is too long, too short or too close to the centre for single precision gets products with B, in
 * doubles. The sums S have no offset here. They are first accumulated in `near`, which is initially zero and
 * holds sums over FLOAT_ROWS rows. */
void NAME(float_survey)(const float *X, const float *const *columns, const double *factors, size_t n, size_t d,
                        const double *shift, const uint8_t *skip, const double *B, const float *B32, size_t m, size_t cols, double cc,
                        double error, double error32, size_t radii, const double *inner, const double *per_grid,
                        double f_scale, size_t mp, uint32_t *near, int64_t *S, int64_t *F, double *norms, double *work)
{
    double *yt = work;
    float *copy = (float *)(yt + GROUP * cols), *cy = copy + GROUP * d;
    float round = FLOAT_ROUND;
    uint32_t zero;
    memcpy(&zero, &round, sizeof zero);
    for (size_t i = 0; i < n; i += GROUP) {
        double norm[GROUP];
        const float *x = copy;
        if (columns || factors || shift || i + GROUP > n)
            NAME(load_floats)(X, columns, factors, i, n, d, shift, copy);
        else
            x = X + i * d;
        NAME(product_floats)(x, d, B32, cols, yt);
        for (size_t r = 0; r < GROUP; r++) {
            if (columns) ask_for((const void *const *)columns, sizeof(float), i + GROUP, n, d, r);
            double margin, *y = yt + r * cols, s = NAME(square_floats)(x + r * d, d);
            double exact = NAME(residual)(s, d, y, m, NULL, cc, error32, &margin);
            if (isfinite(s) && !(s >= 0x1p-90 && s <= 0x1p80 && margin <= exact * 0x1p-7)) {
                memset(y, 0, cols * sizeof *y);
                for (size_t k = 0; k < d; k++)
                    for (size_t j = 0; j < cols; j += WIDTH)
                        *(VEC *)(y + j) += *(const VEC *)(B + k * cols + j) * (double)x[r * d + k];
                exact = NAME(residual)(s, d, y, m, NULL, cc, error, &margin);
            }
            norm[r] = NAME(upper)(exact, margin);
            if (i + r >= n || (skip && skip[i + r]) || !isfinite(s) || !isfinite(exact) || !isfinite(norm[r])) {
                norm[r] = INFINITY;
                if (!isfinite(s)) { /* nan times 0 is not 0, so the row is set to 0 */
                    if (x != copy) NAME(load_floats)(X, columns, factors, i, n, d, shift, copy);
                    x = copy;
                    memset(copy + r * d, 0, d * sizeof *copy);
                }
            }
            if (i + r < n) norms[i + r] = norm[r];
        }
        for (size_t q = 0; q < radii; q++) {
            uint32_t *sum = near + q * d * mp;
            for (size_t r = 0; r < GROUP; r++) {
                double f = norm[r] <= inner[q] ? 1.0 : inner[q] / norm[r]; /* 0 if the norm is infinite */
                F[q] += (int64_t)rint(f * f_scale);
                for (size_t j = 0; j < mp; j++)
                    cy[r * mp + j] = j < m && f > 0 ? (float)(yt[r * cols + j] * f * per_grid[q]) : 0.0f;
            }
            NAME(add_rounded_floats)(x, d, cy, mp, sum);
            if (i + GROUP >= n || (i + GROUP) % FLOAT_ROWS == 0) { /* the sums still fit into 32 bits */
                uint32_t rows = (uint32_t)(i % FLOAT_ROWS + GROUP);
                for (size_t e = 0; e < d * mp; e++) {
                    S[q * d * mp + e] += (int32_t)(sum[e] - rows * zero);
                    sum[e] = 0;
                }
            }
        }
    }
}

#undef FVEC
#undef HVEC
#undef UVEC
#undef FLOATS
