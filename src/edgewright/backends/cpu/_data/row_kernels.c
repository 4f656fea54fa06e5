/* Rows of numbers: looked up, and as shares of one. Operations are those of numpy (backends/htp) or of the engine's
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

/* A reciprocal by Newton's method, from one half, in as many bits as the number has; products with it lose so many. */
static int64_t invert_whole(int64_t number, int64_t *lost) {
  int64_t bits = 0;
  while (number >> (bits + 1)) bits++;
  const int64_t kept = bits < RECIPROCAL_BITS ? bits : RECIPROCAL_BITS;
  int64_t inverse = ((int64_t)1 << kept) >> 1;
  for (int turn = 0; turn < TURNS; turn++)
    inverse = multiply_cut(inverse, ((int64_t)2 << bits) - multiply_cut(number, inverse, kept), bits);
  *lost = bits + kept;
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
  const int64_t inverse = invert_whole(sum >> 1, &bits);
  for (int64_t i = 0; i < width; i++) {
    const int64_t share = multiply_cut(out[i], inverse, bits - SHARE_BITS);
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
 * reciprocal and the unit of sums; that of many is found by Newton's method. */
typedef struct {
  const double *weights, *parabolas;
  double parts, unit;
  int are_many;
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
  if (how->are_many) {
    int64_t lost;
    const double inverse = (double)invert_whole((int64_t)sum, &lost), parts = how->parts / make_power(lost);
    for (int64_t i = 0; i < width; i++) out[i] = cut_share(weights[largest - given[i]] * inverse * parts + 0.5);
  } else if (how->parabolas == NULL) {
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
  const int are_many = numbers.count == 1;
  const ByteShares how = {weights, numbers.count > 2 ? parts + 2 : NULL, parts[0], are_many ? 1 : parts[1], are_many};
  const int64_t rows = count_rows(&shape, &width);
  for (int64_t row = 0; row < rows; row++) share_bytes(&how, given + row * width, out + row * width, width);
  return NULL;
}

static inline float round_half(double number) {
  const double power = find_power(number), unit = (power > 0x1p-14 ? power : 0x1p-14) * 0x1p-10;
  return (float)(nearbyint(number / unit) * unit);
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
