#include "debias/data/readers/unread_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "debias/core/printable.h"
#include "debias/image/dicom.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

bool begins_like_an_image(const std::string& path) {
  std::array<uint8_t, 132> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(start.data()), start.size());
  const std::span<const uint8_t> bytes(start.data(), static_cast<size_t>(file.gcount()));
  return image_format(bytes) || !unread_image_format(bytes).empty();
}

}  // namespace

void UnreadImages::add_if_image(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string ending = ending_of(name);
  if (lacks_ending(name) ? !begins_like_an_image(path) : !has_unread_image_extension(name)) return;
  ++by_ending_[lacks_ending(name) ? "no ending" : ending];
  has_dicom_ = has_dicom_ || has_dicom_extension(name) || (lacks_ending(name) && begins_as_dicom(path));
  ++count_;
  if (first_.empty() || path < first_) first_ = path;
}

std::string UnreadImages::counts() const {
  std::vector<std::pair<std::string, int64_t>> endings(by_ending_.begin(), by_ending_.end());
  std::stable_sort(endings.begin(), endings.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [ending, count] : endings) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ending, count);
  return text;
}

std::string UnreadImages::remark(const std::string& folder) const {
  const std::string first = std::filesystem::path(first_).lexically_relative(folder).string();
  const std::string text =
      fmt::format("folder {}: {} file{} like {} but {} not read ({}; first: {})", folder, count_, count_ == 1 ? " looks" : "s look",
                  count_ == 1 ? "an image" : "images", count_ == 1 ? "is" : "are", counts(), first) +
      (has_dicom_ ? fmt::format("; DICOM {}", kWithoutDicom) : "");
  return without_control_characters(text);
}

std::string UnreadImages::after_refusal() const {
  return empty() ? ""
                 : fmt::format("; {} file{} not read ({}); {} are", count_, count_ == 1 ? " is" : "s are", counts(), kReadFormats) +
                       (has_dicom_ ? fmt::format("; DICOM {}", kWithoutDicom) : "");
}

}  // namespace debias
