// The allocator of the programs is jemalloc, in huge pages: a compile allocates and frees hundreds of MiB of tensors
// and LLVM's small objects from several threads, and with 4 KiB pages the first touch of each costs more than its use.
// jemalloc reads its options from this symbol. Sanitizer builds keep their own allocator; artifacts hold none of it.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,metadata_thp:always";
}
