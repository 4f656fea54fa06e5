/* Convolutions of 8 and 16 bits, channels last: sums of a few places at a time, which are rounded and stored while
 * the cache still has them. */

/* The places of a window that lie inside of an image, along one axis. */
typedef struct {
  int64_t first;
  int64_t end;
  int64_t start;
} Span;

static Span find_span(int64_t at, const Window *window, int axis, int64_t places, int64_t size) {
  Span span = {0, places, at * window->stride[axis] - window->before[axis]};
  while (span.first < places && span.start + span.first * window->gap[axis] < 0) span.first++;
  while (span.end > span.first && span.start + (span.end - 1) * window->gap[axis] >= size) span.end--;
  return span;
}

static int64_t count_places(const Window *window, int axis, int64_t size, int64_t places) {
  const int64_t room = size + window->before[axis] + window->after[axis] - (places - 1) * window->gap[axis] - 1;
  return room < 0 ? 0 : room / window->stride[axis] + 1;
}

/* Of an image, what a window sees of it, and what becomes of the sums. Of 16 bits the high and the low bytes have
 * sums of their own. */
typedef struct {
  const Kernel *kernel;
  const void *image;
  const int8_t *weights;
  const int32_t *starts;
  const float *units;
  const float *bias;
  Operands operands;
  /* Of the image, of the window, of the result. */
  int64_t height, width, channels, rows, columns, made_height, made_width, made_channels;
  int64_t groups, quads, lanes;
  /* Sums of one byte, and of the other. */
  float *sums[2];
  uint8_t *bytes[2];
  int32_t *tile;
} Product;

static int64_t find_place(const Product *p, int64_t y, int64_t x) { return (y * p->width + x) * p->channels; }

static void store_sums(const Product *p, void *out, int64_t at, int64_t count) {
  const int is_wide = p->kernel->is_wide;
  void *stored = is_wide ? (void *)((uint16_t *)out + at) : (void *)((uint8_t *)out + at);
  round_rows(p->kernel, p->sums[0], is_wide ? p->sums[1] : NULL, stored, count, p->operands);
}

/* The sums of some channels at one place; `count` is a constant wherever this is used, so that sums stay in
 * registers. A byte less its zero times a weight has 16 bits. */
#define DEFINE_LANES(name, type, read)                                                                          \
  static inline __attribute__((always_inline)) void name(const Product *p, Span rows, Span columns, int64_t from, \
                                                         int count, int zero, float *restrict out) {            \
    int32_t sums[WIDEST] = {0};                                                                                 \
    const int16_t less = (int16_t)zero;                                                                         \
    for (int64_t row = rows.first; row < rows.end; row++)                                                       \
      for (int64_t column = columns.first; column < columns.end; column++) {                                    \
        const int64_t y = rows.start + row * p->kernel->window.gap[0];                                          \
        const int64_t x = columns.start + column * p->kernel->window.gap[1];                                    \
        const type *restrict values = (const type *)p->image + find_place(p, y, x) + from;                      \
        const int8_t *restrict factors = p->weights + (row * p->columns + column) * p->channels + from;         \
        for (int i = 0; i < count; i++) sums[i] += (int16_t)((int16_t)((int16_t)(read) - less) * factors[i]);   \
      }                                                                                                         \
    for (int i = 0; i < count; i++) out[from + i] = (float)sums[i] * p->units[from + i] + p->bias[from + i];    \
  }

DEFINE_LANES(sum_bytes, uint8_t, values[i])
DEFINE_LANES(sum_high, uint16_t, values[i] >> 8)
DEFINE_LANES(sum_low, uint16_t, values[i] & 255)

#define DEFINE_PLACE(name, sum)                                                                              \
  static void name(const Product *p, Span rows, Span columns, int zero, float *restrict out) {              \
    int64_t channel = 0;                                                                                     \
    for (; channel + WIDEST <= p->channels; channel += WIDEST) sum(p, rows, columns, channel, WIDEST, zero, out); \
    for (; channel + NARROW <= p->channels; channel += NARROW) sum(p, rows, columns, channel, NARROW, zero, out); \
    for (; channel < p->channels; channel++) sum(p, rows, columns, channel, 1, zero, out);                   \
  }

DEFINE_PLACE(sum_place, sum_bytes)
DEFINE_PLACE(sum_high_place, sum_high)
DEFINE_PLACE(sum_low_place, sum_low)

/* A depthwise convolution: a row of results at a time, or what fits. */
static void compute_one_depthwise(Product *p, void *out) {
  const Window *window = &p->kernel->window;
  const int zero = (int)p->kernel->given;
  int64_t filled = 0, written = 0;
  for (int64_t y = 0; y < p->made_height; y++) {
    const Span rows = find_span(y, window, 0, p->rows, p->height);
    for (int64_t x = 0; x < p->made_width; x++, filled++) {
      const Span columns = find_span(x, window, 1, p->columns, p->width);
      if (filled == TILE_ROWS) {
        store_sums(p, out, written * p->channels, filled * p->channels);
        written += filled;
        filled = 0;
      }
      if (p->kernel->is_wide) {
        sum_high_place(p, rows, columns, zero >> 8, p->sums[0] + filled * p->channels);
        sum_low_place(p, rows, columns, zero & 255, p->sums[1] + filled * p->channels);
      } else sum_place(p, rows, columns, zero, p->sums[0] + filled * p->channels);
    }
  }
  store_sums(p, out, written * p->channels, filled * p->channels);
}

/* What the window sees at one place of one group, as one row of bytes (of 16 bits: two), zeros at its end. */
static void gather_row(const Product *p, int64_t y, int64_t x, int64_t group, int64_t row) {
  const Window *window = &p->kernel->window;
  const int64_t depth = p->channels / p->groups, length = p->quads * 4;
  uint8_t *restrict high = p->bytes[0] + row * length, *restrict low = p->bytes[1] + row * length;
  const int given = (int)p->kernel->given;
  int64_t at = 0;
  for (int64_t i = 0; i < p->rows; i++)
    for (int64_t j = 0; j < p->columns; j++, at += depth) {
      const int64_t from_y = y * window->stride[0] - window->before[0] + i * window->gap[0];
      const int64_t from_x = x * window->stride[1] - window->before[1] + j * window->gap[1];
      const int is_inside = from_y >= 0 && from_y < p->height && from_x >= 0 && from_x < p->width;
      const int64_t place = is_inside ? find_place(p, from_y, from_x) + group * depth : 0;
      if (p->kernel->is_wide) {
        const uint16_t *restrict words = (const uint16_t *)p->image + place;
        for (int64_t k = 0; k < depth; k++) {
          const int word = is_inside ? words[k] : given;
          high[at + k] = (uint8_t)(word >> 8);
          low[at + k] = (uint8_t)word;
        }
      } else if (is_inside) memcpy(high + at, (const uint8_t *)p->image + place, (size_t)depth);
      else memset(high + at, given, (size_t)depth);
    }
}

/* A tile of sums: rows of bytes times some lanes of weights, four bytes at a time. The same whole numbers either
 * way; a processor that has an instruction for four bytes is told so. */
#ifdef __AVX512VNNI__
#include <immintrin.h>
static inline __attribute__((always_inline)) void multiply_lanes(const Product *p, const uint8_t *rows,
                                                                 const int8_t *weights, const int32_t *starts,
                                                                 int32_t *out, const int vectors) {
  __m512i sums[TILE_ROWS][MOST_VECTORS];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; v++)
#pragma GCC unroll 8
    for (int row = 0; row < TILE_ROWS; row++) sums[row][v] = _mm512_loadu_si512(starts + v * LANES);
  for (int64_t quad = 0; quad < p->quads; quad++) {
    __m512i factors[MOST_VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
      factors[v] = _mm512_loadu_si512(weights + (quad * p->lanes + v * LANES) * 4);
#pragma GCC unroll 8
    for (int row = 0; row < TILE_ROWS; row++) {
      int32_t four;
      memcpy(&four, rows + (row * p->quads + quad) * 4, sizeof four);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; v++)
        sums[row][v] = _mm512_dpbusd_epi32(sums[row][v], _mm512_set1_epi32(four), factors[v]);
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < TILE_ROWS; row++)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) _mm512_storeu_si512(out + row * p->lanes + v * LANES, sums[row][v]);
}
#else
static inline __attribute__((always_inline)) void multiply_lanes(const Product *p, const uint8_t *rows,
                                                                 const int8_t *weights, const int32_t *starts,
                                                                 int32_t *out, const int vectors) {
  for (int row = 0; row < TILE_ROWS; row++) {
    int32_t sums[MOST_VECTORS * LANES];
    for (int i = 0; i < vectors * LANES; i++) sums[i] = starts[i];
    for (int64_t quad = 0; quad < p->quads; quad++) {
      const uint8_t *four = rows + (row * p->quads + quad) * 4;
      const int8_t *restrict factors = weights + quad * p->lanes * 4;
      for (int i = 0; i < vectors * LANES; i++)
        sums[i] += four[0] * factors[4 * i] + four[1] * factors[4 * i + 1] + four[2] * factors[4 * i + 2] +
                   four[3] * factors[4 * i + 3];
    }
    memcpy(out + row * p->lanes, sums, (size_t)vectors * LANES * sizeof(int32_t));
  }
}
#endif

static void multiply_tile(const Product *p, const uint8_t *rows, const int8_t *weights, const int32_t *starts) {
  const int64_t all = p->lanes / LANES, parts = (all + MOST_VECTORS - 1) / MOST_VECTORS;
  for (int64_t part = 0; part < parts; part++) {
    const int64_t from = all * part / parts * LANES, end = all * (part + 1) / parts * LANES;
    const int8_t *factors = weights + from * 4;
    switch ((end - from) / LANES) {
      case 1: multiply_lanes(p, rows, factors, starts + from, p->tile + from, 1); break;
      case 2: multiply_lanes(p, rows, factors, starts + from, p->tile + from, 2); break;
      case 3: multiply_lanes(p, rows, factors, starts + from, p->tile + from, 3); break;
      default: multiply_lanes(p, rows, factors, starts + from, p->tile + from, MOST_VECTORS);
    }
  }
}

/* The sums of one group of channels of some places. */
static void multiply_group(const Product *p, int64_t first, int64_t count, int64_t group) {
  const int64_t width = p->made_channels / p->groups, from = group * width;
  const int8_t *weights = p->weights + group * p->quads * p->lanes * 4;
  for (int64_t row = 0; row < count; row++)
    gather_row(p, (first + row) / p->made_width, (first + row) % p->made_width, group, row);
  for (int byte = 0; byte <= p->kernel->is_wide; byte++) {
    multiply_tile(p, p->bytes[byte], weights, p->starts + (byte * p->groups + group) * p->lanes);
    for (int64_t row = 0; row < count; row++) {
      float *restrict sums = p->sums[byte] + row * p->made_channels + from;
      const int32_t *restrict whole = p->tile + row * p->lanes;
      for (int64_t i = 0; i < width; i++) sums[i] = (float)whole[i] * p->units[from + i] + p->bias[from + i];
    }
  }
}

static void compute_one_product(Product *p, void *out) {
  const int64_t places = p->made_height * p->made_width;
  for (int64_t first = 0; first < places; first += TILE_ROWS) {
    const int64_t count = places - first < TILE_ROWS ? places - first : TILE_ROWS;
    for (int64_t group = 0; group < p->groups; group++) multiply_group(p, first, count, group);
    store_sums(p, out, first * p->made_channels, count * p->made_channels);
  }
}

/* Room for what is computed at once; 0 where there is none. */
static int make_room(Product *p) {
  const size_t sums = (size_t)(TILE_ROWS * p->made_channels), bytes = (size_t)(TILE_ROWS * p->quads * 4);
  const size_t tile = (size_t)(TILE_ROWS * p->lanes);
  float *room = malloc(2 * sums * sizeof(float) + 2 * bytes + tile * sizeof(int32_t));
  if (room == NULL) return 0;
  p->sums[0] = room;
  p->sums[1] = room + sums;
  p->tile = (int32_t *)(room + 2 * sums);
  p->bytes[0] = (uint8_t *)(p->tile + tile);
  p->bytes[1] = p->bytes[0] + bytes;
  memset(p->bytes[0], 0, 2 * bytes);
  return 1;
}

static void compute_images(Product *p, const Shape *shape, Shape *made, void *context,
                           void (*compute_one)(Product *, void *)) {
  const int64_t size = p->kernel->is_wide ? 2 : 1;
  p->height = shape->sizes[1];
  p->width = shape->sizes[2];
  p->channels = shape->sizes[3];
  p->made_height = made->sizes[1] = count_places(&p->kernel->window, 0, p->height, p->rows);
  p->made_width = made->sizes[2] = count_places(&p->kernel->window, 1, p->width, p->columns);
  p->made_channels = made->sizes[3];
  const int64_t count = made->sizes[1] * made->sizes[2] * made->sizes[3];
  char *out = make_output(context, 0, made);
  if (out == NULL || !make_room(p)) return;
  for (int64_t image = 0; image < shape->sizes[0]; image++, out += count * size) {
    compute_one(p, out);
    p->image = (const char *)p->image + p->height * p->width * p->channels * size;
  }
  free(p->sums[0]);
}

/* Inputs: images, weights [rows, columns, channels], a unit and a bias for each channel, operands of the steps. */
static void compute_depthwise(void *state, void *context) {
  const Kernel *kernel = state;
  Shape shape, kernels, steps, ignored;
  Product p = {.kernel = kernel};
  p.image = read_input(context, 0, &shape);
  p.weights = read_input(context, 1, &kernels);
  p.units = read_input(context, 2, &ignored);
  p.bias = read_input(context, 3, &ignored);
  p.operands.single = read_input(context, 4, &steps);
  p.operands.real = read_input(context, 5, &ignored);
  p.operands.width = steps.sizes[1];
  p.rows = kernels.sizes[0];
  p.columns = kernels.sizes[1];
  Shape made = shape;
  compute_images(&p, &shape, &made, context, compute_one_depthwise);
}

/* The same with weights [groups, quads, lanes, 4], and the numbers that sums begin with [bytes, groups, lanes]. */
static void compute_product(void *state, void *context) {
  const Kernel *kernel = state;
  Shape shape, packed, units, steps, ignored;
  Product p = {.kernel = kernel, .rows = kernel->places[0], .columns = kernel->places[1]};
  p.image = read_input(context, 0, &shape);
  p.weights = read_input(context, 1, &packed);
  p.units = read_input(context, 2, &units);
  p.bias = read_input(context, 3, &ignored);
  p.operands.single = read_input(context, 4, &steps);
  p.operands.real = read_input(context, 5, &ignored);
  p.starts = read_input(context, 6, &ignored);
  p.operands.width = steps.sizes[1];
  p.groups = packed.sizes[0];
  p.quads = packed.sizes[1];
  p.lanes = packed.sizes[2];
  Shape made = shape;
  made.sizes[3] = units.count;
  compute_images(&p, &shape, &made, context, compute_one_product);
}

