#include "debias/report/pages/embedded_png.h"

#include <fmt/format.h>

#include <filesystem>

#include "debias/results/json_file.h"

namespace debias {
namespace {

constexpr int64_t kLargestThumbnail = 1 << 20;  // bytes

}  // namespace

std::string thumbnail_bytes(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return "";
  try {
    std::string bytes = read_text_file(path, kLargestThumbnail);
    return bytes.starts_with("\x89PNG") ? bytes : "";
  } catch (const Error&) {
    return "";  // a folder, say: the page says that it is missing
  }
}

Html thumbnail_image(const std::string& bytes, const std::string& alt) {
  if (bytes.empty()) return element("span", "missing", plain("no image"));
  return {fmt::format("<img src=\"{}\" alt=\"{}\" loading=\"lazy\"/>", png_data_uri(bytes), escaped(alt))};
}

}  // namespace debias
