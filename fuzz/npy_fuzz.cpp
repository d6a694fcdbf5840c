// .npy files, and their integers.
#include "debias/core/npy.h"

#include "debias/core/dtype.h"
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  static fuzz::MemoryFile file;
  file.hold({data, size});
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const NpyArray array = read_npy(file.path());
    fuzz::require(checked_product(array.shape) == array.count(), "an array has the elements of its shape");
    fuzz::require(array.bytes.size() < size, "an array is smaller than its file");
    fuzz::require(npy_integers(array, file.path()).size() == static_cast<size_t>(array.count()), "every element is read");
  });
  return 0;
}
