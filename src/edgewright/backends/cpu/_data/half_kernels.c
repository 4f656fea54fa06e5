/* Images of floats, of which HTP's vectors hold odd numbers of half units (backends/htp/odd_floats.py): a channel in
 * each lane. */

/* Sums of the places of an image, a channel in each lane, as backends/htp/half_means.py has them. */
typedef struct {
  double numbers[BLOCK], units[BLOCK];
} Held;

enum { ROWS = 4 };

static void fill_held(Held *restrict held, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    hold(held->numbers[i], find_wide_unit(held->numbers[i]), &held->numbers[i], &held->units[i]);
}

static void add_held(Held *restrict held, const Held *restrict other, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    add_one(&held->numbers[i], &held->units[i], other->numbers[i], other->units[i]);
}

static void add_place(Held *restrict held, const float *restrict given, int is_first, int64_t count) {
  Held place;
  for (int64_t i = 0; i < count; i++) {
    const double unit = find_wide_unit(given[i]), half = 0.5 * unit;
    place.numbers[i] = given[i] < 0 ? given[i] - half : given[i] + half;
    place.units[i] = unit;
  }
  if (is_first) *held = place;
  else add_held(held, &place, count);
}

/* Of every other column; rows of an image are so many numbers long, and so are places. */
static void sum_columns(Held *held, const float *given, int64_t rows, int64_t columns, int64_t first,
                        int64_t channels, int64_t count) {
  const int64_t whole = rows - rows % ROWS;
  int is_first = 1;
  for (int64_t top = 0; top < rows; top += ROWS)
    for (int64_t column = first; column < columns; column += 2) {
      const int64_t bottom = top < whole ? top + ROWS : rows;
      for (int64_t row = top; row < bottom; row++, is_first = 0)
        add_place(held, given + (row * columns + column) * channels, is_first, count);
      if (top == whole) fill_held(held, count);
    }
}

static void average_image(const float *given, const Shape *shape, const double *share, float *out, int64_t count) {
  const int64_t rows = shape->sizes[1], columns = shape->sizes[2], channels = shape->sizes[3];
  Held even, odd;
  sum_columns(&even, given, rows, columns, 0, channels, count);
  if (columns > 1) {
    sum_columns(&odd, given, rows, columns, 1, channels, count);
    add_held(&even, &odd, count);
  } else fill_held(&even, count);
  for (int64_t i = 0; i < count; i++) {
    double mean, unit;
    hold(even.numbers[i] * share[0], even.units[i] * share[1] * 0x1p+22, &mean, &unit);
    out[i] = round_half(mean);
  }
}

static Status compute_half_means(void *state, void *context) {
  Shape shape, ignored;
  const float *given = read_input(context, 0, &shape);
  const double *share = read_input(context, 1, &ignored);
  const int64_t channels = shape.sizes[3], size = shape.sizes[1] * shape.sizes[2] * channels;
  Shape made = shape;
  made.sizes[1] = made.sizes[2] = 1;
  float *out = make_output(context, 0, &made);
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL) return fail();
  for (int64_t image = 0; image < shape.sizes[0]; image++)
    for (int64_t at = 0; at < channels; at += BLOCK)
      average_image(given + image * size + at, &shape, share, out + image * channels + at,
                    channels - at < BLOCK ? channels - at : BLOCK);
  return NULL;
}

/* Numbers of 11 bits, as backends/htp/half_vectors.py has them. */
typedef struct {
  double number, unit;
} HeldHalf;

static inline double find_narrow_unit(double number) {
  const double power = find_power(number);
  return (power > 0x1p-15 ? power : 0x1p-15) * 0x1p-9;
}

static inline HeldHalf hold_half(double number, double unit) {
  const double settled = settle(number, &unit, HALF_MOST);
  const HeldHalf held = {number == 0 ? 0x1p-25 : settled, number == 0 ? 0x1p-24 : unit};
  return held;
}

static inline HeldHalf read_half(float number) {
  const HeldHalf stored = {number, find_half_unit(number)};
  return stored;
}

static inline double join_units(HeldHalf first, HeldHalf second) {
  const double own = find_narrow_unit(first.number), others = find_narrow_unit(second.number);
  const double finer = first.unit < second.unit ? first.unit : second.unit, coarser = own > others ? own : others;
  return finer > coarser ? finer : coarser;
}

static inline HeldHalf add_halves(HeldHalf first, HeldHalf second) {
  return hold_half(first.number + second.number, join_units(first, second));
}

/* Of two below zero the sum of what they are without their signs. */
static inline HeldHalf add_stored(HeldHalf first, HeldHalf second) {
  const double sign = copysign(1.0, first.number) + copysign(1.0, second.number) < 0 ? -1.0 : 1.0;
  HeldHalf held = hold_half((first.number + second.number) * sign, join_units(first, second));
  held.number *= sign;
  return held;
}

static inline HeldHalf weigh_half(HeldHalf held, double weight) {
  return hold_half(held.number * weight, held.unit * find_narrow_unit(weight) * 0x1p+9);
}

/* So much of the way from the first to the second. */
static inline HeldHalf blend_halves(float first, float second, double share) {
  return add_halves(weigh_half(add_stored(read_half(second), read_half(-first)), share), read_half(first));
}

/* What lies below another is added first. */
static void average_tile(const float *restrict above, const float *restrict below, int64_t channels, float *restrict out) {
  for (int64_t i = 0; i < channels; i++) {
    const float places[] = {above[i], below[i], above[i + channels], below[i + channels]};
    double numbers[4], units[4];
    for (int place = 0; place < 4; place++) {
      units[place] = find_wide_unit(places[place]);
      numbers[place] = places[place] < 0 ? places[place] - 0.5 * units[place] : places[place] + 0.5 * units[place];
    }
    add_one(&numbers[0], &units[0], numbers[1], units[1]);
    add_one(&numbers[2], &units[2], numbers[3], units[3]);
    add_one(&numbers[0], &units[0], numbers[2], units[2]);
    out[i] = round_half(numbers[0] / 4);
  }
}

static Status compute_half_tiles(void *state, void *context) {
  Shape shape, made;
  const float *given = read_input(context, 0, &shape);
  const int64_t channels = shape.sizes[3], line = shape.sizes[2] * channels;
  made = shape;
  made.sizes[1] /= 2, made.sizes[2] /= 2;
  float *out = make_output(context, 0, &made);
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL) return fail();
  for (int64_t image = 0; image < shape.sizes[0]; image++)
    for (int64_t row = 0; row < made.sizes[1]; row++)
      for (int64_t column = 0; column < made.sizes[2]; column++, out += channels) {
        const float *above = given + (image * shape.sizes[1] + 2 * row) * line + 2 * column * channels;
        average_tile(above, above + line, channels, out);
      }
  return NULL;
}

enum { AROUND = 3 };

/* The sums of three places of columns, of which the pair that two rows see is added first. */
static void add_columns(const float *restrict first, const float *restrict second, const float *restrict third,
                        Held *restrict sums, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const HeldHalf sum = add_halves(add_stored(read_half(first[i]), read_half(second[i])), read_half(third[i]));
    sums->numbers[i] = sum.number, sums->units[i] = sum.unit;
  }
}

static inline HeldHalf find_held(const Held *held, int64_t i) {
  const HeldHalf one = {held->numbers[i], held->units[i]};
  return one;
}

static void smooth_places(const Held *restrict left, const Held *restrict middle, const Held *restrict right,
                          double share, float *restrict out, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const HeldHalf pair = add_halves(find_held(left, i), find_held(middle, i));
    out[i] = round_half(weigh_half(add_halves(pair, find_held(right, i)), share).number);
  }
}

/* So many channels of a row of places, from the rows around it. */
static void smooth_row(const float *given, const Shape *shape, int64_t row, const double *shares, float *out,
                       int64_t count) {
  static const float nothing[BLOCK];
  const int64_t height = shape->sizes[1], width = shape->sizes[2], channels = shape->sizes[3], line = width * channels;
  const int64_t tall = 1 + (row > 0) + (row + 1 < height);
  Held columns[AROUND];
  add_columns(nothing, nothing, nothing, &columns[0], count);
  for (int64_t column = 0; column <= width; column++) {
    const float *here = given + row * line + column * channels;
    const int is_there = column < width;
    const float *above = is_there && row > 0 ? here - line : nothing;
    const float *below = is_there && row + 1 < height ? here + line : nothing;
    if (!is_there) here = nothing;
    Held *sums = &columns[(column + 1) % AROUND];
    if (row % 2) add_columns(above, here, below, sums, count);
    else add_columns(here, below, above, sums, count);
    if (column == 0) continue;
    const int64_t wide = 1 + (column > 1) + is_there;
    smooth_places(&columns[(column + 2) % AROUND], &columns[column % AROUND], sums, shares[tall * wide],
                  out + row * line + (column - 1) * channels, count);
  }
}

static Status compute_half_smoothing(void *state, void *context) {
  Shape shape, ignored;
  const float *given = read_input(context, 0, &shape);
  const double *shares = read_input(context, 1, &ignored);
  const int64_t channels = shape.sizes[3], size = shape.sizes[1] * shape.sizes[2] * channels;
  float *out = make_output(context, 0, &shape);
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL) return fail();
  for (int64_t image = 0; image < shape.sizes[0]; image++)
    for (int64_t at = 0; at < channels; at += BLOCK)
      for (int64_t row = 0; row < shape.sizes[1]; row++)
        smooth_row(given + image * size + at, &shape, row, shares, out + image * size + at,
                   channels - at < BLOCK ? channels - at : BLOCK);
  return NULL;
}

/* Of a place between two: where they are, and how far it is on the way. */
enum { FIRST, SECOND, SHARE, BETWEEN };

/* What lies between two, or the first of them where there is no way. */
static const float *blend_stored(const float *restrict first, const float *restrict second, const double *between,
                                 float *restrict blended, int64_t count) {
  const double share = between[SHARE];
  if (between[FIRST] == between[SECOND] || share == 0) return first;
  for (int64_t i = 0; i < count; i++) blended[i] = round_half(blend_halves(first[i], second[i], share).number);
  return blended;
}

/* What lies between columns is stored before rows are blended. */
static void enlarge_centred(const float *const *corners, const double *row, const double *column, int64_t count,
                            float *restrict out) {
  float sides[2][BLOCK];
  const float *above = blend_stored(corners[0], corners[1], column, sides[0], count);
  const float *below = blend_stored(corners[2], corners[3], column, sides[1], count);
  if (blend_stored(above, below, row, out, count) == above) memcpy(out, above, (size_t)count * sizeof *out);
}

static void blend_held(const float *restrict first, const float *restrict second, double share, Held *restrict held,
                       int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const HeldHalf blended = blend_halves(first[i], second[i], share);
    held->numbers[i] = blended.number, held->units[i] = blended.unit;
  }
}

/* What lies between columns is held; two rows are weighed and added. */
static void enlarge_from_corner(const float *const *corners, const double *row, const double *column, int64_t count,
                                float *restrict out) {
  const double share = row[SHARE];
  Held above, below;
  blend_held(corners[0], corners[1], column[SHARE], &above, count);
  if (share != 0) blend_held(corners[2], corners[3], column[SHARE], &below, count);
  if (share == 0)
    for (int64_t i = 0; i < count; i++) out[i] = round_half(above.numbers[i]);
  else
    for (int64_t i = 0; i < count; i++) {
      const HeldHalf upper = weigh_half(find_held(&above, i), 1 - share);
      out[i] = round_half(add_halves(upper, weigh_half(find_held(&below, i), share)).number);
    }
}

/* Places of rows and columns are one row of three numbers each; the last input says whether they are centred. */
static Status compute_half_enlarging(void *state, void *context) {
  Shape shape, rows, columns, ignored;
  const float *given = read_input(context, 0, &shape);
  const double *row = read_input(context, 1, &rows), *column = read_input(context, 2, &columns);
  const double *is_centred = read_input(context, 3, &ignored);
  const int64_t channels = shape.sizes[3], line = shape.sizes[2] * channels;
  Shape made = shape;
  made.sizes[1] = rows.sizes[0], made.sizes[2] = columns.sizes[0];
  float *out = make_output(context, 0, &made);
  (void)state;
  if (shape.count == 0) return NULL;
  if (out == NULL) return fail();
  for (int64_t image = 0; image < shape.sizes[0]; image++, given += shape.sizes[1] * line)
    for (int64_t y = 0; y < made.sizes[1]; y++)
      for (int64_t x = 0; x < made.sizes[2]; x++, out += channels)
        for (int64_t at = 0; at < channels; at += BLOCK) {
          const double *above = row + y * BETWEEN, *beside = column + x * BETWEEN;
          const int64_t count = channels - at < BLOCK ? channels - at : BLOCK;
          const float *corners[4];
          for (int corner = 0; corner < 4; corner++)
            corners[corner] = given + (int64_t)above[corner / 2] * line + (int64_t)beside[corner % 2] * channels + at;
          (is_centred[0] ? enlarge_centred : enlarge_from_corner)(corners, above, beside, count, out + at);
        }
  return NULL;
}
