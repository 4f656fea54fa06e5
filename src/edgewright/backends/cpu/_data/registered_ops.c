/* The ops by their names, and what the engine asks of them. */

static void read_text(const void *info, const char *name, char *text) {
  size_t size = MOST_STEPS;
  CALL(GET_TEXT, Status(*)(const void *, const char *, char *, size_t *))(info, name, text, &size);
}

static int64_t read_integer(const void *info, const char *name) {
  int64_t number = 0;
  CALL(GET_INTEGER, Status(*)(const void *, const char *, int64_t *))(info, name, &number);
  return number;
}

static void read_pair(const void *info, const char *first, const char *second, int64_t *pair) {
  pair[0] = read_integer(info, first);
  pair[1] = read_integer(info, second);
}

static void *make_rounding(const Op *op, const void *info) {
  Kernel *kernel = calloc(1, sizeof(Kernel));
  if (kernel == NULL) return kernel;
  kernel->is_wide = op->output == UINT16_TYPE;
  kernel->axis = read_integer(info, "axis");
  kernel->zero = (float)read_integer(info, "zero");
  read_text(info, "steps", kernel->steps);
  read_text(info, "first", kernel->first);
  read_text(info, "second", kernel->second);
  kernel->is_plain = !kernel->is_wide && !kernel->first[0] && !kernel->second[0] && !strcmp(kernel->steps, "fam");
  return kernel;
}

static void read_window(const void *info, Kernel *kernel) {
  read_pair(info, "top", "left", kernel->window.before);
  read_pair(info, "bottom", "right", kernel->window.after);
  read_pair(info, "stride_y", "stride_x", kernel->window.stride);
  read_pair(info, "gap_y", "gap_x", kernel->window.gap);
  read_pair(info, "rows", "columns", kernel->places);
}

static void *make_product(const Op *op, const void *info) {
  Kernel *kernel = make_rounding(op, info);
  if (kernel == NULL) return kernel;
  kernel->given = read_integer(info, "given");
  read_window(info, kernel);
  return kernel;
}

static void *make_mean(const Op *op, const void *info) {
  Kernel *kernel = calloc(1, sizeof(Kernel));
  if (kernel == NULL) return kernel;
  kernel->is_wide = op->output == UINT16_TYPE;
  read_window(info, kernel);
  return kernel;
}

static void *make_elements(const Op *op, const void *info) {
  Kernel *kernel = calloc(1, sizeof(Kernel));
  (void)op;
  if (kernel == NULL) return kernel;
  kernel->zero = (float)read_integer(info, "zero");
  read_text(info, "steps", kernel->steps);
  read_text(info, "first", kernel->first);
  return kernel;
}

static void *make_bytes(const Op *op, const void *info) {
  (void)op;
  (void)info;
  return calloc(1, sizeof(Kernel));
}

static Status create(const Op *op, Table table, const void *info, void **kernel) {
  (void)table;
  *kernel = op->make(op, info);
  return *kernel == NULL ? fail() : NULL;
}

static const int SUMS[] = {FLOAT_TYPE, FLOAT_TYPE, DOUBLE_TYPE, FLOAT_TYPE};
static const int WORDS[] = {UINT16_TYPE};
static const int SIDES[] = {UINT16_TYPE, UINT16_TYPE, DOUBLE_TYPE, FLOAT_TYPE, DOUBLE_TYPE};
/* Those of a depthwise product have no last one. */
static const int IMAGES[] = {UINT8_TYPE, INT8_TYPE, FLOAT_TYPE, FLOAT_TYPE, FLOAT_TYPE, DOUBLE_TYPE, INT32_TYPE};
static const int WIDE_IMAGES[] = {UINT16_TYPE, INT8_TYPE, FLOAT_TYPE, FLOAT_TYPE, FLOAT_TYPE, DOUBLE_TYPE, INT32_TYPE};
static const int BYTE_ROWS[] = {UINT8_TYPE, DOUBLE_TYPE, DOUBLE_TYPE};
static const int WORD_ROWS[] = {UINT16_TYPE, INT32_TYPE, INT32_TYPE};
static const int HALF_ROWS[] = {FLOAT_TYPE, DOUBLE_TYPE};
static const int HALF_NORMS[] = {FLOAT_TYPE, FLOAT_TYPE, FLOAT_TYPE, DOUBLE_TYPE};
static const int HALF_IMAGES[] = {FLOAT_TYPE, DOUBLE_TYPE, DOUBLE_TYPE, DOUBLE_TYPE};
static const int BYTE_TO_BYTE[] = {UINT8_TYPE, UINT8_TYPE};
static const int BYTE_TO_WORD[] = {UINT8_TYPE, UINT16_TYPE};
static const int BYTE_TO_SIGNED[] = {UINT8_TYPE, INT16_TYPE};
static const int WORD_TO_BYTE[] = {UINT16_TYPE, UINT8_TYPE};
static const int WORD_TO_WORD[] = {UINT16_TYPE, UINT16_TYPE};
static const int WORD_TO_SIGNED[] = {UINT16_TYPE, INT16_TYPE};
static const int BYTE_MEANS[] = {UINT8_TYPE, DOUBLE_TYPE};
static const int WORD_MEANS[] = {UINT16_TYPE, DOUBLE_TYPE};
static const int NORM_ROWS[] = {UINT16_TYPE, DOUBLE_TYPE, DOUBLE_TYPE};

static const char *name_of(const Op *op) { return op->title; }
static const char *provider_of(const Op *op) { (void)op; return NULL; }
static int input_type_of(const Op *op, size_t index) { return op->inputs[index]; }
static size_t input_count_of(const Op *op) { return op->inputs_count; }
static int output_type_of(const Op *op, size_t index) { (void)index; return op->output; }
static size_t output_count_of(const Op *op) { return op->outputs_count; }
static int required(const Op *op, size_t index) { (void)op; (void)index; return 0; }
/* The second sums, which only 16 bits have. */
static int optional(const Op *op, size_t index) { return op->inputs == SUMS && index == 3; }

/* The version is that of the engine that brought kernels that can fail. */
#define DECLARE(kind, maker, title, inputs, inputs_count, output, outputs_count)                                \
  {16, NULL, name_of, provider_of, input_type_of, input_count_of, output_type_of, output_count_of, NULL, free, \
   optional, required, required, {NULL, NULL, NULL, NULL}, create, compute_##kind, make_##maker, title, inputs, \
   inputs_count, output, outputs_count}

static Op OPS[] = {
    DECLARE(rounding, rounding, "RoundSums8", SUMS, 4, UINT8_TYPE, 1),
    DECLARE(rounding, rounding, "RoundSums16", SUMS, 4, UINT16_TYPE, 1),
    DECLARE(elements, elements, "CombineWords", SIDES, 5, UINT16_TYPE, 1),
    DECLARE(bytes, bytes, "SplitBytes", WORDS, 1, UINT8_TYPE, 2),
    DECLARE(product, product, "Product8", IMAGES, 7, UINT8_TYPE, 1),
    DECLARE(product, product, "Product16", WIDE_IMAGES, 7, UINT16_TYPE, 1),
    DECLARE(depthwise, product, "Depthwise8", IMAGES, 6, UINT8_TYPE, 1),
    DECLARE(depthwise, product, "Depthwise16", WIDE_IMAGES, 6, UINT16_TYPE, 1),
    DECLARE(byte_shares, bytes, "ShareBytes", BYTE_ROWS, 3, UINT8_TYPE, 1),
    DECLARE(word_shares, bytes, "ShareWords", WORD_ROWS, 3, UINT16_TYPE, 1),
    DECLARE(half_shares, bytes, "ShareHalves", HALF_ROWS, 2, FLOAT_TYPE, 1),
    DECLARE(half_means, bytes, "MeanHalves", HALF_ROWS, 2, FLOAT_TYPE, 1),
    DECLARE(half_norm, bytes, "NormalizeHalves", HALF_NORMS, 4, FLOAT_TYPE, 1),
    DECLARE(half_tiles, bytes, "AverageTiles", HALF_IMAGES, 1, FLOAT_TYPE, 1),
    DECLARE(half_smoothing, bytes, "SmoothHalves", HALF_IMAGES, 2, FLOAT_TYPE, 1),
    DECLARE(half_enlarging, bytes, "EnlargeHalves", HALF_IMAGES, 4, FLOAT_TYPE, 1),
    DECLARE(byte_to_byte, bytes, "LookUp8To8", BYTE_TO_BYTE, 2, UINT8_TYPE, 1),
    DECLARE(byte_to_word, bytes, "LookUp8To16", BYTE_TO_WORD, 2, UINT16_TYPE, 1),
    DECLARE(byte_to_word, bytes, "LookUp8ToSigned16", BYTE_TO_SIGNED, 2, INT16_TYPE, 1),
    DECLARE(word_to_byte, bytes, "LookUp16To8", WORD_TO_BYTE, 2, UINT8_TYPE, 1),
    DECLARE(word_to_word, bytes, "LookUp16To16", WORD_TO_WORD, 2, UINT16_TYPE, 1),
    DECLARE(word_to_word, bytes, "LookUp16ToSigned16", WORD_TO_SIGNED, 2, INT16_TYPE, 1),
    DECLARE(present_means, mean, "AveragePresent8", BYTE_MEANS, 2, UINT8_TYPE, 1),
    DECLARE(present_means, mean, "AveragePresent16", WORD_MEANS, 2, UINT16_TYPE, 1),
    DECLARE(normalize_bytes, bytes, "NormalizeBytes", BYTE_ROWS, 3, UINT8_TYPE, 1),
    DECLARE(normalize_words, bytes, "NormalizeWords", NORM_ROWS, 3, UINT16_TYPE, 1),
};

typedef struct {
  Table (*api)(uint32_t version);
  const char *(*version)(void);
} Base;

Status RegisterCustomOps(void *options, const Base *base) {
  static void *shared;
  void *domain = shared;
  Status status = NULL;
  engine = base->api(17);
  if (domain == NULL) {
    status = CALL(CREATE_DOMAIN, Status(*)(const char *, void **))("edgewright", &domain);
    for (size_t i = 0; status == NULL && i < sizeof OPS / sizeof OPS[0]; i++)
      status = CALL(ADD_OP, Status(*)(void *, const Op *))(domain, &OPS[i]);
    /* Only when it is complete: another thread may be here. */
    if (status == NULL) shared = domain;
  }
  return status != NULL ? status : CALL(ADD_DOMAIN, Status(*)(void *, void *))(options, domain);
}
