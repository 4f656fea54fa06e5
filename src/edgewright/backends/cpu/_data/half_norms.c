/* LayerNorm of floats (backends/htp/half_norms.py), which has the reasons; between its steps vectors are stored, so
 * that numbers alone are kept. */

enum { NORM_LANES = 32, MEASURED = 256, ROOT_GUESS = 0x5F375A86, ROOT_TURNS = 3 };

/* Of as many numbers as counted: a mean, and squares of distances from it, added up. */
typedef struct {
  double mean, squares, count;
} Moments;

/* A number of vectors, and its unit. */
typedef struct {
  double number, unit;
} Wide;

static inline Wide read_wide(double number) {
  const Wide wide = {number, find_wide_unit(fabs(number))};
  return wide;
}

static inline Wide hold_wide(double number, double unit) {
  Wide wide;
  hold(number, unit, &wide.number, &wide.unit);
  return wide;
}

static inline Wide widen_half(float number) {
  const double unit = find_wide_unit(number);
  const Wide wide = {number < 0 ? number - 0.5 * unit : number + 0.5 * unit, unit};
  return wide;
}

static inline Wide add_wide(Wide first, Wide second) {
  add_one(&first.number, &first.unit, second.number, second.unit);
  return first;
}

static inline Wide multiply_wide(Wide first, Wide second) {
  return hold_wide(first.number * second.number, first.unit * second.unit * 0x1p+22);
}

/* The sum of two below zero is that of what they are without their signs. */
static inline Wide add_signed(double first, double second) {
  const double sign = first < 0 && second < 0 ? -1.0 : 1.0;
  Wide sum = add_wide(read_wide(first * sign), read_wide(second * sign));
  sum.number *= sign;
  return sum;
}

/* And so is a product below zero. */
static inline Wide multiply_signed(double first, double second) {
  const double sign = first * second < 0 ? -1.0 : 1.0;
  Wide product = multiply_wide(read_wide(first * sign), read_wide(second));
  product.number *= sign;
  return product;
}

/* The same of numbers side by side. */
typedef struct {
  double means[NORM_LANES], squares[NORM_LANES], counts[NORM_LANES];
} Lanes;

/* The next number of each lane; all have as many. */
static void measure_lanes(const float *restrict given, Lanes *restrict lanes, int64_t count) {
  const double counted = lanes->counts[0] + 1, share = 1.0f / (float)counted;
  for (int64_t i = 0; i < count; i++) {
    const double number = widen_half(given[i]).number, gap = add_signed(number, -lanes->means[i]).number;
    const double mean = add_wide(read_wide(lanes->means[i]), multiply_signed(gap, share)).number;
    const double rest = add_signed(number, -mean).number;
    lanes->squares[i] = add_wide(read_wide(lanes->squares[i]), multiply_signed(gap, rest)).number;
    lanes->means[i] = mean;
  }
  for (int64_t i = 0; i < count; i++) lanes->counts[i] = counted;
}

/* Those of blocks were stored, and so is the gap between their means. */
static Moments join_moments(Moments first, Moments second, int is_stored) {
  const float count = (float)(first.count + second.count);
  Wide gap = add_signed(second.mean, -first.mean);
  Wide share = multiply_wide(read_wide(second.count), read_wide(1.0f / count));
  if (is_stored) gap = read_wide(gap.number), share = read_wide((float)second.count / count);
  const Wide part = is_stored ? multiply_signed(gap.number, share.number) : multiply_wide(gap, share);
  const Wide between = multiply_wide(multiply_wide(gap, gap), multiply_wide(share, read_wide(first.count)));
  const Wide squares = add_wide(read_wide(first.squares), read_wide(second.squares));
  const Moments both = {add_wide(read_wide(first.mean), part).number, add_wide(squares, between).number, count};
  return both;
}

static Moments measure_block(const float *restrict given, int64_t count) {
  Lanes lanes;
  Moments joined[NORM_LANES];
  int64_t left = count < NORM_LANES ? count : NORM_LANES;
  for (int64_t i = 0; i < left; i++)
    lanes.means[i] = widen_half(given[i]).number, lanes.squares[i] = 0, lanes.counts[i] = 1;
  for (int64_t at = NORM_LANES; at < count; at += NORM_LANES)
    measure_lanes(given + at, &lanes, count - at < NORM_LANES ? count - at : NORM_LANES);
  for (int64_t i = 0; i < left; i++) {
    const Moments lane = {lanes.means[i], lanes.squares[i], lanes.counts[i]};
    joined[i] = lane;
  }
  /* Of an odd number of lanes the last one waits. */
  for (; left > 1; left = (left + 1) / 2)
    for (int64_t i = 0; i < left; i += 2)
      joined[i / 2] = i + 1 < left ? join_moments(joined[i], joined[i + 1], 0) : joined[i];
  return joined[0];
}

static double invert_root(double number, int turns) {
  const float single = (float)number;
  int32_t bits;
  float guess;
  memcpy(&bits, &single, sizeof bits);
  bits = ROOT_GUESS - (bits >> 1);
  memcpy(&guess, &bits, sizeof guess);
  const double half = multiply_wide(read_wide(number), read_wide(0.5)).number;
  double inverse = guess;
  for (int turn = 0; turn < turns; turn++) {
    Wide product = multiply_wide(read_wide(half), read_wide(inverse));
    product = multiply_wide(read_wide(product.number), read_wide(inverse));
    product.number = -product.number;
    const double factor = add_wide(read_wide(1.5), product).number;
    inverse = multiply_wide(read_wide(inverse), read_wide(factor)).number;
  }
  return inverse;
}

static void normalize_halves(const float *restrict given, const float *restrict weights, const float *restrict bias,
                             double epsilon, float *restrict out, int64_t width) {
  Moments row = measure_block(given, width < MEASURED ? width : MEASURED);
  for (int64_t at = MEASURED; at < width; at += MEASURED)
    row = join_moments(row, measure_block(given + at, width - at < MEASURED ? width - at : MEASURED), 1);
  const Wide variance = multiply_signed(row.squares, 1.0f / (float)row.count);
  const Wide root = read_wide(invert_root(add_wide(variance, read_wide(epsilon)).number, ROOT_TURNS)), mean = read_wide(-row.mean);
  for (int64_t i = 0; i < width; i++) {
    const Wide factor = multiply_wide(root, widen_half(weights[i]));
    out[i] = round_half(add_wide(multiply_wide(add_wide(widen_half(given[i]), mean), factor), widen_half(bias[i])).number);
  }
}

static Status compute_half_norm(void *state, void *context) {
  Shape shape, row, other, ignored;
  const float *given = read_input(context, 0, &shape);
  const float *weights = read_input(context, 1, &row);
  const float *bias = read_input(context, 2, &other);
  const double *epsilon = read_input(context, 3, &ignored);
  float *out = make_output(context, 0, &shape);
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL || row.count == 0 || other.count != row.count || shape.count % row.count) return fail();
  for (int64_t at = 0; at < shape.count; at += row.count)
    normalize_halves(given + at, weights, bias, epsilon[0], out + at, row.count);
  return NULL;
}
