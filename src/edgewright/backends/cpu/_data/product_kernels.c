/* Convolutions of 8 and 16 bits, channels last: sums of a few places at a time, which are rounded and stored while
 * the cache still has them. */

#ifdef __AVX512VNNI__
#include <immintrin.h>
#endif

static int64_t count_places(const Window *window, int axis, int64_t size, int64_t places) {
  const int64_t room = size - (places - 1) * window->gap[axis] - 1;
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
  /* Of the image with its padding, of the window, of the result. */
  int64_t height, width, channels, rows, columns, made_height, made_width, made_channels;
  int64_t groups, quads, lanes;
  /* Of rows of bytes that are multiplied; whether those of the image serve. */
  int64_t stride;
  int is_plain;
  /* Places whose sums are held until they are rounded. */
  int64_t held;
  /* Of high and low bytes, or of the only ones: zeros, sums, what is multiplied at once, images. */
  int32_t zeros[2];
  float *sums[2];
  uint8_t *bytes[2];
  const uint8_t *planes[2];
  int32_t *tile;
  /* Of a depthwise product: how far the places of its window are from the first, and weights as they are multiplied. */
  int64_t *offsets;
  int8_t *packed;
  int32_t *begins;
} Product;

/* The first channel that the window sees where a result is computed. */
static int64_t find_place(const Product *p, int64_t place) {
  const int64_t y = place / p->made_width * p->kernel->window.stride[0];
  const int64_t x = place % p->made_width * p->kernel->window.stride[1];
  return (y * p->width + x) * p->channels;
}

static void store_sums(const Product *p, void *out, int64_t at, int64_t count) {
  const int is_wide = p->kernel->is_wide;
  void *stored = is_wide ? (void *)((uint16_t *)out + at) : (void *)((uint8_t *)out + at);
  round_rows(p->kernel, p->sums[0], is_wide ? p->sums[1] : NULL, stored, count, p->operands);
}

/* Of the places of a window of one channel; those behind the last, which have no weights, see the first. */
static void find_offsets(Product *p) {
  const int64_t *gap = p->kernel->window.gap;
  for (int64_t place = 0; place < p->quads * 4; place++) {
    const int64_t y = place / p->columns * gap[0], x = place % p->columns * gap[1];
    p->offsets[place] = place < p->rows * p->columns ? (y * p->width + x) * p->channels : 0;
  }
}

/* The sums of some channels at one place, of bytes that are counted from zero. */
#ifdef __AVX512VNNI__
/* Four places of the window are multiplied at once, which brings the channels of a block into another order. */
#define ORDER(channel) (((channel) >> 2 & 3) * LANES + ((channel) >> 4) * 4 + ((channel) & 3))

/* Weights [quads, lanes, 4], zeros at the ends, and what takes the zeros off the sums: [bytes, lanes]. */
static void pack_channels(Product *p) {
  const int64_t window = p->rows * p->columns;
  find_offsets(p);
  memset(p->packed, 0, (size_t)(p->quads * p->lanes * 4));
  memset(p->begins, 0, (size_t)(2 * p->lanes) * sizeof(int32_t));
  for (int64_t place = 0; place < window; place++)
    for (int64_t i = 0; i < p->channels; i++) {
      const int64_t lane = i / CHANNELS * CHANNELS + ORDER(i % CHANNELS);
      const int8_t weight = p->weights[place * p->channels + i];
      p->packed[(place / 4 * p->lanes + lane) * 4 + place % 4] = weight;
      for (int byte = 0; byte < 2; byte++) p->begins[byte * p->lanes + lane] -= weight * p->zeros[byte];
    }
}

static void sum_channels(const Product *p, int byte, const uint8_t *seen, int64_t from, int64_t count,
                         float *restrict out) {
  const __mmask64 mask = count < CHANNELS ? ((__mmask64)1 << count) - 1 : ~(__mmask64)0;
  int32_t whole[CHANNELS];
  __m512i sums[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) sums[i] = _mm512_loadu_si512(p->begins + byte * p->lanes + from + i * LANES);
  for (int64_t quad = 0; quad < p->quads; quad++) {
    const int8_t *weights = p->packed + (quad * p->lanes + from) * 4;
    __m512i values[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) values[i] = _mm512_maskz_loadu_epi8(mask, seen + p->offsets[quad * 4 + i]);
    const __m512i low[2] = {_mm512_unpacklo_epi8(values[0], values[1]), _mm512_unpacklo_epi8(values[2], values[3])};
    const __m512i high[2] = {_mm512_unpackhi_epi8(values[0], values[1]), _mm512_unpackhi_epi8(values[2], values[3])};
    const __m512i fours[4] = {_mm512_unpacklo_epi16(low[0], low[1]), _mm512_unpackhi_epi16(low[0], low[1]),
                              _mm512_unpacklo_epi16(high[0], high[1]), _mm512_unpackhi_epi16(high[0], high[1])};
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
      sums[i] = _mm512_dpbusd_epi32(sums[i], fours[i], _mm512_loadu_si512(weights + i * LANES * 4));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    _mm_storeu_si128((__m128i *)(whole + 4 * i), _mm512_extracti32x4_epi32(sums[i], 0));
    _mm_storeu_si128((__m128i *)(whole + 4 * i + LANES), _mm512_extracti32x4_epi32(sums[i], 1));
    _mm_storeu_si128((__m128i *)(whole + 4 * i + 2 * LANES), _mm512_extracti32x4_epi32(sums[i], 2));
    _mm_storeu_si128((__m128i *)(whole + 4 * i + 3 * LANES), _mm512_extracti32x4_epi32(sums[i], 3));
  }
  for (int64_t i = 0; i < count; i++) out[i] = (float)whole[i] * p->units[from + i] + p->bias[from + i];
}
#else
static void pack_channels(Product *p) { find_offsets(p); }

/* A byte less its zero times a weight has 16 bits. */
static void sum_channels(const Product *p, int byte, const uint8_t *seen, int64_t from, int64_t count,
                         float *restrict out) {
  const int16_t zero = (int16_t)p->zeros[byte];
  int32_t whole[CHANNELS] = {0};
  for (int64_t place = 0; place < p->rows * p->columns; place++) {
    const uint8_t *restrict values = seen + p->offsets[place];
    const int8_t *restrict factors = p->weights + place * p->channels + from;
    for (int64_t i = 0; i < count; i++) whole[i] += (int16_t)((int16_t)(values[i] - zero) * factors[i]);
  }
  for (int64_t i = 0; i < count; i++) out[i] = (float)whole[i] * p->units[from + i] + p->bias[from + i];
}
#endif

/* Some places of a depthwise convolution. */
static void sum_depthwise(Product *p, int64_t first, int64_t count) {
  for (int64_t row = 0; row < count; row++)
    for (int byte = 0; byte <= p->kernel->is_wide; byte++) {
      const uint8_t *seen = p->planes[byte] + find_place(p, first + row);
      float *out = p->sums[byte] + row * p->channels;
      for (int64_t from = 0; from < p->channels; from += CHANNELS)
        sum_channels(p, byte, seen + from, from, p->channels - from < CHANNELS ? p->channels - from : CHANNELS,
                     out + from);
    }
}

/* More than is asked for may be written and read: there is room behind both. */
static inline void copy_roughly(uint8_t *restrict to, const uint8_t *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i += ROUGHLY) memcpy(to + i, from + i, ROUGHLY);
}

/* What the window sees at one place of one group, as one row of bytes; the weights of what is behind it are zeros. */
static void gather_row(const Product *p, int byte, int64_t place, int64_t group, uint8_t *row) {
  const Window *window = &p->kernel->window;
  const int64_t depth = p->channels / p->groups;
  const uint8_t *seen = p->planes[byte] + find_place(p, place) + group * depth;
  const int is_dense = p->groups == 1 && window->gap[1] == 1;
  if (p->is_plain) {
    /* There may be nothing behind the image. */
    memcpy(row, seen, (size_t)depth);
    return;
  }
  for (int64_t i = 0; i < p->rows; i++, seen += window->gap[0] * p->width * p->channels, row += p->columns * depth)
    if (is_dense) copy_roughly(row, seen, p->columns * depth);
    else
      for (int64_t j = 0; j < p->columns; j++)
        copy_roughly(row + j * depth, seen + j * window->gap[1] * p->channels, depth);
}

/* A tile of sums: rows of bytes times some lanes of weights, four bytes at a time. The same whole numbers either
 * way; a processor that has an instruction for four bytes is told so. */
#ifdef __AVX512VNNI__
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
      memcpy(&four, rows + row * p->stride + quad * 4, sizeof four);
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
      const uint8_t *four = rows + row * p->stride + quad * 4;
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

/* Rows of bytes of some places, and how far they are apart: those of the image itself, where that has them side by
 * side and enough behind them. */
static const uint8_t *find_rows(Product *p, int byte, int64_t first, int64_t count, int64_t group) {
  const int64_t places = p->made_height * p->made_width;
  if (p->is_plain && count == TILE_ROWS && (places - first - count) * p->channels >= 4) {
    p->stride = p->channels;
    return p->planes[byte] + first * p->channels + group * (p->channels / p->groups);
  }
  p->stride = p->quads * 4;
  for (int64_t row = 0; row < count; row++)
    gather_row(p, byte, first + row, group, p->bytes[byte] + row * p->stride);
  return p->bytes[byte];
}

/* The sums of one group of channels of some places. */
static void multiply_group(Product *p, int64_t first, int64_t count, int64_t group) {
  const int64_t width = p->made_channels / p->groups, from = group * width;
  const int8_t *weights = p->weights + group * p->quads * p->lanes * 4;
  for (int byte = 0; byte <= p->kernel->is_wide; byte++) {
    const uint8_t *rows = find_rows(p, byte, first, count, group);
    multiply_tile(p, rows, weights, p->starts + (byte * p->groups + group) * p->lanes);
    for (int64_t row = 0; row < count; row++) {
      float *restrict sums = p->sums[byte] + row * p->made_channels + from;
      const int32_t *restrict whole = p->tile + row * p->lanes;
      for (int64_t i = 0; i < width; i++) sums[i] = (float)whole[i] * p->units[from + i] + p->bias[from + i];
    }
  }
}

/* Some places of any other convolution. */
static void sum_products(Product *p, int64_t first, int64_t count) {
  for (int64_t group = 0; group < p->groups; group++) multiply_group(p, first, count, group);
}

/* Room for what is computed at once; NULL where there is none. */
static void *make_room(Product *p) {
  const size_t sums = (size_t)(p->held * p->made_channels), tile = (size_t)(TILE_ROWS * p->lanes);
  const size_t bytes = (size_t)(TILE_ROWS * p->quads * 4 + ROUGHLY);
  char *room = malloc(2 * sums * sizeof(float) + tile * sizeof(int32_t) + 2 * bytes);
  if (room == NULL) return NULL;
  p->sums[0] = (float *)room;
  p->sums[1] = p->sums[0] + sums;
  p->tile = (int32_t *)(p->sums[1] + sums);
  p->bytes[0] = (uint8_t *)(p->tile + tile);
  p->bytes[1] = p->bytes[0] + bytes;
  memset(p->bytes[0], 0, 2 * bytes);
  return room;
}

/* Room for what all parts read: bytes of an image, offsets and weights of a depthwise product. */
static void *make_shared_room(Product *p, int is_depthwise) {
  const size_t planes = p->is_plain && !p->kernel->is_wide ? 0 : (size_t)(p->height * p->width * p->channels) + ROUGHLY;
  const size_t offsets = is_depthwise ? (size_t)(p->quads * 4) : 0, begins = is_depthwise ? (size_t)(2 * p->lanes) : 0;
  const size_t packed = offsets * begins / 2;
  char *room = malloc(offsets * sizeof(int64_t) + begins * sizeof(int32_t) + packed + 2 * planes + 1);
  if (room == NULL) return NULL;
  p->offsets = (int64_t *)room;
  p->begins = (int32_t *)(p->offsets + offsets);
  p->packed = (int8_t *)(p->begins + begins);
  for (int byte = 0; byte < 2; byte++) {
    p->planes[byte] = (uint8_t *)p->packed + packed + (size_t)byte * planes;
    memset((uint8_t *)p->packed + packed + (size_t)byte * planes, p->zeros[byte], planes);
  }
  if (is_depthwise) pack_channels(p);
  return room;
}

/* The bytes of one image, between its padding: high and low ones. */
static void read_image(Product *p, const void *image, const Shape *shape) {
  const int64_t height = shape->sizes[1], width = shape->sizes[2] * p->channels;
  if (p->is_plain && !p->kernel->is_wide) {
    p->planes[0] = image;
    return;
  }
  for (int64_t y = 0; y < height; y++) {
    const int64_t at = ((y + p->kernel->window.before[0]) * p->width + p->kernel->window.before[1]) * p->channels;
    uint8_t *restrict high = (uint8_t *)p->planes[0] + at, *restrict low = (uint8_t *)p->planes[1] + at;
    const uint16_t *restrict words = (const uint16_t *)image + y * width;
    if (!p->kernel->is_wide) memcpy(high, (const uint8_t *)image + y * width, (size_t)width);
    else
      for (int64_t i = 0; i < width; i++) {
        high[i] = (uint8_t)(words[i] >> 8);
        low[i] = (uint8_t)words[i];
      }
  }
}

/* Reads what products of both kinds are given: images, weights, a unit and a bias for each channel, and operands. */
static Product read_product(const Kernel *kernel, void *context, Shape *shape, Shape *weights, Shape *made) {
  Shape steps, units, ignored;
  const int is_wide = kernel->is_wide, zero = (int)kernel->given;
  Product p = {.kernel = kernel, .zeros = {is_wide ? zero >> 8 : zero, zero & 255}};
  p.image = read_input(context, 0, shape);
  p.weights = read_input(context, 1, weights);
  p.units = read_input(context, 2, &units);
  p.bias = read_input(context, 3, &ignored);
  p.operands.single = read_input(context, 4, &steps);
  p.operands.real = read_input(context, 5, &ignored);
  p.operands.width = steps.sizes[1];
  p.rows = kernel->places[0];
  p.columns = kernel->places[1];
  p.height = shape->sizes[1] + kernel->window.before[0] + kernel->window.after[0];
  p.width = shape->sizes[2] + kernel->window.before[1] + kernel->window.after[1];
  p.channels = shape->sizes[3];
  *made = *shape;
  p.made_height = made->sizes[1] = count_places(&kernel->window, 0, p.height, p.rows);
  p.made_width = made->sizes[2] = count_places(&kernel->window, 1, p.width, p.columns);
  p.made_channels = made->sizes[3] = units.count;
  const int64_t tiles = BLOCK / TILE_ROWS / (units.count ? units.count : 1);
  p.held = (tiles < 1 ? 1 : tiles) * TILE_ROWS;
  return p;
}

/* One image, in parts that threads of the engine take. */
typedef struct {
  const Product *product;
  void (*sum)(Product *, int64_t, int64_t);
  void *out;
  int64_t parts;
  atomic_int has_failed;
} Work;

static void compute_part(void *work, size_t part) {
  Work *all = work;
  Product p = *all->product;
  const int64_t places = p.made_height * p.made_width;
  void *room = make_room(&p);
  if (room == NULL) {
    all->has_failed = 1;
    return;
  }
  const int64_t end = places * ((int64_t)part + 1) / all->parts;
  float *const sums[2] = {p.sums[0], p.sums[1]};
  for (int64_t first = places * (int64_t)part / all->parts; first < end; first += p.held) {
    const int64_t count = end - first < p.held ? end - first : p.held;
    for (int64_t done = 0; done < count; done += TILE_ROWS) {
      for (int byte = 0; byte < 2; byte++) p.sums[byte] = sums[byte] + done * p.made_channels;
      all->sum(&p, first + done, count - done < TILE_ROWS ? count - done : TILE_ROWS);
    }
    for (int byte = 0; byte < 2; byte++) p.sums[byte] = sums[byte];
    store_sums(&p, all->out, first * p.made_channels, count * p.made_channels);
  }
  free(room);
}

static int64_t count_parts(const Product *p, int is_depthwise) {
  const int64_t places = p->made_height * p->made_width;
  const int64_t work = places * p->quads * 4 * (is_depthwise ? p->channels : p->made_channels) / LEAST_PART;
  const int64_t most = places / TILE_ROWS < MOST_PARTS ? places / TILE_ROWS : MOST_PARTS;
  return work < 1 || most < 1 ? 1 : work < most ? work : most;
}

/* All parts of one image; whether there was room for it. */
static int compute_image(const Product *p, void *out, void *context, int is_depthwise) {
  Work work = {p, is_depthwise ? sum_depthwise : sum_products, out, count_parts(p, is_depthwise), 0};
  if (work.parts == 1) compute_part(&work, 0);
  else if (CALL(PARALLEL_FOR, Status(*)(const void *, void (*)(void *, size_t), size_t, size_t, void *))
           (context, compute_part, (size_t)work.parts, 0, &work) != NULL)
    return 0;
  return !work.has_failed;
}

static Status compute_images(Product *p, const Shape *shape, const Shape *made, void *context, int is_depthwise) {
  const int64_t size = p->kernel->is_wide ? sizeof(uint16_t) : sizeof(uint8_t);
  const int64_t given = shape->sizes[1] * shape->sizes[2] * p->channels;
  const int64_t count = made->sizes[1] * made->sizes[2] * made->sizes[3];
  char *out = make_output(context, 0, made);
  if (count == 0 || shape->sizes[0] == 0) return NULL;
  void *room = out == NULL ? NULL : make_shared_room(p, is_depthwise);
  int is_done = room != NULL;
  for (int64_t image = 0; is_done && image < shape->sizes[0]; image++) {
    read_image(p, (const char *)p->image + image * given * size, shape);
    is_done = compute_image(p, out + image * count * size, context, is_depthwise);
  }
  free(room);
  return is_done ? NULL : fail();
}

/* Weights are [rows, columns, channels]. */
static Status compute_depthwise(void *state, void *context) {
  Shape shape, weights, made;
  Product p = read_product(state, context, &shape, &weights, &made);
  p.quads = (p.rows * p.columns + 3) / 4;
  p.lanes = (p.channels + CHANNELS - 1) / CHANNELS * CHANNELS;
  return compute_images(&p, &shape, &made, context, 1);
}

/* Weights are [groups, quads, lanes, 4]; the last input is what sums begin with: [bytes, groups, lanes]. */
static Status compute_product(void *state, void *context) {
  const Window *window = &((const Kernel *)state)->window;
  Shape shape, weights, made, ignored;
  Product p = read_product(state, context, &shape, &weights, &made);
  p.starts = read_input(context, 6, &ignored);
  p.groups = weights.sizes[0];
  p.quads = weights.sizes[1];
  p.lanes = weights.sizes[2];
  p.is_plain = p.rows == 1 && p.columns == 1 && p.height == shape.sizes[1] && p.width == shape.sizes[2] &&
               window->stride[0] == 1 && window->stride[1] == 1;
  return compute_images(&p, &shape, &made, context, 0);
}

