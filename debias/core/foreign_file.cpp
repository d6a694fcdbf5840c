#include "debias/core/foreign_file.h"

#include <algorithm>
#include <cctype>

namespace debias {
namespace {

constexpr size_t kLooked = 64;

std::string first_bytes(const InputFile& file) {
  std::string bytes(std::min<uint64_t>(kLooked, file.size()), '\0');
  file.read(0, bytes.data(), bytes.size());
  return bytes;
}

// A header's length below 4 GB, and the header.
bool is_safetensors(const std::string& bytes) { return bytes.size() > 8 && bytes.substr(4, 4) == std::string(4, '\0') && bytes[8] == '{'; }

// A zip archive, or a pickle of protocol 2 to 5, the first of which torch wrote before 1.6.
bool is_of_torch(const std::string& bytes) {
  if (bytes.starts_with("PK\x03\x04")) return true;
  return bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

// A protobuf whose field 1, the format's version, is a small number, with the producer's name or the graph behind it.
bool is_onnx(const std::string& bytes, const std::string& path) {
  constexpr char kMostVersions = 64, kProducer = 0x12, kDomain = 0x22, kGraph = 0x3a;
  if (path.ends_with(".onnx")) return true;
  return bytes.size() > 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < kMostVersions &&
         (bytes[2] == kProducer || bytes[2] == kDomain || bytes[2] == kGraph);
}

// ASCII for the most part, and nothing that text has not.
bool is_text(const std::string& bytes) {
  const auto is_ascii = [](unsigned char c) { return std::isprint(c) != 0 || std::isspace(c) != 0; };
  const auto ascii = static_cast<size_t>(std::ranges::count_if(bytes, is_ascii));
  const auto others = static_cast<size_t>(std::ranges::count_if(bytes, [](unsigned char c) { return c >= 0x80; }));
  return ascii > others && ascii + others == bytes.size();
}

}  // namespace

ForeignFile foreign_file(const InputFile& file) {
  const std::string bytes = first_bytes(file);
  if (is_safetensors(bytes)) return {};
  if (bytes.starts_with("\x93NUMPY")) {
    return {"a NumPy array", "embeddings are read by --embeddings of debias audit, fix, eval, pairs, prior, loss and study estimators"};
  }
  if (is_of_torch(bytes)) {
    return {"a file of torch.save or another archive", "convert it: python -m debias.weights convert FILE weights.safetensors"};
  }
  if (is_onnx(bytes, file.path())) return {"an ONNX network", "debias writes ONNX (debias export) and does not read it"};
  if (is_text(bytes)) return {"a text file", "a recipe is trained first: debias train RECIPE.yaml", true};
  return {};
}

}  // namespace debias
