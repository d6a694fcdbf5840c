// safetensors files: header, checksum, tensors, and the header written back.
#include "debias/core/safetensors.h"

#include "debias/core/safetensors_header.h"
#include "fuzz/fuzz_target.h"

namespace {

using namespace debias;

bool same(const TensorEntry& a, const TensorEntry& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.begin == b.begin && a.end == b.end;
}

// Duplicates of names are refused on reading, and any text that was read can be written: the same header comes back.
void require_round_trip(const SafetensorsFile& file) {
  const uint64_t data_bytes = file.tensors().empty() ? 0 : file.tensors().back().end;
  const std::string text = safetensors_header_text({file.metadata(), file.tensors()}, "copy");
  const SafetensorsHeader copy = parse_safetensors_header(text, data_bytes, "copy");
  fuzz::require(copy.metadata == file.metadata(), "metadata is written and read back");
  fuzz::require(std::equal(copy.tensors.begin(), copy.tensors.end(), file.tensors().begin(), file.tensors().end(), same),
                "tensors are written and read back");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::MemoryFile memory;
  memory.hold({data, size});
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const SafetensorsFile file = SafetensorsFile::open(memory.path());
    require_round_trip(file);
    for (const TensorEntry& entry : file.tensors()) {
      std::vector<char> bytes(entry.end - entry.begin);
      fuzz::require(bytes.size() < size, "a tensor is smaller than its file");
      file.read(entry, bytes.data());
    }
    verify_safetensors(file);
  });
  return 0;
}
