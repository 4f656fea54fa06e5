/* Means of what is there of a window (backends/htp/present_means.py): whole sums times a share for each place. */

/* Places of a window that lie in an image, from the first on, and how many. */
static int64_t find_present(int64_t first, int64_t places, int64_t size, int64_t *count) {
  const int64_t from = first < 0 ? 0 : first, end = first + places < size ? first + places : size;
  *count = end > from ? end - from : 0;
  return from;
}

/* Numbers of some channels, added up over the places that a window sees; lines are those of an image. */
#define DEFINE_SUM(name, type)                                                                             \
  static void name(const type *restrict given, const int64_t *places, int64_t line, int64_t step,          \
                   int32_t *restrict sums, int64_t count) {                                                \
    for (int64_t i = 0; i < count; i++) sums[i] = 0;                                                       \
    for (int64_t y = 0; y < places[0]; y++)                                                                \
      for (int64_t x = 0; x < places[1]; x++)                                                              \
        for (int64_t i = 0; i < count; i++) sums[i] += given[y * line + x * step + i];                     \
  }
DEFINE_SUM(sum_bytes, uint8_t)
DEFINE_SUM(sum_words, uint16_t)

/* What is below zero is clamped first: what is above is cut by becoming whole. */
#define DEFINE_MEAN(name, type, most)                                                                      \
  static void name(const int32_t *restrict sums, double zeros, double share, double added, type *restrict out, \
                   int64_t count) {                                                                        \
    for (int64_t i = 0; i < count; i++) {                                                                  \
      const double steps = (sums[i] + zeros) * share + added;                                              \
      const double clamped = steps < 0 ? 0 : steps < most ? steps : most;                                  \
      out[i] = (type)(int32_t)clamped;                                                                     \
    }                                                                                                      \
  }
DEFINE_MEAN(mean_bytes, uint8_t, 255.0)
DEFINE_MEAN(mean_words, uint16_t, 65535.0)

/* For each place of the result: what the zeros of its window add, its share, and what is added to the product. */
static Status compute_present_means(void *state, void *context) {
  const Kernel *kernel = state;
  const Window *window = &kernel->window;
  Shape shape, table;
  const void *given = read_input(context, 0, &shape);
  const double *numbers = read_input(context, 1, &table);
  Shape made = shape;
  made.sizes[1] = table.sizes[1], made.sizes[2] = table.sizes[2];
  const int64_t channels = shape.sizes[3], line = shape.sizes[2] * channels, all = made.sizes[1] * made.sizes[2];
  made.count = shape.sizes[0] * all * channels;
  void *out = make_output(context, 0, &made);
  int32_t sums[BLOCK];
  if (made.count == 0) return NULL;
  if (out == NULL) return fail();
  for (int64_t place = 0; place < shape.sizes[0] * all; place++) {
    const int64_t at = place % all, y = at / made.sizes[2], x = at % made.sizes[2];
    int64_t places[2];
    const int64_t top = find_present(y * window->stride[0] - window->before[0], kernel->places[0], shape.sizes[1], &places[0]);
    const int64_t left = find_present(x * window->stride[1] - window->before[1], kernel->places[1], shape.sizes[2], &places[1]);
    const int64_t from = (place / all * shape.sizes[1] + top) * line + left * channels;
    for (int64_t first = 0; first < channels; first += BLOCK) {
      const int64_t count = channels - first < BLOCK ? channels - first : BLOCK, to = place * channels + first;
      const double zeros = numbers[at], share = numbers[all + at], added = numbers[2 * all + at];
      if (kernel->is_wide) {
        sum_words((const uint16_t *)given + from + first, places, line, channels, sums, count);
        mean_words(sums, zeros, share, added, (uint16_t *)out + to, count);
      } else {
        sum_bytes((const uint8_t *)given + from + first, places, line, channels, sums, count);
        mean_bytes(sums, zeros, share, added, (uint8_t *)out + to, count);
      }
    }
  }
  return NULL;
}
