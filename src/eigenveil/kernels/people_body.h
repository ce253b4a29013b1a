/* Included by loops_body.h: units of several rows. A unit's tensor is a mean over its valid rows, with each
 * entry summed row by row, in order. It is formed for one unit at a time, measured, clipped, rounded and added.
 * people.py has a numpy version. In this file rows have dp entries: the d entries of the data, then zeros.
 * Adding 0 times 0 changes no bit of a sum. */
#define PRODUCTS 0
#define MATRICES 1
#define MEAN_ROWS 2
#define VARIANCES 3

/* Copy GROUP rows to doubles of dp columns each, minus the shift. Entries past the end become zero. The next
 * rows are prefetched, so that they are in the cache when these rows are done. */
INLINE void NAME(load_wide)(const void *X, int single, size_t i, size_t n, size_t d, size_t dp, const double *shift,
                            double *x)
{
    size_t there = n - i < GROUP ? n - i : GROUP, bytes = d * (single ? sizeof(float) : sizeof(double));
    for (size_t r = 0; r < there; r++, x += dp) {
        size_t k = 0;
        const char *row = (const char *)X + (i + r) * bytes;
        for (size_t byte = 0; i + GROUP + r < n && byte < bytes; byte += 64)
            __builtin_prefetch(row + GROUP * bytes + byte, 0, 2);
        if (single)
            for (; k < d; k++) x[k] = (double)((const float *)row)[k] - (shift ? shift[k] : 0.0);
        else if (shift)
            for (; k < d; k++) x[k] = ((const double *)row)[k] - shift[k];
        else
            memcpy(x, row, bytes), k = d;
        for (; k < dp; k++) x[k] = 0;
    }
    memset(x, 0, (GROUP - there) * dp * sizeof *x);
}

/* G[j] += y_j x over some rows, for `high` entries j and the columns of `wide` vectors. */
INLINE void NAME(outer_tile)(const double *x, size_t dp, const double *y, size_t cols, size_t rows, int high, int wide,
                             double *G)
{
    VEC sum[8][2];
    for (int j = 0; j < high; j++)
        for (int l = 0; l < wide; l++) sum[j][l] = *(const VEC *)(G + j * dp + l * WIDTH);
    for (size_t r = 0; r < rows; r++, x += dp, y += cols) {
        VEC p = *(const VEC *)x, q = wide == 2 ? *(const VEC *)(x + WIDTH) : p;
        _Pragma("GCC unroll 8") for (int j = 0; j < high; j++) {
            sum[j][0] += p * y[j];
            if (wide == 2) sum[j][1] += q * y[j];
        }
    }
    for (int j = 0; j < high; j++)
        for (int l = 0; l < wide; l++) *(VEC *)(G + j * dp + l * WIDTH) = sum[j][l];
}

INLINE void NAME(outer_strip)(const double *x, size_t dp, size_t from, const double *y, size_t cols, size_t rows, int high,
                              double *G)
{
    size_t k = from;
    for (; k + 2 * WIDTH <= dp; k += 2 * WIDTH) NAME(outer_tile)(x + k, dp, y, cols, rows, high, 2, G + k);
    for (; k < dp; k += WIDTH) NAME(outer_tile)(x + k, dp, y, cols, rows, high, 1, G + k);
}

/* G += y x^T over some rows, m x dp; if it is symmetric (y = x), only the part right of the diagonal, and a
 * little more. */
static void NAME(add_outer)(const double *x, size_t dp, const double *y, size_t cols, size_t m, size_t rows, int symmetric,
                            double *G)
{
    for (size_t j = 0; j < m; j += ROWS) {
        size_t from = symmetric ? j : 0;
        double *g = G + j * dp;
        switch (m - j < ROWS ? m - j : ROWS) {
        case 1: NAME(outer_strip)(x, dp, from, y + j, cols, rows, 1, g); break;
        case 2: NAME(outer_strip)(x, dp, from, y + j, cols, rows, 2, g); break;
        case 3: NAME(outer_strip)(x, dp, from, y + j, cols, rows, 3, g); break;
        case 4: NAME(outer_strip)(x, dp, from, y + j, cols, rows, 4, g); break;
#if ROWS > 4
        case 5: NAME(outer_strip)(x, dp, from, y + j, cols, rows, 5, g); break;
        case 6: NAME(outer_strip)(x, dp, from, y + j, cols, rows, 6, g); break;
        case 7: NAME(outer_strip)(x, dp, from, y + j, cols, rows, 7, g); break;
        case 8: NAME(outer_strip)(x, dp, from, y + j, cols, rows, 8, g); break;
#endif
        }
    }
}

/* The mean matrix, d x d and row by row, from the part of the sum G right of the diagonal, as (A + A^T)/2 is
 * computed. */
INLINE void NAME(whole_matrix)(double *G, size_t d, size_t dp, double good, double *v)
{
    for (size_t j = 0; j < d; j++) {
        for (size_t k = j; k < d; k++) {
            double half = (G[j * dp + k] / good) / 2;
            v[j * d + k] = G[j * dp + k] = half + half;
        }
    }
    for (size_t j = 0; j < d; j += 8) {
        size_t k = j + 1;
        for (; k < d && k < j + 8; k++)
            for (size_t l = j; l < k; l++) v[k * d + l] = G[l * dp + k];
        for (; k < d; k++)
            for (size_t l = 0; l < 8; l++) v[k * d + j + l] = G[(j + l) * dp + k];
    }
}

/* Squared norm by halves, as if padded with zeros to a power of two: the second half is added to the first,
 * repeatedly. */
INLINE double NAME(tree_square)(const double *v, size_t size, double *tree)
{
    size_t half = 1, k = 0;
    if (size == 1) return v[0] * v[0];
    while (2 * half < size) half *= 2;
    for (; k < size - half; k++) tree[k] = v[k] * v[k] + v[half + k] * v[half + k];
    for (; k < half; k++) tree[k] = v[k] * v[k];
    while (half > 1) {
        half /= 2;
        for (k = 0; k < half; k++) tree[k] += tree[half + k];
    }
    return tree[0];
}

/* The operations of `TensorSurveyor`: v minus the centre (NULL if it is 0) is measured, clipped, rounded and
 * added to the sum of every radius. Return the computed norm, or infinity for an invalid tensor, which adds
 * nothing. */
INLINE double NAME(add_tensor)(double *v, size_t size, const double *centre, double stretch, size_t radii,
                               const double *inner, const double *per_grid, uint64_t *S, double *tree)
{
    double s = NAME(tree_square)(v, size, tree);
    if (!isfinite(s)) return INFINITY;
    if (centre) {
        for (size_t k = 0; k < size; k++) v[k] -= centre[k];
        s = NAME(tree_square)(v, size, tree);
        if (!isfinite(s)) return INFINITY;
    }
    double bound = sqrt(s * stretch + FLOOR) * (1 + 0x1p-51);
    for (size_t q = 0; q < radii; q++) {
        double f = inner[q] / bound, c = f < 1 ? f : 1;
        NAME(add_steps)(v, size, c, per_grid[q], inner[q] * per_grid[q] >= 0x1p50, S + q * size);
    }
    return sqrt(s);
}

/* Replace y by y_j^2, and last the rest of ||x||^2 (at least 0). Return whether all these numbers are finite. */
INLINE int NAME(spread)(double s, double *y, size_t k)
{
    double rest = s - NAME(square)(y, k);
    int good = isfinite(s);
    for (size_t j = 0; j < k; j++) {
        y[j] *= y[j];
        good &= isfinite(y[j]) != 0;
    }
    y[k] = rest > 0 ? rest : 0;
    return good;
}

/* A unit's tensor: the mean, from the sum G over its valid rows. */
INLINE void NAME(unit_mean)(int kind, double *G, size_t d, size_t dp, size_t m, size_t size, size_t good, double *v)
{
    if (kind == MATRICES) {
        NAME(whole_matrix)(G, d, dp, (double)good, v);
    } else if (kind == PRODUCTS) {
        for (size_t e = 0; e < m * dp; e++) G[e] /= (double)good;
        for (size_t k = 0; k < d; k++)
            for (size_t j = 0; j < m; j++) v[k * m + j] = G[j * dp + k];
    } else {
        for (size_t e = 0; e < size; e++) v[e] = G[e] / (double)good;
    }
}

/* One pass over units of several rows; the rows of unit u are offsets[u] to offsets[u + 1]. Computes norms of
 * their tensors minus the centre and, for each radius, the sum S of the clipped and rounded tensors. `kind` is
 * the tensor: the mean over valid rows of x (W^T x)^T (B = [W, 0], dp x cols with m columns of W); of x x^T; of
 * x; or of the numbers of `rows_spread` (B made of U, m columns), from number `first` on. size: number of
 * entries of a tensor. stretch: factor that makes its squared norm an upper bound. For shift, P and Pt see
 * `fetch`; P is dp x pcols here. G: dp numbers for every row of the sum. */
void NAME(people_survey)(const void *X, int single, const int64_t *offsets, size_t units, size_t d, size_t dp,
                         const double *shift, const double *P, size_t rank, size_t pcols, const double *Pt,
                         const uint8_t *skip, int kind, const double *B, size_t m, size_t cols, size_t first,
                         size_t size, const double *centre, double stretch, size_t radii, const double *inner,
                         const double *per_grid, uint64_t *S, double *norms, double *G, double *work)
{
    double *copy = work, *y = copy + GROUP * dp, *scratch = y + GROUP * cols, *v = scratch + GROUP * (P ? pcols : 0),
           *tree = v + size;
    const double *x = copy;
    int as_they_are = kind == MEAN_ROWS && !(single || shift || P); /* rows need not be copied */
    size_t n = units ? (size_t)offsets[units] : 0, u = 0, good = 0;
    size_t sums = (kind == PRODUCTS ? m : kind == MATRICES ? d : 1) * dp;
    if (kind == VARIANCES) sums = m + 1;
    memset(G, 0, sums * sizeof *G);
    for (size_t i = 0; u < units; i += GROUP) {
        uint8_t fine[GROUP];
        size_t step = as_they_are ? d : dp; /* from row to row */
        size_t there = i >= n ? 0 : n - i < GROUP ? n - i : GROUP, r = 0;
        if (there) {
            if (as_they_are)
                x = (const double *)X + i * d;
            else
                NAME(load_wide)(X, single, i, n, d, dp, shift, copy);
            if (P) NAME(project)(copy, dp, P, rank, pcols, Pt, dp, scratch);
            if (cols) NAME(product)(x, dp, B, cols, y);
        }
        for (size_t t = 0; t < there; t++) {
            double s = NAME(square)(x + t * step, step);
            fine[t] = kind == VARIANCES ? NAME(spread)(s, y + t * cols, m) : isfinite(s) != 0;
        }
        while (u < units) {
            size_t end = (size_t)offsets[u + 1] - i < there ? (size_t)offsets[u + 1] - i : there;
            while (r < end) { /* one run of valid rows at a time */
                size_t to = r;
                while (to < end && fine[to]) to++;
                if (kind == PRODUCTS || kind == MATRICES)
                    NAME(add_outer)(x + r * dp, dp, kind == MATRICES ? x + r * dp : y + r * cols,
                                    kind == MATRICES ? dp : cols, kind == MATRICES ? d : m, to - r, kind == MATRICES, G);
                for (size_t t = r; kind == MEAN_ROWS && t < to; t++)
                    for (size_t k = 0; k < step; k++) G[k] += x[t * step + k];
                for (size_t t = r; kind == VARIANCES && t < to; t++)
                    for (size_t j = 0; j <= m; j++) G[j] += y[t * cols + j];
                good += to - r;
                r = to + 1;
            }
            if ((size_t)offsets[u + 1] > i + there) break; /* the unit continues in the next group */
            r = end;
            norms[u] = INFINITY;
            if (good && !(skip && skip[u])) {
                NAME(unit_mean)(kind, G + first, d, dp, m, size, good, v);
                norms[u] = NAME(add_tensor)(v, size, centre, stretch, radii, inner, per_grid, S, tree);
            }
            memset(G, 0, sums * sizeof *G);
            good = 0;
            u++;
        }
    }
}

#undef PRODUCTS
#undef MATRICES
#undef MEAN_ROWS
#undef VARIANCES
