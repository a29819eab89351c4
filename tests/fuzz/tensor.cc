// Serialised ONNX tensors.
#include "frontend/frontend.h"
#include "fuzz/fuzz.h"

MCC_FUZZ_TARGET(mcc::tensor_from_proto_bytes)
