/* Files embedded into mcc: "src/NAME" is a source or header of the runtime as text, "TRIPLE/NAME.o" the runtime
 * compiled for a triple, "TRIPLE/libc.so.6" and "TRIPLE/libm.so.6" empty libraries with that soname. */
#ifndef MCC_RUNTIME_BLOBS_H
#define MCC_RUNTIME_BLOBS_H
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char* name;
  const char *begin, *end;
} mcc_blob;
extern const mcc_blob mcc_blobs[];
extern const int mcc_blob_count;

#ifdef __cplusplus
}
#endif
#endif
