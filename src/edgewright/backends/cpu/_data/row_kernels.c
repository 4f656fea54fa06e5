/* Rows of numbers: looked up, as shares of one, and normalized. Operations are those of numpy (backends/htp) or of the engine's
 * ops (row_norms.py): sums are exact, so that their order does not matter, and nothing is left to a library's own
 * exponential function. */

enum { EXPONENT_BITS = 22, POWER_BITS = 16, SHARE_BITS = 15, RECIPROCAL_BITS = 16, TURNS = 5 };
/* Whole units that a float of 11 bits has. */
static const double HALF_MOST = 1024.0;

/* Rows of the last axis. */
static int64_t count_rows(const Shape *shape, int64_t *width) {
  *width = shape->rank ? shape->sizes[shape->rank - 1] : 1;
  return shape->count / *width;
}

/* Products keep their lowest 64 bits, as those of numpy. */
static int64_t multiply_cut(int64_t first, int64_t second, int64_t bits) {
  return (int64_t)((uint64_t)first * (uint64_t)second) >> bits;
}

/* A reciprocal of so many bits by Newton's method, from one half. */
static int64_t invert_whole(int64_t number, int64_t bits, int64_t kept) {
  int64_t inverse = ((int64_t)1 << kept) >> 1;
  for (int turn = 0; turn < TURNS; turn++)
    inverse = multiply_cut(inverse, ((int64_t)2 << bits) - multiply_cut(number, inverse, kept), bits);
  return inverse;
}

/* Powers wait in the output for their sum: they have 16 bits as well. */
static void share_words(const uint16_t *restrict given, const int32_t *restrict powers, int64_t units,
                        uint16_t *restrict out, int64_t width) {
  int64_t largest = 0, sum = 0, bits = 0;
  for (int64_t i = 0; i < width; i++) largest = given[i] > largest ? given[i] : largest;
  for (int64_t i = 0; i < width; i++) {
    const int64_t exponent = (largest - given[i]) * units, whole = exponent >> EXPONENT_BITS;
    const int64_t place = (exponent >> (EXPONENT_BITS - POWER_BITS)) & ((1 << POWER_BITS) - 1);
    out[i] = (uint16_t)(powers[place] >> (whole < SHARE_BITS + 1 ? whole : SHARE_BITS + 1));
    sum += out[i];
  }
  const int64_t half = sum >> 1;
  while (half >> (bits + 1)) bits++;
  const int64_t kept = bits < RECIPROCAL_BITS ? bits : RECIPROCAL_BITS;
  const int64_t inverse = invert_whole(half, bits, kept), shift = bits + kept - SHARE_BITS;
  for (int64_t i = 0; i < width; i++) {
    const int64_t share = multiply_cut(out[i], inverse, shift);
    out[i] = (uint16_t)(share < 0 ? 0 : share < 65535 ? share : 65535);
  }
}

static Status compute_word_shares(void *state, void *context) {
  Shape shape, ignored;
  const uint16_t *given = read_input(context, 0, &shape);
  const int32_t *powers = read_input(context, 1, &ignored);
  const int32_t *units = read_input(context, 2, &ignored);
  uint16_t *out = make_output(context, 0, &shape);
  int64_t width;
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL) return fail();
  const int64_t rows = count_rows(&shape, &width);
  for (int64_t row = 0; row < rows; row++)
    share_words(given + row * width, powers, units[0], out + row * width, width);
  return NULL;
}

/* The reciprocal of a sum of few shares: whole parts of one, on a parabola in each quarter between two powers of two;
 * the lower one is what the sum is a part of. */
enum { PLACES = 1 << 16, QUARTERS = 4, INVERSE_ONE = 1 << 14 };

static double invert_on_parabolas(double sum, const double *parabolas, double *power) {
  int exponent;
  const double mantissa = frexp(sum, &exponent), place = floor((2 * mantissa - 1) * PLACES) / PLACES;
  const double *parabola = parabolas + 3 * (int)(place * QUARTERS);
  *power = ldexp(1, exponent - 1);
  return floor(floor(parabola[0] * place + parabola[1]) * place + parabola[2]);
}

/* How bytes become shares: weights of all distances, the parts of one, and of few shares the parabolas of their sum's
 * reciprocal and the unit of sums. */
typedef struct {
  const double *weights, *parabolas;
  double parts, unit;
} ByteShares;

static inline uint8_t cut_share(double share) {
  const double whole = floor(share);
  return (uint8_t)(whole < 255.0 ? whole : 255.0);
}

static void share_bytes(const ByteShares *how, const uint8_t *restrict given, uint8_t *restrict out, int64_t width) {
  const double *weights = how->weights;
  uint8_t largest = 0;
  double sum = 0;
  for (int64_t i = 0; i < width; i++) largest = given[i] > largest ? given[i] : largest;
  for (int64_t i = 0; i < width; i++) sum += weights[largest - given[i]];
  if (how->parabolas == NULL) {
    for (int64_t i = 0; i < width; i++) out[i] = cut_share(weights[largest - given[i]] / sum * how->parts + 0.5);
  } else {
    double power;
    const double inverse = invert_on_parabolas(floor(sum / how->unit) * how->unit, how->parabolas, &power);
    for (int64_t i = 0; i < width; i++) {
      const double share = floor(weights[largest - given[i]] * inverse / INVERSE_ONE) + (inverse < INVERSE_ONE);
      out[i] = cut_share(share / power * how->parts + 0.5);
    }
  }
  if (width == 2) out[0] = (uint8_t)(255 - out[1]);
}

static Status compute_byte_shares(void *state, void *context) {
  Shape shape, numbers;
  const uint8_t *given = read_input(context, 0, &shape);
  const double *weights = read_input(context, 1, &numbers);
  const double *parts = read_input(context, 2, &numbers);
  uint8_t *out = make_output(context, 0, &shape);
  int64_t width;
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL) return fail();
  const ByteShares how = {weights, numbers.count > 2 ? parts + 2 : NULL, parts[0], parts[1]};
  const int64_t rows = count_rows(&shape, &width);
  for (int64_t row = 0; row < rows; row++) share_bytes(&how, given + row * width, out + row * width, width);
  return NULL;
}

static inline float round_half(double number) {
  const double power = find_power(number), unit = (power > 0x1p-14 ? power : 0x1p-14) * 0x1p-10;
  return (float)(nearbyint(number / unit) * unit);
}

/* How rows of 16 bits are normalized: units are the last of the bits that a number between 1 and 2 keeps. */
typedef struct {
  double epsilon, factor, factor_unit, zero;
} Norm;

/* Both parts of a sum, of 16 bits each, times one over the number of what was added. */
static double find_mean(int64_t total, double count) {
  const double share = 1.0f / (float)count, share_unit = find_wide_unit(share) * 0x1p+22;
  const double high = (double)(total & ~(int64_t)0xFFFF), low = (double)(total & 0xFFFF);
  double mean, unit, rest, rest_unit;
  hold(high * share, find_wide_unit(high) * share_unit, &mean, &unit);
  hold(low * share, find_wide_unit(low) * share_unit, &rest, &rest_unit);
  add_one(&mean, &unit, rest, rest_unit);
  return mean;
}

static void normalize_row(const Norm *norm, const uint16_t *restrict given, const double *restrict weights,
                          const double *restrict added, uint16_t *restrict out, int64_t width) {
  const double count = (double)width;
  float steps[BLOCK];
  int64_t total = 0, squares = 0;
  /* From halfway through 16 bits: squares of distances from there have fewer bits. */
  for (int64_t i = 0; i < width; i++) {
    const int32_t moved = given[i] - 32768;
    total += moved;
    squares += (int64_t)moved * moved;
  }
  const double sum = (double)total, variance = ((double)squares * count - sum * sum) / (count * count);
  const double mean = find_mean(total + width * 32768, count);
  double factor = norm->factor / sqrt(variance + norm->epsilon);
  const double factor_unit = find_power(factor) * norm->factor_unit;
  factor = nearbyint(factor / factor_unit) * factor_unit;
  for (int64_t at = 0; at < width; at += BLOCK) {
    const int64_t part = width - at < BLOCK ? width - at : BLOCK;
    for (int64_t i = 0; i < part; i++)
      steps[i] = (float)floor((given[at + i] - mean) * (factor * weights[at + i]) + added[at + i]);
    store_words(steps, out, at, (float)norm->zero, part);
  }
}

/* Weights and what is added are one row each, as long as those of the input. */
static Status compute_norm(void *state, void *context) {
  Shape shape, rows, ignored;
  const uint16_t *given = read_input(context, 0, &shape);
  const double *operands = read_input(context, 1, &rows);
  const double *numbers = read_input(context, 2, &ignored);
  const Norm norm = {numbers[0], numbers[1], numbers[2], numbers[3]};
  const int64_t width = rows.sizes[1];
  uint16_t *out = make_output(context, 0, &shape);
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL) return fail();
  for (int64_t at = 0; at < shape.count; at += width)
    normalize_row(&norm, given + at, operands, operands + width, out + at, width);
  return NULL;
}

/* What a table has for each number; it has one for all that there may be. */
#define DEFINE_LOOK_UP(name, given_type, made_type)                                         \
  static Status compute_##name(void *state, void *context) {                                  \
    Shape shape, ignored;                                                                   \
    const given_type *restrict given = read_input(context, 0, &shape);                      \
    const made_type *restrict table = read_input(context, 1, &ignored);                     \
    made_type *restrict out = make_output(context, 0, &shape);                              \
    (void)state;                                                                            \
    if (shape.count == 0) return NULL;                                                      \
    if (out == NULL) return fail();                                                         \
    for (int64_t i = 0; i < shape.count; i++) out[i] = table[given[i]];                     \
    return NULL;                                                                            \
  }

DEFINE_LOOK_UP(byte_to_byte, uint8_t, uint8_t)
DEFINE_LOOK_UP(byte_to_word, uint8_t, uint16_t)
DEFINE_LOOK_UP(word_to_byte, uint16_t, uint8_t)
DEFINE_LOOK_UP(word_to_word, uint16_t, uint16_t)
