/* Convolutions of random shapes by our kernels, against sums that are taken one by one.
 *
 * Every buffer is as large as it must be and not a byte larger, so that a sanitizer sees what is read or written
 * behind it; the engine is a table of the few functions that kernels call. Usage: product_shapes SEED CASES */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Room for kernels: none from some request on. */
static _Atomic int requests_left = -1;
static void *find_room(size_t size) {
  if (requests_left == 0) return NULL;
  if (requests_left > 0) requests_left--;
  return malloc(size);
}

#define malloc find_room
#include "sum_kernels.c"
#include "product_kernels.c"
#include "odd_floats.c"
#include "row_kernels.c"
#include "half_kernels.c"
#include "half_norms.c"
#include "half_shares.c"
#include "registered_ops.c"
#undef malloc

typedef struct {
  void *data;
  int64_t sizes[4];
  size_t rank;
} Tensor;

typedef struct {
  Tensor inputs[7];
  Tensor output;
  size_t size;
} Context;

static Status create_status(int code, const char *text) { return code == FAILED ? (Status)text : NULL; }

static Status get_input(const void *context, size_t index, const void **value) {
  *value = &((const Context *)context)->inputs[index];
  return NULL;
}

static Status get_shape(const void *value, void **info) {
  *info = (void *)value;
  return NULL;
}

static Status get_rank(const void *info, size_t *rank) {
  *rank = ((const Tensor *)info)->rank;
  return NULL;
}

static Status get_dimensions(const void *info, int64_t *sizes, size_t rank) {
  memcpy(sizes, ((const Tensor *)info)->sizes, rank * sizeof *sizes);
  return NULL;
}

static Status get_data(const void *value, void **data) {
  *data = ((const Tensor *)value)->data;
  return NULL;
}

static void release_shape(void *info) { (void)info; }

static Status get_output(void *given, size_t index, const int64_t *sizes, size_t rank, void **value) {
  Context *context = given;
  size_t size = context->size;
  (void)index;
  for (size_t axis = 0; axis < rank; axis++) size *= (size_t)(context->output.sizes[axis] = sizes[axis]);
  free(context->output.data);
  context->output.data = malloc(size);
  *value = &context->output;
  return NULL;
}

typedef struct {
  void (*call)(void *, size_t);
  void *work;
  size_t part;
} Job;

static void *run_job(void *given) {
  const Job *job = given;
  job->call(job->work, job->part);
  return NULL;
}

static Status run_parts(const void *context, void (*call)(void *, size_t), size_t count, size_t batches, void *work) {
  pthread_t threads[MOST_PARTS];
  Job jobs[MOST_PARTS];
  (void)context;
  (void)batches;
  for (size_t part = 0; part < count; part++) {
    jobs[part] = (Job){call, work, part};
    if (pthread_create(&threads[part], NULL, run_job, &jobs[part])) abort();
  }
  for (size_t part = 0; part < count; part++) pthread_join(threads[part], NULL);
  return NULL;
}

static uint64_t state;

/* Numbers from nothing up to a limit. */
static int64_t draw(int64_t limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)(state >> 33) % (limit + 1);
}

static int is_rare(void) { return draw(7) == 0; }

/* Steps that take operands, or do not; and numbers of floats or doubles at the end. */
static int add_operations(char *program, int64_t count) {
  int rows = 0;
  for (char *end = program + strlen(program); count > 0; count--, end++) {
    *end = "framul"[draw(5)];
    rows += strchr("amul", *end) != NULL;
  }
  return rows;
}

static int write_program(char *program, int is_real) {
  int rows = add_operations(program, draw(3));
  if (draw(1)) strcat(program, draw(1) ? "d" : "s");
  if (draw(1)) {
    strcat(program, "k");
    rows += add_operations(program, draw(3));
    strcat(program, "w");
    rows += add_operations(program, draw(3));
    strcat(program, draw(1) ? "x" : "y");
  }
  strcat(program, is_real ? "d" : "s");
  return rows;
}

typedef struct {
  double value, kept;
  int is_real;
} Number;

/* All numbers are doubles here: those of single precision are rounded after every step. */
static void follow(Number *number, const char *program, const double **row, int64_t width) {
  for (; *program; program++) {
    const int has_row = strchr("amul", *program) != NULL;
    const double operand = !has_row ? 0 : number->is_real ? **row : (float)**row, value = number->value;
    switch (*program) {
      case 'd': number->is_real = 1; break;
      case 's': number->is_real = 0; break;
      case 'k': number->kept = value; break;
      case 'w': number->value = number->kept, number->kept = value; break;
      case 'x': number->value = value * number->kept; break;
      case 'y': number->value = value + number->kept; break;
      case 'f': number->value = floor(value); break;
      case 'r': number->value = nearbyint(value); break;
      case 'a': number->value = value + operand; break;
      case 'm': number->value = value * operand; break;
      case 'u': number->value = fmax(value, operand); break;
      case 'l': number->value = fmin(value, operand); break;
    }
    if (!number->is_real) number->value = (float)number->value;
    if (has_row) *row += width;
  }
}

typedef struct {
  Kernel kernel;
  Context context;
  int is_depthwise;
  /* Of an image, of a group, of operands. */
  int64_t batch, height, width, channels, groups, depth, made, rows, operands;
  int8_t *weights;
} Case;

static Tensor make_tensor(size_t item, size_t rank, int64_t a, int64_t b, int64_t c, int64_t d) {
  Tensor made = {NULL, {a, b, c, d}, rank};
  for (size_t axis = 0; axis < rank; axis++) item *= (size_t)made.sizes[axis];
  made.data = malloc(item);
  memset(made.data, 0, item);
  return made;
}

static void draw_sizes(Case *c) {
  Window *window = &c->kernel.window;
  /* One place of the window, and one without padding or strides: the image serves as it is. */
  const int is_point = (int)draw(1), is_plain = is_point && draw(1);
  c->is_depthwise = (int)draw(1);
  c->kernel.is_wide = (int)draw(1);
  c->batch = draw(2), c->height = draw(is_rare() ? 24 : 9), c->width = draw(is_rare() ? 24 : 9);
  c->groups = !c->is_depthwise && draw(2) == 0 ? 1 + draw(3) : 1;
  c->depth = is_rare() ? draw(3) : draw(is_rare() ? 150 : 40);
  c->channels = c->depth * c->groups;
  c->made = c->is_depthwise ? c->channels : c->groups * (is_rare() ? 200 + draw(350) : draw(70));
  for (int axis = 0; axis < 2; axis++) {
    c->kernel.places[axis] = is_point ? 1 : 1 + draw(4);
    window->gap[axis] = 1 + draw(1) * draw(2), window->stride[axis] = 1;
    if (is_plain) continue;
    window->before[axis] = draw(1) * draw(3), window->after[axis] = draw(1) * draw(3);
    window->stride[axis] += draw(1) * draw(2);
  }
}

/* Weights as the kernels read them, and what sums begin with. */
static void pack(Case *c) {
  const int64_t places = c->kernel.places[0] * c->kernel.places[1], all = places * c->depth;
  const int64_t width = c->made / c->groups, quads = (all + 3) / 4, lanes = (width + LANES - 1) / LANES * LANES;
  const int bytes = 1 + c->kernel.is_wide, zero = (int)c->kernel.given;
  Tensor packed = make_tensor(1, 4, c->groups, quads, lanes, 4);
  Tensor starts = make_tensor(sizeof(int32_t), 3, bytes, c->groups, lanes, 0);
  for (int64_t at = 0; at < all * c->made; at++) {
    const int64_t row = at / c->made, group = at % c->made / width, lane = at % c->made % width;
    ((int8_t *)packed.data)[((group * quads + row / 4) * lanes + lane) * 4 + row % 4] = c->weights[at];
    for (int byte = 0; byte < bytes; byte++)
      ((int32_t *)starts.data)[(byte * c->groups + group) * lanes + lane] -=
          c->weights[at] * (byte ? zero & 255 : zero >> 8 * (bytes - 1));
  }
  c->context.inputs[1] = packed, c->context.inputs[6] = starts;
}

static void draw_numbers(Case *c) {
  Tensor *inputs = c->context.inputs;
  const int is_wide = c->kernel.is_wide, most = is_wide ? 65535 : 255, is_extreme = is_rare();
  const int64_t places = c->kernel.places[0] * c->kernel.places[1];
  const int64_t count = places * (c->is_depthwise ? c->channels : c->depth * c->made);
  c->context.size = is_wide ? 2 : 1;
  c->kernel.given = is_rare() ? 0 : is_rare() ? most : draw(most);
  c->kernel.zero = (float)draw(most);
  inputs[0] = make_tensor(c->context.size, 4, c->batch, c->height, c->width, c->channels);
  for (int64_t i = 0; i < c->batch * c->height * c->width * c->channels; i++) {
    const int64_t number = is_extreme ? most * draw(1) : draw(most);
    if (is_wide) ((uint16_t *)inputs[0].data)[i] = (uint16_t)number;
    else ((uint8_t *)inputs[0].data)[i] = (uint8_t)number;
  }
  c->weights = malloc((size_t)count);
  for (int64_t i = 0; i < count; i++) c->weights[i] = is_extreme ? -128 : (int8_t)(draw(255) - 128);
  if (!c->is_depthwise) pack(c);
  else inputs[1] = (Tensor){c->weights, {c->kernel.places[0], c->kernel.places[1], c->channels}, 3};
  for (int i = 2; i < 4; i++) inputs[i] = make_tensor(sizeof(float), 1, c->made, 0, 0, 0);
  for (int64_t i = 0; i < c->made; i++) {
    ((float *)inputs[2].data)[i] = ldexpf(1, -(int)draw(16));
    ((float *)inputs[3].data)[i] = (float)draw(200) - 100;
  }
}

static void draw_steps(Case *c) {
  Kernel *kernel = &c->kernel;
  const int is_real = (int)draw(1);
  if (kernel->is_wide) c->rows = write_program(kernel->first, is_real) + write_program(kernel->second, is_real);
  kernel->is_plain = !kernel->is_wide && draw(1);
  if (kernel->is_plain) c->rows += 2, strcpy(kernel->steps, "fam");
  else c->rows += write_program(kernel->steps, (int)draw(1));
  c->operands = draw(2) && c->made ? c->made : 1;
  const int64_t width = c->operands * (c->operands < BLOCK ? BLOCK / c->operands : 1), rows = c->rows ? c->rows : 1;
  Tensor single = make_tensor(sizeof(float), 2, rows, width, 0, 0), real = make_tensor(sizeof(double), 2, rows, width, 0, 0);
  for (int64_t i = 0; i < rows * width; i++) {
    double *at = (double *)real.data + i;
    *at = i % width < c->operands ? (double)draw(1 << 20) / (1 << 18) - 2 : at[-c->operands];
    ((float *)single.data)[i] = (float)*at;
  }
  c->context.inputs[4] = single, c->context.inputs[5] = real;
}

/* What is stored for one channel at one place. */
static int64_t expect(const Case *c, int64_t image, int64_t y, int64_t x, int64_t channel) {
  const Kernel *k = &c->kernel;
  const Tensor *inputs = c->context.inputs;
  const int64_t group = c->is_depthwise ? 0 : channel / (c->made / c->groups), width = inputs[5].sizes[1];
  int64_t sums[2] = {0, 0};
  for (int64_t i = 0; i < k->places[0] * k->places[1] * (c->is_depthwise ? 1 : c->depth); i++) {
    const int64_t place = c->is_depthwise ? i : i / c->depth;
    const int64_t row = y * k->window.stride[0] + place / k->places[1] * k->window.gap[0] - k->window.before[0];
    const int64_t column = x * k->window.stride[1] + place % k->places[1] * k->window.gap[1] - k->window.before[1];
    const int64_t seen = c->is_depthwise ? channel : group * c->depth + i % c->depth;
    const int64_t at = ((image * c->height + row) * c->width + column) * c->channels + seen;
    const int64_t weight = c->weights[i * c->made + channel];
    if (row < 0 || row >= c->height || column < 0 || column >= c->width) continue;
    if (!k->is_wide) sums[0] += (((uint8_t *)inputs[0].data)[at] - k->given) * weight;
    else {
      sums[0] += ((((uint16_t *)inputs[0].data)[at] >> 8) - (k->given >> 8)) * weight;
      sums[1] += ((((uint16_t *)inputs[0].data)[at] & 255) - (k->given & 255)) * weight;
    }
  }
  const float unit = ((float *)inputs[2].data)[channel], bias = ((float *)inputs[3].data)[channel];
  const double *row = (double *)inputs[5].data + channel % c->operands;
  Number number = {(float)sums[0] * unit + bias, 0, 0}, low = {(float)sums[1] * unit + bias, 0, 0};
  follow(&number, k->first, &row, width);
  follow(&low, k->second, &row, width);
  if (k->is_wide) number.value += low.value;
  if (!number.is_real) number.value = (float)number.value;
  follow(&number, k->steps, &row, width);
  return (int64_t)fmin(fmax(nearbyintf((float)number.value) + k->zero, 0), k->is_wide ? 65535 : 255);
}

static int64_t compare(const Case *c) {
  const int64_t *sizes = c->context.output.sizes, count = sizes[0] * sizes[1] * sizes[2] * sizes[3];
  for (int64_t at = 0; at < count; at++) {
    const int64_t place = at / sizes[3], row = place / sizes[2];
    const int64_t wanted = expect(c, row / sizes[1], row % sizes[1], place % sizes[2], at % sizes[3]);
    const void *data = c->context.output.data;
    const int64_t got = c->kernel.is_wide ? ((const uint16_t *)data)[at] : ((const uint8_t *)data)[at];
    if (got == wanted) continue;
    printf("%s of %d bits, steps '%s' '%s' '%s': number %ld is %ld, not %ld\n",
           c->is_depthwise ? "depthwise" : "product", c->kernel.is_wide ? 16 : 8, c->kernel.first,
           c->kernel.second, c->kernel.steps, (long)at, (long)got, (long)wanted);
    exit(1);
  }
  return count;
}

static int64_t run_case(void) {
  Case c = {.weights = NULL};
  draw_sizes(&c);
  draw_numbers(&c);
  draw_steps(&c);
  Status (*const compute)(void *, void *) = c.is_depthwise ? compute_depthwise : compute_product;
  requests_left = (int)draw(1);
  const Status failed = compute(&c.kernel, &c.context);
  requests_left = -1;
  const Status passed = compute(&c.kernel, &c.context);
  const int64_t count = compare(&c);
  if (passed != NULL || (count > 0 && failed == NULL)) {
    printf(passed ? "a kernel failed\n" : "a kernel had no room, and did not say so\n");
    exit(1);
  }
  for (int i = 0; i < 7; i++) free(c.context.inputs[i].data);
  if (!c.is_depthwise) free(c.weights);
  free(c.context.output.data);
  return count;
}

int main(int count, char **arguments) {
  static void *table[PARALLEL_FOR + 1];
  int64_t compared = 0;
  if (count != 3) return 2;
  table[CREATE_STATUS] = create_status, table[GET_INPUT] = get_input, table[GET_SHAPE] = get_shape;
  table[GET_RANK] = get_rank, table[GET_DIMENSIONS] = get_dimensions, table[RELEASE_SHAPE] = release_shape;
  table[GET_DATA] = get_data, table[GET_OUTPUT] = get_output, table[PARALLEL_FOR] = run_parts;
  engine = table;
  state = strtoull(arguments[1], NULL, 10);
  for (long left = strtol(arguments[2], NULL, 10); left > 0; left--) compared += run_case();
  printf("%ld numbers are as expected\n", (long)compared);
  return 0;
}
