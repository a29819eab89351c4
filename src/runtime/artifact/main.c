/* The stand-alone program: reads inputs from .npy files or makes the documented random ones, runs the model, writes its
   outputs, and tells how long it took. Exit status: 0 done, 1 the run failed, 2 bad usage or input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/artifact/main.h"

typedef struct {
  const char* output_dir;
  long long repeat;
  long seed, threads;
  int json;
} options;

static const char usage[] =
    "options: --input=NAME=FILE.npy (repeatable; else random) --seed=N --output=DIR --repeat=N --threads=N --json\n";

static void die(int status, const char* subject, const char* what) {
  fprintf(stderr, "%s: %s\n", subject, what);
  exit(status);
}

static const char* value_of(const char* argument, const char* name) {
  const size_t n = strlen(name);
  return strncmp(argument, name, n) == 0 ? argument + n : NULL;
}

static long long number(const char* argument, const char* text, long long least) {
  char* end;
  const long long value = strtoll(text, &end, 10);
  if (end == text || *end || value < least) die(2, argument, "not a number in range");
  return value;
}

/* Large memory in pages of 2 MiB, where the system has them: they are touched far sooner than 512 small ones each. */
static void* allocate(int64_t bytes, int64_t align) {
  const int64_t huge = 2 << 20;
  void* memory = NULL;
  if (bytes >= huge && align < huge) align = huge;
  if (posix_memalign(&memory, (size_t)align, (size_t)(bytes > 0 ? bytes : 1)) != 0) die(1, "model", "out of memory");
#ifdef MADV_HUGEPAGE
  if (bytes >= huge) madvise(memory, (size_t)(bytes / huge * huge), MADV_HUGEPAGE);
#endif
  memset(memory, 0, (size_t)bytes);
  return memory;
}

static options parse(int argc, char** argv, const mcc_model* model, const char** files) {
  options o = {NULL, 0, 1, model->threads, 0};
  for (int i = 1; i < argc; i++) {
    const char *argument = argv[i], *value;
    if ((value = value_of(argument, "--input="))) {
      const char* file = NULL; /* names and paths may hold a '=', too */
      for (int32_t k = 0; k < model->n_inputs; k++) {
        const char* rest = value_of(value, model->inputs[k].name);
        if (rest && *rest == '=') files[k] = file = rest + 1;
      }
      if (!file) die(2, argument, "want --input=NAME=FILE.npy with the name of an input");
    } else if ((value = value_of(argument, "--output="))) {
      o.output_dir = value;
    } else if ((value = value_of(argument, "--seed="))) {
      o.seed = (long)number(argument, value, 0);
    } else if ((value = value_of(argument, "--repeat="))) {
      o.repeat = number(argument, value, 1);
    } else if ((value = value_of(argument, "--threads="))) {
      o.threads = (long)number(argument, value, 1);
    } else if (strcmp(argument, "--json") == 0) {
      o.json = 1;
    } else if (strcmp(argument, "--help") == 0) {
      fputs(usage, stdout);
      exit(0);
    } else {
      die(2, argument, "unknown option; see --help");
    }
  }
  if (o.threads > model->threads) die(2, "--threads", "the model was compiled for fewer threads");
  return o;
}

static void print_string(const char* text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text < 32)
      printf("\\u%04x", *text);
    else
      putchar(*text);
  }
  putchar('"');
}

static void print_json(const char* program, const mcc_model* model, const options* o, const mcc_timing* t,
                       double load_ms) {
  printf("{\"artifact\": ");
  print_string(program);
  printf(
      ", \"threads\": %ld, \"runs\": %lld, \"min_ms\": %.5f, \"median_ms\": %.5f, \"p90_ms\": %.5f, \"load_ms\": %.3f, "
      "\"first_ms\": %.5f, "
      "\"peak_rss_kib\": %ld, \"outputs\": [",
      o->threads, (long long)t->runs, t->min_ms, t->median_ms, t->p90_ms, load_ms, t->first_ms, mcc_peak_rss_kib());
  for (int32_t i = 0; i < model->n_outputs; i++) {
    const mcc_tensor_info* info = &model->outputs[i];
    printf(i ? ", {\"name\": " : "{\"name\": ");
    print_string(info->name);
    printf(", \"dtype\": \"%s\", \"shape\": [", mcc_dtype_name(info->dtype));
    for (int32_t d = 0; d < info->rank; d++) printf(d ? ", %lld" : "%lld", (long long)info->shape[d]);
    printf("]}");
  }
  printf("]}\n");
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char** argv) {
  const double start = now_ms();
  const mcc_model* model = mcc_model_get();
  const char** files = allocate((model->n_inputs + 1) * (int64_t)sizeof *files, sizeof(void*));
  const options o = parse(argc, argv, model, files);
  const void** inputs = allocate((model->n_inputs + 1) * (int64_t)sizeof *inputs, sizeof(void*));
  void** outputs = allocate((model->n_outputs + 1) * (int64_t)sizeof *outputs, sizeof(void*));
  void* arena = allocate(model->arena_bytes, model->arena_align);
  mcc_runtime* rt = mcc_runtime_create((int32_t)o.threads);
  if (!rt) die(1, "model", "cannot start the threads");
  const double load_ms = now_ms() - start;
  for (int32_t i = 0; i < model->n_inputs; i++) {
    void* data = allocate(model->inputs[i].bytes, 64);
    const char* wrong = NULL;
    if (files[i])
      wrong = mcc_read_npy(files[i], &model->inputs[i], data);
    else
      mcc_random_input(&model->inputs[i], (uint32_t)o.seed, data);
    if (wrong) die(2, files[i], wrong);
    inputs[i] = data;
  }
  for (int32_t i = 0; i < model->n_outputs; i++) outputs[i] = allocate(model->outputs[i].bytes, 64);
  mcc_timing timing;
  if (mcc_time_runs(mcc_model_run, model, inputs, outputs, arena, rt, o.repeat, &timing) != MCC_OK)
    die(1, model->name, "the run failed");
  for (int32_t i = 0; o.output_dir && i < model->n_outputs; i++) {
    const char* wrong = mcc_write_npy(o.output_dir, model, i, outputs[i]);
    if (wrong) die(1, o.output_dir, wrong);
  }
  if (o.json)
    print_json(argv[0], model, &o, &timing, load_ms);
  else
    fprintf(stderr, "%s: %lld runs, min %.4f ms, median %.4f ms\n", model->name, (long long)timing.runs, timing.min_ms,
            timing.median_ms);
  mcc_runtime_destroy(rt);
  if (fflush(stdout) != 0 || ferror(stdout)) die(1, "standard output", "cannot be written");
  return 0;
}
