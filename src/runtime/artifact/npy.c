/* Tensors from and to NumPy's .npy files (versions 1 to 3, little-endian, C order), and from the documented generator.
   The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/artifact/main.h"

static const struct {
  const char *name, *descr;
} dtypes[] = {{"f32", "<f4"}, {"f64", "<f8"}, {"f16", "<f2"}, {"bf16", "<f4"}, {"i8", "|i1"},
              {"i16", "<i2"}, {"i32", "<i4"}, {"i64", "<i8"}, {"u8", "|u1"},   {"u16", "<u2"},
              {"u32", "<u4"}, {"u64", "<u8"}, {"bool", "|b1"}};

const char* mcc_dtype_name(int32_t dtype) { return dtypes[dtype].name; }

static int64_t count(const mcc_tensor_info* info) {
  int64_t n = 1;
  for (int32_t d = 0; d < info->rank; d++) n *= info->shape[d];
  return n;
}

/* The text after 'key': in the header's dictionary, or NULL. */
static const char* value_of(const char* header, const char* key) {
  const char* at = strstr(header, key);
  if (!at) return NULL;
  at += strlen(key);
  while (*at == '\'' || *at == ':' || *at == ' ') at++;
  return at;
}

static int shape_fits(const char* at, const mcc_tensor_info* info) {
  if (*at++ != '(') return 0;
  for (int32_t d = 0; d < info->rank; d++) {
    char* end;
    if (strtoll(at, &end, 10) != info->shape[d] || end == at) return 0;
    for (at = end; *at == ',' || *at == ' ';) at++;
  }
  return *at == ')';
}

static const char* check_header(const char* header, const mcc_tensor_info* info) {
  const char *descr = value_of(header, "'descr"), *order = value_of(header, "'fortran_order"),
             *shape = value_of(header, "'shape");
  if (!descr || !order || !shape) return "has a damaged .npy header";
  const char* want = dtypes[info->dtype].descr;
  if (strncmp(descr + (want[0] == '|'), want + (want[0] == '|'), 2) != 0 && strncmp(descr, want, 3) != 0)
    return "has another element type than the input";
  if (strncmp(order, "False", 5) != 0) return "is in Fortran order; save it in C order";
  return shape_fits(shape, info) ? NULL : "has another shape than the input";
}

static const char* read_body(FILE* f, const mcc_tensor_info* info, void* into) {
  unsigned char head[12];
  if (fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY", 6) != 0) return "is not a .npy file";
  size_t length = head[8] | (size_t)head[9] << 8;
  if (head[6] > 1) {
    if (fread(head + 10, 1, 2, f) != 2) return "is cut short";
    length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
  }
  char header[4096];
  if (length >= sizeof header) return "has an unusually long header";
  if (fread(header, 1, length, f) != length) return "is cut short";
  header[length] = 0;
  const char* wrong = check_header(header, info);
  if (wrong) return wrong;
  if (info->dtype != MCC_BF16)
    return fread(into, 1, (size_t)info->bytes, f) == (size_t)info->bytes ? NULL : "is cut short";
  uint16_t* narrow = into;
  for (int64_t i = 0, n = count(info); i < n; i++) {
    uint32_t bits;
    if (fread(&bits, 4, 1, f) != 1) return "is cut short";
    narrow[i] = (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
  }
  return NULL;
}

const char* mcc_read_npy(const char* file, const mcc_tensor_info* info, void* into) {
  FILE* f = fopen(file, "rb");
  if (!f) return "cannot be read";
  const char* wrong = read_body(f, info, into);
  fclose(f);
  return wrong;
}

static void print_header(FILE* f, const mcc_tensor_info* info) {
  char header[4096];
  int n =
      snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", dtypes[info->dtype].descr);
  for (int32_t d = 0; d < info->rank; d++)
    n += snprintf(header + n, sizeof header - (size_t)n, d ? ", %lld" : "%lld", (long long)info->shape[d]);
  n += snprintf(header + n, sizeof header - (size_t)n, info->rank == 1 ? ",), }" : "), }");
  const int padded = (10 + n + 1 + 63) / 64 * 64 - 10;
  const unsigned char head[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(padded & 255), (unsigned char)(padded >> 8)};
  fwrite(head, 1, sizeof head, f);
  fprintf(f, "%s%*s\n", header, padded - n - 1, "");
}

static char plain(char c) { return isalnum((unsigned char)c) || (c && strchr("._-", c)) ? c : '_'; }

static int same_file(const char* a, const char* b) {
  while (*a && *b && plain(*a) == plain(*b)) a++, b++;
  return !*a && !*b;
}

const char* mcc_write_npy(const char* dir, const mcc_model* model, int32_t o, const void* data) {
  const mcc_tensor_info* info = &model->outputs[o];
  char path[4096], number[16] = "";
  size_t n = (size_t)snprintf(path, sizeof path, "%s/", dir);
  for (const char* c = info->name; *c && n < sizeof path; c++) path[n++] = plain(*c);
  for (int32_t i = 0; i < o; i++)
    if (same_file(model->outputs[i].name, info->name)) snprintf(number, sizeof number, "~%d", (int)o);
  if (n + sizeof number + 5 > sizeof path) return "has too long a path";
  snprintf(path + n, sizeof path - n, "%s.npy", number);
  FILE* f = fopen(path, "wb");
  if (!f) return "cannot be written";
  print_header(f, info);
  if (info->dtype == MCC_BF16) {
    const uint16_t* narrow = data;
    for (int64_t i = 0, end = count(info); i < end; i++) {
      const uint32_t bits = (uint32_t)narrow[i] << 16;
      fwrite(&bits, 4, 1, f);
    }
  } else {
    fwrite(data, 1, (size_t)info->bytes, f);
  }
  const int failed = ferror(f);
  return fclose(f) || failed ? "cannot be written" : NULL;
}

static uint32_t next(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  return *state ^= *state << 5;
}

/* The float16 bits of k / 1024 - 1 for k in 0..2047: exact, a multiple of 2^-10 below 1 in magnitude, or -1. */
static uint16_t half_bits(uint32_t k) {
  int32_t v = (int32_t)k - 1024;
  const uint16_t sign = v < 0 ? 0x8000 : 0;
  uint32_t a = (uint32_t)(v < 0 ? -v : v);
  if (a == 0) return 0;
  int exponent = 15; /* of 1024 / 1024 */
  while (a < 1024) a <<= 1, exponent--;
  return (uint16_t)(sign | exponent << 10 | (a & 1023));
}

static uint32_t small_range(const char* name) {
  char lower[256];
  size_t n = 0;
  for (; name[n] && n + 1 < sizeof lower; n++) lower[n] = (char)tolower((unsigned char)name[n]);
  lower[n] = 0;
  return strstr(lower, "mask") || strstr(lower, "type") ? 2 : 100;
}

void mcc_random_input(const mcc_tensor_info* info, uint32_t seed, void* into) {
  uint32_t state = seed ^ ((uint32_t)(info->number + 1) * 0x9E3779B9u);
  if (!state) state = 0x6D2B79F5u;
  for (int i = 0; i < 8; i++) next(&state);
  const uint32_t below = small_range(info->name);
  for (int64_t i = 0, n = count(info); i < n; i++) {
    const uint32_t x = next(&state);
    const float unit = (float)(x >> 8) / 8388608.0f - 1.0f;
    uint32_t bits;
    memcpy(&bits, &unit, 4);
    switch (info->dtype) {
      case MCC_F32: ((float*)into)[i] = unit; break;
      case MCC_F64: ((double*)into)[i] = (double)unit; break;
      case MCC_F16: ((uint16_t*)into)[i] = half_bits(x >> 21); break;
      case MCC_BF16: ((uint16_t*)into)[i] = (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16); break;
      case MCC_I8: ((int8_t*)into)[i] = (int8_t)((int)(x >> 24) - 128); break;
      case MCC_U8: ((uint8_t*)into)[i] = (uint8_t)(x >> 24); break;
      case MCC_I16:
      case MCC_U16: ((uint16_t*)into)[i] = (uint16_t)((x >> 8) % below); break;
      case MCC_I32:
      case MCC_U32: ((uint32_t*)into)[i] = (x >> 8) % below; break;
      case MCC_I64:
      case MCC_U64: ((uint64_t*)into)[i] = (x >> 8) % below; break;
      default: ((uint8_t*)into)[i] = (uint8_t)(x >> 31); break;
    }
  }
}
