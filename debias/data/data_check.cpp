#include "debias/data/data_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/data/name_table.h"
#include "debias/data/readers/image_files.h"

namespace debias {
namespace {

constexpr int64_t kCheckedBlock = 64;  // images a thread takes at once
constexpr int kThin = 32;              // times

// Sums of one thread. 2^64 / 255^2 pixels of one channel fit, a thousand times the largest data set.
struct Tally {
  int64_t count = 0;
  std::map<std::pair<int, int>, int64_t> sizes;
  std::array<uint64_t, 3> sum{};
  std::array<uint64_t, 3> squares{};
  uint64_t pixels = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> cells;  // (label, bias)
  std::map<int64_t, BadFile> bad;                        // by index
  std::map<int64_t, std::string> thin;                   // by index

  void add(const Sample& sample) {
    const Image& image = sample.image;
    ++count;
    ++cells[{sample.label, sample.bias}];
    ++sizes[{image.height, image.width}];
    const auto channels = static_cast<size_t>(image.channels);
    for (size_t i = 0; i + channels <= image.pixels.size(); i += channels) {
      for (size_t c = 0; c < channels; ++c) {
        const uint64_t value = image.pixels[i + c];
        sum[c] += value;
        squares[c] += value * value;
      }
    }
    pixels += image.pixels.size() / channels;
  }

  void merge(const Tally& other) {
    count += other.count;
    for (const auto& [size, images] : other.sizes) sizes[size] += images;
    for (size_t c = 0; c < sum.size(); ++c) {
      sum[c] += other.sum[c];
      squares[c] += other.squares[c];
    }
    pixels += other.pixels;
    for (const auto& [cell, images] : other.cells) cells[cell] += images;
    bad.insert(other.bad.begin(), other.bad.end());
    thin.insert(other.thin.begin(), other.thin.end());
  }
};

void read_one(const Dataset& dataset, int64_t index, Tally& tally, std::vector<std::optional<SmallPixels>>& small) {
  try {
    const Sample sample = dataset.get(index);
    tally.add(sample);
    const Image& image = sample.image;
    if (!small.empty()) small[static_cast<size_t>(index)] = small_pixels(image);
    if (int64_t{kThin} * std::min(image.height, image.width) < std::max(image.height, image.width)) {
      tally.thin[index] = fmt::format("{}, {} x {}", dataset.source(index), image.width, image.height);
    }
  } catch (const FileError& error) {
    tally.bad[index] = {error.path(), error.reason()};
  } catch (const Error& error) {
    tally.bad[index] = {dataset.source(index), error.what()};
  }
}

Tally tally_all(const Dataset& dataset, int threads, Progress& progress, std::vector<std::optional<SmallPixels>>& small) {
  std::atomic<int64_t> next{0};
  std::mutex mutex;  // of what follows
  Tally total;
  int64_t done = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      Tally own;
      for (int64_t first = next.fetch_add(kCheckedBlock); first < dataset.size(); first = next.fetch_add(kCheckedBlock)) {
        const int64_t last = std::min(first + kCheckedBlock, dataset.size());
        for (int64_t i = first; i < last; ++i) read_one(dataset, i, own, small);
        const std::lock_guard lock(mutex);
        done += last - first;
        progress.advance(done, "");
      }
      const std::lock_guard lock(mutex);
      total.merge(own);
    } catch (...) {  // out of memory
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = dataset.size();
    }
  };
  std::vector<std::thread> pool;
  try {
    for (int t = 1; t < threads; ++t) pool.emplace_back(work);
  } catch (const std::system_error&) {  // fewer threads do the same
  }
  work();
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
  return total;
}

// sqrt(n sum(x^2) - sum(x)^2) / n, with the difference taken in integers.
double deviation(uint64_t n, uint64_t sum, uint64_t squares) {
  __extension__ using Wide = unsigned __int128;
  const Wide spread = static_cast<Wide>(n) * squares - static_cast<Wide>(sum) * sum;
  return static_cast<double>(std::sqrt(static_cast<long double>(spread)) / static_cast<long double>(n));
}

std::string note_on_thin(const std::map<int64_t, std::string>& thin) {
  return fmt::format(
      "{} more than {} times as long as wide (first: {} pixels): a resize by the short side takes the middle of a very thin image; crop "
      "or leave out what is no picture",
      thin.size() == 1 ? "1 image is" : fmt::format("{} images are", thin.size()), kThin, thin.begin()->second);
}

bool within(int64_t value, size_t count) { return value >= 0 && value < static_cast<int64_t>(count); }

}  // namespace

DataCheck check_data(const Dataset& dataset, int threads, Progress& progress, bool keep_small) {
  DataCheck check;
  if (keep_small) check.small.resize(static_cast<size_t>(dataset.size()));
  if (threads <= 0) threads = available_cpus();
  progress.begin("reading " + dataset.info().name, dataset.size());
  const Tally tally = tally_all(dataset, threads, progress, check.small);
  progress.end();

  const DatasetInfo& info = dataset.info();
  check.name = info.name;
  check.split = info.split;
  check.count = tally.count;
  if (tally.sizes.size() == 1) std::tie(check.height, check.width) = tally.sizes.begin()->first;
  check.sizes = tally.sizes;
  check.channels = info.channels;
  check.class_names = info.class_names;
  check.bias_names = info.bias_names;
  check.remarks = info.remarks;
  if (const auto* files = dynamic_cast<const ImageFiles*>(&dataset)) check.pixel_notes = files->pixel_notes();
  if (!tally.thin.empty()) {
    check.pixel_notes.push_back(note_on_thin(tally.thin));
    check.remarks.push_back(check.pixel_notes.back());
  }
  check.columns = info.columns;
  check.per_class.assign(info.class_names.size(), 0);
  if (!info.bias_names.empty()) check.bias_table.assign(info.class_names.size(), std::vector<int64_t>(info.bias_names.size(), 0));
  for (const auto& [cell, images] : tally.cells) {
    auto [label, bias] = cell;
    if (!within(label, check.per_class.size())) continue;
    check.per_class[static_cast<size_t>(label)] += images;
    if (bias == kUnknown) bias = number_of_unknown_bias(info);
    if (within(bias, info.bias_names.size())) check.bias_table[static_cast<size_t>(label)][static_cast<size_t>(bias)] += images;
  }
  for (size_t c = 0; tally.pixels > 0 && c < static_cast<size_t>(info.channels); ++c) {
    check.mean.push_back(static_cast<double>(tally.sum[c]) / (255.0 * static_cast<double>(tally.pixels)));
    check.std.push_back(deviation(tally.pixels, tally.sum[c], tally.squares[c]) / 255.0);
  }
  for (const auto& [index, bad] : tally.bad) check.bad_files.push_back(bad);
  return check;
}

}  // namespace debias
