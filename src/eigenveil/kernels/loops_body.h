/* Included by loops.c once for each vector width; defines NAME(row_squares), NAME(row_product),
 * NAME(rows_survey), NAME(rows_damped), NAME(rows_rounded), NAME(rows_vectors), NAME(rows_spread),
 * NAME(csr_survey), NAME(csr_spread), NAME(outer_means), NAME(people_survey), NAME(count_entries),
 * NAME(sum_entries).
 * Results do not depend on WIDTH, ROWS, GROUP or SLAB, to the bit: these only decide what is computed together. */
#define INLINE static inline __attribute__((always_inline))
typedef double NAME(vec) __attribute__((vector_size(8 * WIDTH), aligned(8)));
typedef uint64_t NAME(ivec) __attribute__((vector_size(8 * WIDTH), aligned(8)));
#define VEC NAME(vec)
#define IVEC NAME(ivec)

/* Copy rows (or interleave columns) to doubles, times the factors, minus the shift. Rows past the end become
 * zero. Products of floats are rounded to floats. */
INLINE void NAME(load)(const void *X, const double *const *columns, int single, const double *factors, size_t i, size_t n,
                       size_t d, const double *shift, size_t rows, double *x)
{
    size_t there = i >= n ? 0 : n - i < rows ? n - i : rows;
    if (columns)
        interleave_double(columns, i, there, d, x);
    else if (single)
        for (size_t e = 0; e < there * d; e++) x[e] = (double)((const float *)X + i * d)[e];
    else
        memcpy(x, (const double *)X + i * d, there * d * sizeof *x);
    memset(x + there * d, 0, (rows - there) * d * sizeof *x);
    for (size_t r = 0; factors && r < there; r++)
        for (size_t k = 0; k < d; k++) {
            double e = x[r * d + k] * factors[k];
            x[r * d + k] = single ? (double)(float)e : e;
        }
    for (size_t r = 0; shift && r < there; r++)
        for (size_t k = 0; k < d; k++) x[r * d + k] -= shift[k];
}

/* Squared norm: eight interleaved sums, added in order. */
INLINE double NAME(square)(const double *x, size_t d)
{
    double lane[8] = {0}, total = 0;
    size_t k = 0;
    for (; k + 8 <= d; k += 8)
        for (int l = 0; l < 8; l++) lane[l] += x[k + l] * x[k + l];
    for (int l = 0; k < d; k++, l++) lane[l] += x[k] * x[k];
    for (int l = 0; l < 8; l++) total += lane[l];
    return total;
}

void NAME(row_squares)(const double *x, size_t n, size_t d, double *out)
{
    for (size_t i = 0; i < n; i++) out[i] = NAME(square)(x + i * d, d);
}

/* Return ||x y^T - C||^2 as computed. y holds y, followed by t = C^T x; if the columns of C are multiples of
 * those of W, t_j = multiples_j y_j instead. error bounds the relative error. margin bounds the total error,
 * including squares and products that underflow: see `norm_error` in row_loop.py. */
INLINE double NAME(residual)(double s, size_t d, const double *y, size_t m, const double *multiples, double cc,
                             double error, double *margin)
{
    double yy = 0, cross = 0;
    for (size_t j = 0; j < m; j++) {
        yy += y[j] * y[j];
        cross += y[j] * (multiples ? multiples[j] * y[j] : y[m + j]);
    }
    *margin = error * ((s + (double)d * TINY) * (yy + (double)m * TINY) + cc) + FLOOR;
    return (s * yy - 2 * cross) + cc;
}

/* Return an upper bound of the norm; `margin` bounds the error of the squared norm. */
INLINE double NAME(upper)(double exact, double margin)
{
    return sqrt((exact > 0 ? exact : 0) + margin) * (1 + 0x1p-50);
}

/* out += x[:, from:to] B[from:to] for ROWS rows; each entry is summed over k in order. */
INLINE void NAME(tile)(const double *x, size_t d, size_t from, size_t to, const double *B, size_t cols, double *out)
{
    size_t j = 0;
    for (; j + 2 * WIDTH <= cols; j += 2 * WIDTH) {
        VEC a[ROWS], b[ROWS];
        for (int r = 0; r < ROWS; r++) {
            a[r] = *(VEC *)(out + r * cols + j);
            b[r] = *(VEC *)(out + r * cols + j + WIDTH);
        }
        for (size_t k = from; k < to; k++) {
            VEC p = *(const VEC *)(B + k * cols + j), q = *(const VEC *)(B + k * cols + j + WIDTH);
            _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {
                double e = x[r * d + k];
                a[r] += p * e;
                b[r] += q * e;
            }
        }
        for (int r = 0; r < ROWS; r++) {
            *(VEC *)(out + r * cols + j) = a[r];
            *(VEC *)(out + r * cols + j + WIDTH) = b[r];
        }
    }
    for (; j < cols; j += WIDTH) {
        VEC a[ROWS];
        for (int r = 0; r < ROWS; r++) a[r] = *(VEC *)(out + r * cols + j);
        for (size_t k = from; k < to; k++) {
            VEC p = *(const VEC *)(B + k * cols + j);
            _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) a[r] += p * x[r * d + k];
        }
        for (int r = 0; r < ROWS; r++) *(VEC *)(out + r * cols + j) = a[r];
    }
}

/* out = x B for GROUP rows, one slab of B at a time, which fits in the cache. */
INLINE void NAME(product)(const double *x, size_t d, const double *B, size_t cols, double *out)
{
    memset(out, 0, GROUP * cols * sizeof *out);
    for (size_t from = 0; from < d; from += SLAB) {
        size_t to = from + SLAB < d ? from + SLAB : d;
        for (size_t r = 0; r < GROUP; r += ROWS) NAME(tile)(x + r * d, d, from, to, B, cols, out + r * cols);
    }
}

/* x -= along Pt for ROWS rows and `wide` vectors of columns; the product is summed over `rank` before it is
 * subtracted. */
INLINE void NAME(take_off)(double *x, size_t d, const double *along, size_t pcols, size_t rank, const double *Pt, size_t dp,
                           int wide)
{
    VEC a[ROWS], b[ROWS];
    for (int r = 0; r < ROWS; r++) a[r] = b[r] = (VEC){0};
    for (size_t k = 0; k < rank; k++) {
        VEC p = *(const VEC *)(Pt + k * dp), q = wide == 2 ? *(const VEC *)(Pt + k * dp + WIDTH) : p;
        _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {
            a[r] += p * along[r * pcols + k];
            if (wide == 2) b[r] += q * along[r * pcols + k];
        }
    }
    for (int r = 0; r < ROWS; r++) {
        *(VEC *)(x + r * d) -= a[r];
        if (wide == 2) *(VEC *)(x + r * d + WIDTH) -= b[r];
    }
}

/* Replace GROUP rows x by x - P P^T x. P has `rank` columns (d x pcols, padded); Pt is its transpose (rank x
 * dp, padded). */
INLINE void NAME(project)(double *x, size_t d, const double *P, size_t rank, size_t pcols, const double *Pt, size_t dp,
                          double *along)
{
    NAME(product)(x, d, P, pcols, along);
    for (size_t r = 0; r < GROUP; r += ROWS) {
        double *rows = x + r * d, *of = along + r * pcols;
        size_t k = 0;
        for (; k + 2 * WIDTH <= d; k += 2 * WIDTH) NAME(take_off)(rows + k, d, of, pcols, rank, Pt + k, dp, 2);
        for (; k + WIDTH <= d; k += WIDTH) NAME(take_off)(rows + k, d, of, pcols, rank, Pt + k, dp, 1);
        for (; k < d; k++)
            for (int t = 0; t < ROWS; t++) {
                double sum = 0;
                for (size_t l = 0; l < rank; l++) sum += Pt[l * dp + k] * of[t * pcols + l];
                rows[t * d + k] -= sum;
            }
    }
}

/* Return GROUP rows times the factors, minus the shift, projected if there is a P. If nothing is to be done,
 * the result points to the data; otherwise to copy. */
INLINE const double *NAME(fetch)(const void *X, const double *const *columns, int single, const double *factors, size_t i,
                                 size_t n, size_t d, const double *shift, const double *P, size_t rank, size_t pcols,
                                 const double *Pt, size_t dp, double *copy, double *scratch)
{
    if (!(single || columns || factors || shift || P || i + GROUP > n)) return (const double *)X + i * d;
    NAME(load)(X, columns, single, factors, i, n, d, shift, GROUP, copy);
    if (P) NAME(project)(copy, d, P, rank, pcols, Pt, dp, scratch);
    return copy;
}

/* out = X B, row by row; cols is a multiple of 8. */
void NAME(row_product)(const void *X, int single, size_t n, size_t d, const double *shift, const double *B,
                       size_t cols, double *out, double *work)
{
    double *x = work, *tile = work + GROUP * d;
    for (size_t i = 0; i < n; i += GROUP) {
        NAME(load)(X, NULL, single, NULL, i, n, d, shift, GROUP, x);
        NAME(product)(x, d, B, cols, tile);
        size_t rows = n - i < GROUP ? n - i : GROUP;
        memcpy(out + i * cols, tile, rows * cols * sizeof *out);
    }
}

/* sum += round(y x^T) over GROUP rows, as integers, each offset by the bits of ROUND. */
INLINE void NAME(add_rounded)(const double *x, size_t d, const double *y, size_t mp, uint64_t *sum)
{
    for (size_t from = 0; from < d; from += SLAB) {
        size_t to = from + SLAB < d ? from + SLAB : d;
        for (size_t r0 = 0; r0 < GROUP; r0 += ROWS)
            for (size_t j = 0; j < mp; j += WIDTH) {
                VEC v[ROWS];
                for (int r = 0; r < ROWS; r++) v[r] = *(const VEC *)(y + (r0 + r) * mp + j);
                for (size_t k = from; k < to; k++) {
                    IVEC total = *(const IVEC *)(sum + k * mp + j);
                    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++)
                        total += (IVEC)(v[r] * x[(r0 + r) * d + k] + ROUND);
                    *(IVEC *)(sum + k * mp + j) = total;
                }
            }
    }
}

/* One pass over rows x with A = x x^T: norms of A W - C, and clipped sums on integer grids.
 * Rows are contiguous in X or, if columns are given, spread over d columns. See `fetch` for shift and P.
 *
 * B = [W, C, 0], or [W, 0] if multiples are given, is d x cols; W and C have m columns each. cc >= ||C||^2.
 * error is the relative error bound of the squared norm.
 * For each radius: inner radius, 1/grid, the sum S (d x mp) of round(c x y^T / grid) and the sum F of round(c
 * f_scale), c = min(1, inner / norm), over valid rows that are not skipped. The caller subtracts C F at the
 * end.
 * norms: upper bounds, infinite for invalid or skipped rows. S is offset by the bits of ROUND for every row,
 * including the zero rows that pad the last group; the caller subtracts these offsets too. */
void NAME(rows_survey)(const void *X, const double *const *columns, int single, const double *factors, size_t n, size_t d,
                       const double *shift, const double *P, size_t rank, size_t pcols, const double *Pt, size_t dp,
                       const uint8_t *skip, const double *B, size_t m, size_t cols, const double *multiples, double cc,
                       double error, size_t radii, const double *inner, const double *per_grid, double f_scale, size_t mp,
                       uint64_t *S, int64_t *F, double *norms, double *work)
{
    double *copy = work, *yt = copy + GROUP * d, *cy = yt + GROUP * cols, *scratch = cy + GROUP * mp;
    for (size_t i = 0; i < n; i += GROUP) {
        double norm[GROUP];
        const double *x = NAME(fetch)(X, columns, single, factors, i, n, d, shift, P, rank, pcols, Pt, dp, copy, scratch);
        NAME(product)(x, d, B, cols, yt);
        for (size_t r = 0; r < GROUP; r++) {
            if (columns) ask_for((const void *const *)columns, sizeof(double), i + GROUP, n, d, r);
            double margin, s = NAME(square)(x + r * d, d);
            double exact = NAME(residual)(s, d, yt + r * cols, m, multiples, cc, error, &margin);
            norm[r] = NAME(upper)(exact, margin);
            if (i + r >= n || (skip && skip[i + r]) || !isfinite(s) || !isfinite(exact) || !isfinite(norm[r])) {
                norm[r] = INFINITY;
                if (!isfinite(s)) { /* nan times 0 is not 0, so the row is set to 0 */
                    if (x != copy) NAME(load)(X, columns, single, factors, i, n, d, shift, GROUP, copy);
                    x = copy;
                    memset(copy + r * d, 0, d * sizeof *copy);
                }
            }
            if (i + r < n) norms[i + r] = norm[r];
        }
        for (size_t q = 0; q < radii; q++) {
            for (size_t r = 0; r < GROUP; r++) {
                double f = norm[r] <= inner[q] ? 1.0 : inner[q] / norm[r]; /* 0 if the norm is infinite */
                F[q] += (int64_t)rint(f * f_scale);
                for (size_t j = 0; j < mp; j++)
                    cy[r * mp + j] = j < m && f > 0 ? yt[r * cols + j] * f * per_grid[q] : 0.0;
            }
            NAME(add_rounded)(x, d, cy, mp, S + q * d * mp);
        }
    }
}

/* Norms of x' y^T - C for x' = x - P P^T x, where the columns of W are multiples of those of P. They are
 * computed from P^T x and ||x||^2 alone; x' is not formed. y_j = times_j (P^T x)_j, ||x'||^2 = ||x||^2 - sum_j
 * taken_j (P^T x)_j^2, C_j^T x' = multiples_j y_j. B = [P, 0] is d x cols with m columns of P. Norms are
 * infinite for invalid or skipped rows. */
void NAME(rows_damped)(const void *X, const double *const *columns, int single, const double *factors, size_t n, size_t d,
                       const double *shift, const uint8_t *skip, const double *B, size_t m, size_t cols, const double *taken,
                       const double *times, const double *multiples, double cc, double error, double *norms, double *work)
{
    double *copy = work, *along = copy + GROUP * d;
    for (size_t i = 0; i < n; i += GROUP) {
        const double *x = NAME(fetch)(X, columns, single, factors, i, n, d, shift, NULL, 0, 0, NULL, 0, copy, NULL);
        NAME(product)(x, d, B, cols, along);
        for (size_t r = 0; r < GROUP && i + r < n; r++) {
            if (columns) ask_for((const void *const *)columns, sizeof(double), i + GROUP, n, d, r);
            double *y = along + r * cols, margin, s = NAME(square)(x + r * d, d), left = s;
            for (size_t j = 0; j < m; j++) {
                left -= taken[j] * (y[j] * y[j]);
                y[j] = times[j] * y[j];
            }
            double exact = NAME(residual)(left > 0 ? left : 0, d, y, m, multiples, cc, error, &margin);
            double norm = NAME(upper)(exact, margin);
            int bad = (skip && skip[i + r]) || !isfinite(s) || !isfinite(exact) || !isfinite(norm);
            norms[i + r] = bad ? INFINITY : norm;
        }
    }
}

/* Rows as integers: out[q][i] = round(c x / grid), c = min(1, inner / norm), for each radius q. error: relative
 * error bound of a squared norm. squares: ||x||^2, infinite for invalid or skipped rows, which become 0. */
void NAME(rows_rounded)(const void *X, const double *const *columns, int single, const double *factors, size_t n, size_t d,
                        const double *shift, const uint8_t *skip, double error, size_t radii, const double *inner,
                        const double *per_grid, double *squares, double *out, double *work)
{
    for (size_t i = 0; i < n; i += GROUP) {
        const double *x = NAME(fetch)(X, columns, single, factors, i, n, d, shift, NULL, 0, 0, NULL, 0, work, NULL);
        for (size_t r = 0; r < GROUP && i + r < n; r++) {
            if (columns) ask_for((const void *const *)columns, sizeof(double), i + GROUP, n, d, r);
            double s = NAME(square)(x + r * d, d), norm = NAME(upper)(s, error * s + FLOOR);
            int bad = !isfinite(s * s) || (skip && skip[i + r]);
            squares[i + r] = bad ? INFINITY : s;
            for (size_t q = 0; q < radii; q++) {
                double *y = out + (q * n + i + r) * d;
                double c = norm <= inner[q] ? 1.0 : inner[q] / norm;
                if (bad)
                    memset(y, 0, d * sizeof *y);
                else
                    for (size_t k = 0; k < d; k++) y[k] = (x[r * d + k] * c * per_grid[q] + ROUND) - ROUND;
            }
        }
    }
}

/* sum += round(v c p); rounded one by one if numbers may be 2^51 or more. */
INLINE void NAME(add_steps)(const double *v, size_t size, double c, double p, int large, uint64_t *sum)
{
    double round = ROUND;
    uint64_t zero;
    memcpy(&zero, &round, sizeof zero);
    size_t k = 0;
    for (; large && k < size; k++) sum[k] += (uint64_t)(int64_t)rint(v[k] * c * p);
    for (; k + WIDTH <= size; k += WIDTH) *(IVEC *)(sum + k) += (IVEC)(*(const VEC *)(v + k) * c * p + ROUND) - zero;
    for (; k < size; k++) {
        double whole = v[k] * c * p + ROUND;
        uint64_t bits;
        memcpy(&bits, &whole, sizeof bits);
        sum[k] += bits - zero;
    }
}

/* Clip a vector v of `size` entries around a centre, round it, and add it to the sum of every radius. Return
 * its norm, or infinity for an invalid vector, which adds nothing. error: relative error bound of a squared
 * norm. v becomes v - centre. */
INLINE double NAME(add_vector)(double *v, size_t size, const double *centre, int bad, double error, size_t radii,
                               const double *inner, const double *per_grid, uint64_t *S)
{
    double plain = NAME(square)(v, size);
    for (size_t k = 0; k < size; k++) v[k] -= centre[k];
    double s = NAME(square)(v, size), norm = NAME(upper)(s, error * s + FLOOR);
    if (bad || !isfinite(plain) || !isfinite(s) || !isfinite(norm)) return INFINITY;
    for (size_t q = 0; q < radii; q++) {
        double c = norm <= inner[q] ? 1.0 : inner[q] / norm;
        NAME(add_steps)(v, size, c, per_grid[q], inner[q] * per_grid[q] >= 0x1p50, S + q * size);
    }
    return norm;
}

/* One pass over rows x as vectors: norms of x - centre, and sums of round(c (x - centre) / grid) for each radius,
 * c = min(1, inner / norm), over valid rows that are not skipped. */
void NAME(rows_vectors)(const void *X, const double *const *columns, int single, const double *factors, size_t n, size_t d,
                        const double *shift, const uint8_t *skip, const double *centre, double error, size_t radii,
                        const double *inner, const double *per_grid, uint64_t *S, double *norms, double *work)
{
    for (size_t i = 0; i < n; i += GROUP) {
        NAME(load)(X, columns, single, factors, i, n, d, shift, GROUP, work);
        for (size_t r = 0; r < GROUP && i + r < n; r++) {
            if (columns) ask_for((const void *const *)columns, sizeof(double), i + GROUP, n, d, r);
            norms[i + r] = NAME(add_vector)(work + r * d, d, centre, skip && skip[i + r], error, radii, inner, per_grid, S);
        }
    }
}

/* For every row the numbers y_j^2, y = U^T x, and last the rest of ||x||^2 (at least 0); nan for an invalid row.
 * B = [U, 0] is d x cols with k columns of U; out is n x (k + 1). */
void NAME(rows_spread)(const void *X, const double *const *columns, int single, const double *factors, size_t n, size_t d,
                       const double *shift, const double *B, size_t k, size_t cols, double *out, double *work)
{
    double *copy = work, *tile = copy + GROUP * d;
    for (size_t i = 0; i < n; i += GROUP) {
        const double *x = NAME(fetch)(X, columns, single, factors, i, n, d, shift, NULL, 0, 0, NULL, 0, copy, NULL);
        NAME(product)(x, d, B, cols, tile);
        for (size_t r = 0; r < GROUP && i + r < n; r++) {
            if (columns) ask_for((const void *const *)columns, sizeof(double), i + GROUP, n, d, r);
            double *y = tile + r * cols, *v = out + (i + r) * (k + 1);
            double s = NAME(square)(x + r * d, d), rest = s - NAME(square)(y, k);
            for (size_t j = 0; j < k; j++) v[j] = isfinite(s) ? y[j] * y[j] : NAN;
            v[k] = isfinite(s) ? (rest > 0 ? rest : 0) : NAN;
        }
    }
}

/* y = sum of x_k B_k over the entries of a sparse row, in order, for cols columns; the entries ahead are
 * prefetched. */
INLINE void NAME(csr_product)(const double *data, const int32_t *indices, int64_t from, int64_t to, int64_t end,
                              const double *B, size_t cols, double *y)
{
    memset(y, 0, cols * sizeof *y);
    for (int64_t e = from; e < to; e++) {
        const double *b = B + (size_t)indices[e] * cols;
        if (e + AHEAD < end) {
            const char *next = (const char *)(B + (size_t)indices[e + AHEAD] * cols);
            for (size_t byte = 0; byte < cols * sizeof *B; byte += 64) __builtin_prefetch(next + byte, 0, 3);
        }
        for (size_t j = 0; j < cols; j += WIDTH) *(VEC *)(y + j) += *(const VEC *)(b + j) * data[e];
    }
}

/* Like rows_survey for sparse rows, with implicit shift and centre. S gets round(x_k c y_j / grid) at the
 * stored entries, modulo 2^64 and without an offset. F gets the sum of round(c * f_scale). Y, if there is a
 * shift, gets the sum of w = round(c y_j * y_scale) in two words: m sums of w >> Y_BITS, and m sums of the
 * remaining low bits of w. Bshift = B^T shift, mm >= ||shift||^2. If the centre is 0, B has no columns for it.
 * x is multiplied before it is shifted, so c x y^T / grid can be far beyond 2^51; then numbers are rounded one
 * by one, to the same integers. */
void NAME(csr_survey)(const double *data, const int32_t *indices, const int64_t *indptr, size_t n, const double *shift,
                      double mm, const uint8_t *skip, const double *B, const double *Bshift, size_t m, size_t cols,
                      int centred, double cc, double error, size_t radii, const double *inner, const double *per_grid,
                      const double *y_scale, double f_scale, size_t d, size_t mp, uint64_t *S, int64_t *Y, int64_t *F,
                      double *norms, double *work)
{
    double *y = work, *cy = work + cols;
    double round = ROUND;
    uint64_t zero;
    memcpy(&zero, &round, sizeof zero);
    for (size_t i = 0; i < n; i++) {
        double xx = 0, xm = 0, yy = 0, cross = 0;
        NAME(csr_product)(data, indices, indptr[i], indptr[i + 1], indptr[n], B, cols, y);
        for (int64_t e = indptr[i]; e < indptr[i + 1]; e++) {
            xx += data[e] * data[e];
            if (shift) xm += data[e] * shift[indices[e]];
        }
        for (size_t j = 0; j < cols; j++) y[j] -= Bshift[j];
        for (size_t j = 0; j < m; j++) {
            yy += y[j] * y[j];
            if (centred) cross += y[j] * y[m + j];
        }
        double whole = ((xx + mm) + (double)d * TINY) * (yy + (double)m * TINY);
        double exact = (((xx - 2 * xm) + mm) * yy - 2 * cross) + cc;
        double margin = error * (double)(indptr[i + 1] - indptr[i] + (int64_t)m + 64) * (whole + cc) + FLOOR;
        double longest = sqrt(whole); /* not below any |x_k y_j| */
        norms[i] = NAME(upper)(exact, margin);
        if ((skip && skip[i]) || !isfinite(xx) || !isfinite(exact) || !isfinite(norms[i])) {
            norms[i] = INFINITY;
            continue;
        }
        for (size_t q = 0; q < radii; q++) {
            double f = norms[i] <= inner[q] ? 1.0 : inner[q] / norms[i];
            F[q] += (int64_t)rint(f * f_scale);
            int64_t *high = Y + 2 * q * m, *low = high + m;
            for (size_t j = 0; shift && j < m; j++) {
                int64_t w = (int64_t)rint(y[j] * f * y_scale[q]);
                high[j] += w >> Y_BITS;
                low[j] += w & (((int64_t)1 << Y_BITS) - 1);
            }
            for (size_t j = 0; j < mp; j++) cy[j] = j < m ? y[j] * f * per_grid[q] : 0.0;
            int small = f * longest * per_grid[q] < 0x1p50;
            for (int64_t e = indptr[i]; small && e < indptr[i + 1]; e++) {
                uint64_t *sum = S + (q * d + (size_t)indices[e]) * mp;
                if (e + AHEAD < indptr[n]) {
                    const char *next = (const char *)(S + (q * d + (size_t)indices[e + AHEAD]) * mp);
                    for (size_t byte = 0; byte < mp * sizeof *S; byte += 64) __builtin_prefetch(next + byte, 1, 3);
                }
                for (size_t j = 0; j < mp; j += WIDTH)
                    *(IVEC *)(sum + j) += (IVEC)(*(const VEC *)(cy + j) * data[e] + ROUND) - zero;
            }
            for (int64_t e = indptr[i]; !small && e < indptr[i + 1]; e++) {
                uint64_t *sum = S + (q * d + (size_t)indices[e]) * mp;
                for (size_t j = 0; j < m; j++) sum[j] += (uint64_t)(int64_t)rint(cy[j] * data[e]);
            }
        }
    }
}

/* Like rows_spread for sparse rows x, with an implicit shift: y = U^T x - Ushift. ||x - shift||^2 is summed
 * over the stored entries; for the other entries it is `all` = ||shift||^2 minus the part of it at the stored
 * entries, at least 0. */
void NAME(csr_spread)(const double *data, const int32_t *indices, const int64_t *indptr, size_t n, const double *shift,
                      double all, const double *B, const double *Bshift, size_t k, size_t cols, double *out, double *y)
{
    for (size_t i = 0; i < n; i++) {
        double s = 0, there = 0, *v = out + i * (k + 1);
        NAME(csr_product)(data, indices, indptr[i], indptr[i + 1], indptr[n], B, cols, y);
        for (int64_t e = indptr[i]; e < indptr[i + 1]; e++) {
            double m = shift ? shift[indices[e]] : 0, x = data[e] - m;
            s += x * x;
            there += m * m;
        }
        if (shift) {
            double elsewhere = all - there;
            s += elsewhere > 0 || isnan(elsewhere) ? elsewhere : 0;
            for (size_t j = 0; j < k; j++) y[j] -= Bshift[j];
        }
        double rest = s - NAME(square)(y, k);
        for (size_t j = 0; j < k; j++) v[j] = isfinite(s) ? y[j] * y[j] : NAN;
        v[k] = isfinite(s) ? (rest > 0 ? rest : 0) : NAN;
    }
}

/* out[u] = mean of x y^T over the valid rows of unit u, in order; y is n x cols, of which m columns are used. */
void NAME(outer_means)(const void *X, int single, size_t d, const double *shift, const double *y, size_t cols,
                       size_t m, const int64_t *offsets, size_t units, const uint8_t *bad, double *out, double *work)
{
    for (size_t u = 0; u < units; u++) {
        double *G = out + u * d * m;
        size_t good = 0;
        memset(G, 0, d * m * sizeof *G);
        for (size_t i = (size_t)offsets[u]; i < (size_t)offsets[u + 1]; i++) {
            if (bad[i]) continue;
            good++;
            NAME(load)(X, NULL, single, NULL, i, i + 1, d, shift, 1, work);
            for (size_t k = 0; k < d; k++)
                for (size_t j = 0; j < m; j++) G[k * m + j] += work[k] * y[i * cols + j];
        }
        for (size_t e = 0; e < d * m; e++) G[e] = good ? G[e] / (double)good : NAN;
    }
}

/* Count every number of x (n x p) in its interval: table[columns[j]] has `edges` entries, and twice as many if
 * signed; entry b counts numbers beyond exactly b edges. The last edge is infinite. first[c] is the number of edges
 * below the cell c of floats that agree in all but `cell_bits` lower bits; a cell has at most `most` edges. Numbers
 * below 0 are counted `edges` entries further if signed; nan counts as infinity. */
void NAME(count_entries)(const double *x, size_t n, size_t p, const int64_t *columns, const int32_t *first,
                         size_t cell_bits, size_t most, const double *edge, size_t edges, int is_signed, int64_t *table)
{
    size_t width = edges * (is_signed ? 2 : 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++) {
            double number = x[i * p + j], size = isnan(number) ? INFINITY : fabs(number);
            uint64_t bits;
            memcpy(&bits, &size, sizeof bits);
            size_t beyond = (size_t)first[bits >> cell_bits];
            for (size_t t = 0; t < most; t++) beyond += size > edge[beyond];
            if (is_signed && number < 0) beyond += edges;
            table[(size_t)columns[j] * width + beyond]++;
        }
}

/* sum[columns[j]] += the integer nearest to x per_step, clipped to +-most < 2^51, over the finite numbers of column
 * j of x (n x p). per_step has one number per column of x; near is a work space for p integers. */
void NAME(sum_entries)(const double *x, size_t n, size_t p, const int64_t *columns, const double *per_step, double most,
                       int64_t *sum, uint64_t *near)
{
    double round = ROUND;
    uint64_t zero;
    memcpy(&zero, &round, sizeof zero);
    memset(near, 0, p * sizeof *near);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++) {
            double number = x[i * p + j], steps = (fabs(number) < INFINITY ? number : 0.0) * per_step[j];
            steps = steps > most ? most : steps;
            steps = steps < -most ? -most : steps;
            double whole = steps + ROUND;
            uint64_t bits;
            memcpy(&bits, &whole, sizeof bits);
            near[j] += bits - zero;
        }
    for (size_t j = 0; j < p; j++) sum[columns[j]] += (int64_t)near[j];
}

#include "people_body.h"
#include "single_body.h"

#undef INLINE
#undef VEC
#undef IVEC
