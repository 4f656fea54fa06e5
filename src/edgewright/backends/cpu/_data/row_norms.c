/* LayerNorm of 8 and 16 bits (backends/htp/row_norms.py), which has the reasons: a factor of few bits for each row. */

enum { BYTE_TURNS = 2, WIDE_TURNS = 3, MEAN_PARTS = 64, FACTOR_PARTS = 65536, FACTOR_LAST_BIT = 15 };

typedef struct {
  double epsilon, factor, zero;
  const double *weights, *added;
} Norm;

/* Of whole numbers: their sum, and that of their squares. */
typedef struct {
  int64_t total, squares;
} RowSums;

/* The variance of bytes. A sum that is divided by a power of two keeps its half unit. */
static double find_byte_variance(const Norm *norm, RowSums sums, int64_t width) {
  const double count = (double)width, total = (double)sums.total;
  const double variance = ((double)sums.squares * count - total * total) / (count * count) + norm->epsilon;
  if (!(width & (width - 1))) return widen_half((float)variance).number;
  return hold_wide(variance, find_wide_unit(variance)).number;
}

/* That of words: both halves of 64 bits, each times one over the square of the number of what was added. */
static double find_word_variance(const Norm *norm, RowSums sums, int64_t width) {
  const int64_t spread = sums.squares * width - sums.total * sums.total, low = spread & 0xFFFFFFFF;
  const Wide share = read_wide(1.0f / (float)(width * width)), epsilon = read_wide((float)norm->epsilon);
  const Wide high = multiply_wide(read_wide((float)(spread - low)), share);
  return add_wide(add_wide(high, multiply_wide(read_wide((float)low), share)), epsilon).number;
}

/* One over the root of a variance times the factor. */
static double find_row_factor(const Norm *norm, double variance, int turns) {
  return multiply_wide(read_wide(invert_root(variance, turns)), read_wide(norm->factor)).number;
}

/* Both parts of a sum, of 16 bits each, times one over the number of what was added. */
static double find_row_mean(int64_t total, int64_t width) {
  const Wide share = read_wide(1.0f / (float)width);
  const Wide high = multiply_wide(read_wide((double)(total & ~(int64_t)0xFFFF)), share);
  return add_wide(high, multiply_wide(read_wide((double)(total & 0xFFFF)), share)).number;
}

static void normalize_words(const Norm *norm, const uint16_t *restrict given, uint16_t *restrict out, int64_t width) {
  float steps[BLOCK];
  RowSums sums = {0, 0};
  /* From halfway through 16 bits: squares of distances from there have fewer bits. */
  for (int64_t i = 0; i < width; i++) {
    const int32_t moved = given[i] - 32768;
    sums.total += moved;
    sums.squares += (int64_t)moved * moved;
  }
  const double mean = find_row_mean(sums.total + width * 32768, width);
  double factor = find_row_factor(norm, find_word_variance(norm, sums, width), WIDE_TURNS), unit = find_power(factor) / (1 << FACTOR_LAST_BIT);
  unit = unit > 1.0 / FACTOR_PARTS ? unit : 1.0 / FACTOR_PARTS;
  factor = floor(factor / unit + 0.5) * unit;
  for (int64_t at = 0; at < width; at += BLOCK) {
    const int64_t part = width - at < BLOCK ? width - at : BLOCK;
    for (int64_t i = 0; i < part; i++)
      steps[i] = (float)floor((given[at + i] - mean) * (factor * norm->weights[at + i]) + norm->added[at + i]);
    store_words(steps, out, at, (float)norm->zero, part);
  }
}

static void normalize_bytes(const Norm *norm, const uint8_t *restrict given, uint8_t *restrict out, int64_t width) {
  RowSums sums = {0, 0};
  for (int64_t i = 0; i < width; i++) {
    sums.total += given[i];
    sums.squares += (int64_t)given[i] * given[i];
  }
  const double mean = floor((double)sums.total * (double)(1.0f / (float)width) * MEAN_PARTS) / MEAN_PARTS;
  const double inverse = find_row_factor(norm, find_byte_variance(norm, sums, width), BYTE_TURNS);
  const double factor = floor(inverse * FACTOR_PARTS) / FACTOR_PARTS;
  for (int64_t i = 0; i < width; i++) {
    const double step = floor((given[i] - mean) * (factor * norm->weights[i]) + norm->added[i]) + norm->zero;
    out[i] = (uint8_t)(step < 0 ? 0 : step < 255 ? step : 255);
  }
}

/* Weights and what is added are one row each, as long as those of the input. */
#define DEFINE_NORM(name, type)                                                                \
  static Status compute_##name(void *state, void *context) {                                   \
    Shape shape, rows, ignored;                                                                \
    const type *given = read_input(context, 0, &shape);                                        \
    const double *operands = read_input(context, 1, &rows);                                    \
    const double *numbers = read_input(context, 2, &ignored);                                  \
    const int64_t width = rows.sizes[1];                                                       \
    const Norm norm = {numbers[0], numbers[1], numbers[2], operands, operands + width};        \
    type *out = make_output(context, 0, &shape);                                               \
    (void)state;                                                                               \
    if (shape.count == 0) return NULL;                                                         \
    if (out == NULL) return fail();                                                            \
    for (int64_t at = 0; at < shape.count; at += width) name(&norm, given + at, out + at, width); \
    return NULL;                                                                               \
  }

DEFINE_NORM(normalize_words, uint16_t)
DEFINE_NORM(normalize_bytes, uint8_t)
