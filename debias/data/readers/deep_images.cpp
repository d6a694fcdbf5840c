#include "debias/data/readers/deep_images.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>

#include "debias/core/error.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

constexpr std::array<int, 6> kSampleBits = {0, 8, 10, 12, 14, 16};
constexpr int64_t kBlockOfStarts = 64, kFirstLooked = 1000;

// Of 8 bits without transparency: that is not worth a look into each of a million files.
bool is_plain_by_name(const std::string& path) {
  constexpr std::array<std::string_view, 5> kEndings = {".jpg", ".jpeg", ".jpe", ".jfif", ".bmp"};
  return std::ranges::find(kEndings, ending_of(path)) != kEndings.end();
}

// A training opens its sets several times.
int largest_of(const std::string& path) {
  struct Known {
    std::filesystem::file_time_type time;
    uintmax_t bytes = 0;
    int largest = 0;
  };
  static std::mutex mutex;
  static std::map<std::string, Known> known;
  std::error_code failure;
  Known now{std::filesystem::last_write_time(path, failure), std::filesystem::file_size(path, failure)};
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(path);
    if (found != known.end() && found->second.time == now.time && found->second.bytes == now.bytes) return found->second.largest;
  }
  try {
    now.largest = largest_deep_sample(path);
  } catch (const FileError&) {  // it is reported where it is read
  }
  const std::lock_guard lock(mutex);
  known[path] = now;
  return now.largest;
}

}  // namespace

int bits_of(SampleBits bits) { return kSampleBits[static_cast<size_t>(bits)]; }

SampleBits needed_bits(int largest_sample) {
  size_t which = 1;
  while (which + 1 < kSampleBits.size() && largest_sample >> kSampleBits[which] > 0) ++which;
  return static_cast<SampleBits>(which);
}

LookedFiles look_at_files(const std::string& root, const std::vector<ImageFile>& files) {
  std::vector<size_t> open;  // what the name leaves open
  for (size_t i = 0; i < files.size(); ++i) {
    if (!is_plain_by_name(files[i].path)) open.push_back(i);
  }
  std::vector<ImageLook> looks(files.size());
  const auto look_at = [&](int64_t count) {  // of them, evenly spaced
    for_each_block(
        count, kBlockOfStarts,
        [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) {
            const size_t file = open[static_cast<size_t>(i * std::ssize(open) / count)];
            looks[file] = look_at_image((std::filesystem::path(root) / files[file].path).string());
          }
        },
        [](int64_t) {});
  };
  const auto is_special = [](const ImageLook& look) { return look.deep || look.clear || look.more; };
  look_at(std::min<int64_t>(std::ssize(open), kFirstLooked));
  if (std::ssize(open) > kFirstLooked && std::ranges::any_of(looks, is_special)) look_at(std::ssize(open));
  LookedFiles looked;
  for (size_t i = 0; i < files.size(); ++i) {
    if (looks[i].deep) looked.deep.push_back(files[i].path);
    if (looks[i].clear) looked.clear.push_back(files[i].path);
    if (looks[i].more) looked.more.push_back(files[i].path);
  }
  return looked;
}

LargestSamples largest_samples(const std::string& root, const std::vector<std::string>& images, int bits) {
  const int64_t looked = std::min<int64_t>(std::ssize(images), kMostLooked);
  std::vector<int> largest(static_cast<size_t>(looked), 0);
  const auto image = [&](int64_t i) { return static_cast<size_t>(i * std::ssize(images) / looked); };
  std::atomic<bool> needs_all = false;
  for_each_block(
      looked, 1,
      [&](int64_t first, int64_t) {
        if (needs_all) return;
        largest[static_cast<size_t>(first)] = largest_of((std::filesystem::path(root) / images[image(first)]).string());
        if (bits == 16 && needed_bits(largest[static_cast<size_t>(first)]) == SampleBits::k16) needs_all = true;
      },
      [](int64_t) {});
  LargestSamples found{.looked = looked};
  for (int64_t i = 0; i < looked; ++i) {
    const int own = largest[static_cast<size_t>(i)];
    found.largest = std::max(found.largest, own);
    if (own >> bits == 0 || found.above++ > 0) continue;
    found.first = images[image(i)];
    found.first_largest = own;
  }
  return found;
}

}  // namespace debias
