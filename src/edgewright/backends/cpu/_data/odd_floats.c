/* Floats as HTP's vectors hold them: odd numbers of half units (backends/htp/odd_floats.py). */

/* Of a double: where its exponent begins, and what stands for 0 there. */
enum { EXPONENT_PLACE = 52, EXPONENT_ZERO = 1023, EXPONENT_MASK = 0x7FF };
/* Whole units that a float of 24 bits has, and what is held in place of zero. */
static const double WIDE_MOST = 0x1p+23, NOTHING = 0x1p-151;

/* The largest power of two that is no larger than a number above zero. */
static inline double find_power(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  bits &= (uint64_t)EXPONENT_MASK << EXPONENT_PLACE;
  memcpy(&number, &bits, sizeof bits);
  return number;
}

static inline double make_power(int64_t exponent) {
  const uint64_t bits = (uint64_t)(EXPONENT_ZERO + exponent) << EXPONENT_PLACE;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

/* The unit of a number that becomes one of 11 bits: as HTP holds it, half a unit is always part of it. */
static inline double find_half_unit(double number) {
  const double power = find_power(number);
  return (power > 0x1p-14 ? power : 0x1p-14) * 0x1p-9;
}

/* The nearest number that can be held, of a unit or of twice that (backends/htp/odd_floats.py). */
static inline double settle(double number, double *unit, double most) {
  const double own = *unit, whole = nearbyint(number / own - 0.5), near = (whole + 0.5) * own;
  const double far = (nearbyint(number / (2 * own) - 0.5) + 0.5) * (2 * own);
  const double gap = fabs(near - number) - fabs(far - number);
  const int is_coarse = (whole >= most) | (whole < -most) | (gap > 0) | ((gap == 0) & (far < near));
  *unit = is_coarse ? 2 * own : own;
  return is_coarse ? far : near;
}

static inline double find_wide_unit(double number) {
  const double power = find_power(number) * 0x1p-22;
  return power > 2 * NOTHING ? power : 2 * NOTHING;
}

static inline void hold(double number, double unit, double *held, double *held_unit) {
  const double settled = settle(number, &unit, WIDE_MOST);
  *held = number == 0 ? NOTHING : settled;
  *held_unit = number == 0 ? 2 * NOTHING : unit;
}

static inline void add_one(double *number, double *unit, double other, double other_unit) {
  const double own = find_wide_unit(*number), others = find_wide_unit(other);
  const double finer = *unit < other_unit ? *unit : other_unit, coarser = own > others ? own : others;
  hold(*number + other, finer > coarser ? finer : coarser, number, unit);
}
