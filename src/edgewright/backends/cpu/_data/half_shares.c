/* Softmax of floats (backends/htp/half_shares.py), which has the reasons. */

enum { SHARE_LANES = 32, SHARE_GUESS = 0x5F3759DF, FEWEST_ROUNDED = 5, ONE_BITS = 127 << 23 };
enum { READ_BITS = 16, CUBIC = 653824, QUADRATIC = 1897600, LINEAR = 2551968, MOVED = 626 };
static const double STEPS = 12102203.0, STEPS_UNIT = 2.0, FARTHEST = 80.0, FARTHEST_UNIT = 0x1p-16;

/* In whole units of the coarser of two numbers, multiples of four of which cannot be held; then in single precision. */
static inline Wide measure_distance(double largest, double number) {
  const double first = find_half_unit(largest), second = find_half_unit(number);
  double unit = first > second ? first : second;
  const double apart = (largest < 0) != (number < 0) ? largest - number : number - largest;
  const double settled = fabs(settle(apart, &unit, HALF_MOST)), finer = unit * 0x1p-13;
  const double distance = apart == 0 ? 0 : settled - 0.5 * finer;
  const Wide near = {distance, finer}, far = {FARTHEST, FARTHEST_UNIT};
  return distance < FARTHEST ? near : far;
}

/* e to the power of minus a distance: the bits of a float. */
static inline int32_t find_power_bits(Wide distance) {
  double steps, ignored;
  hold(distance.number * STEPS, distance.unit * STEPS_UNIT * 0x1p+22, &steps, &ignored);
  const int64_t bits = ONE_BITS - (distance.number == 0 ? 0 : (int64_t)steps), place = (bits >> 7) & 0xFFFF;
  const int64_t slope = (((CUBIC * place) >> READ_BITS) + QUADRATIC) * place >> READ_BITS;
  return (int32_t)(bits + ((slope - LINEAR) * place >> READ_BITS) - MOVED);
}

/* Powers wait in the output for their sum. */
static void find_powers(const float *restrict given, double factor, double largest, float *restrict out, int64_t width) {
  for (int64_t i = 0; i < width; i++) {
    const int32_t bits = find_power_bits(measure_distance(largest, given[i] * factor));
    memcpy(out + i, &bits, sizeof bits);
  }
}

static void read_powers(const float *restrict powers, Held *restrict held, int64_t count) {
  for (int64_t i = 0; i < SHARE_LANES; i++) {
    const double number = i < count ? powers[i] : NOTHING;
    held->numbers[i] = number;
    held->units[i] = find_wide_unit(number);
  }
}

/* Lane by lane first, then neighbours; all lanes that hold nothing count as one. */
static Wide add_powers(const float *powers, int64_t width) {
  Held total, more;
  int lanes = SHARE_LANES;
  while (lanes / 2 >= width) lanes /= 2;
  const int is_filled = lanes == SHARE_LANES;
  read_powers(powers, &total, width);
  for (int64_t at = SHARE_LANES; at < width; at += SHARE_LANES) {
    read_powers(powers + at, &more, width - at);
    add_held(&total, &more, SHARE_LANES);
  }
  for (lanes /= 2; lanes > 0; lanes /= 2)
    for (int i = 0; i < lanes; i++) {
      const int first = 2 * i, second = first + 1;
      total.numbers[i] = total.numbers[first], total.units[i] = total.units[first];
      add_one(&total.numbers[i], &total.units[i], total.numbers[second], total.units[second]);
    }
  const Wide sum = {total.numbers[0], total.units[0]};
  return is_filled ? sum : add_wide(sum, read_wide(NOTHING));
}

/* One over the root of a square: a guess by its bits, and one turn of Newton's method. */
static Wide invert_sum(Wide sum) {
  const Wide square = multiply_wide(sum, sum);
  const float stored = (float)square.number;
  float guess;
  int32_t bits;
  memcpy(&bits, &stored, sizeof bits);
  bits = SHARE_GUESS - (bits >> 1);
  memcpy(&guess, &bits, sizeof guess);
  const Wide inverse = read_wide(guess);
  Wide product = multiply_wide(multiply_wide(square, widen_half(0.5f)), multiply_wide(inverse, inverse));
  product.number = -product.number;
  return read_wide(multiply_wide(hold_wide(guess, inverse.unit), add_wide(widen_half(1.5f), product)).number);
}

/* No number where one of them is none. */
static double find_largest(const float *restrict given, double factor, int64_t width) {
  double largest = given[0] * factor;
  for (int64_t i = 1; i < width; i++) {
    const double number = given[i] * factor;
    largest = number > largest || number != number ? number : largest;
  }
  return largest;
}

static void share_halves(const float *restrict given, double factor, float *restrict out, int64_t width) {
  const double largest = find_largest(given, factor, width);
  if (!(fabs(largest) < INFINITY)) {
    for (int64_t i = 0; i < width; i++) out[i] = NAN;
    return;
  }
  find_powers(given, factor, largest, out, width);
  const Wide inverse = invert_sum(add_powers(out, width));
  for (int64_t i = 0; i < width; i++) {
    const Wide power = width < FEWEST_ROUNDED ? read_wide(out[i]) : widen_half(round_half(out[i]));
    out[i] = round_half(multiply_wide(power, inverse).number);
  }
}

static Status compute_half_shares(void *state, void *context) {
  Shape shape, ignored;
  const float *given = read_input(context, 0, &shape);
  const double *factor = read_input(context, 1, &ignored);
  float *out = make_output(context, 0, &shape);
  int64_t width;
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL) return fail();
  const int64_t rows = count_rows(&shape, &width);
  for (int64_t row = 0; row < rows; row++) share_halves(given + row * width, factor[0], out + row * width, width);
  return NULL;
}
