// The two parts of an audit that take time: reading images, and the permutation test. Images and rows a second.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>

#include "debias/audit/label_test.h"
#include "debias/audit/picture.h"
#include "debias/core/philox.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/blur.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

// Natural images are smooth with some detail: blurred noise, at about a byte for four pixels.
std::vector<PictureFile> written_images(int height, int width, int count) {
  const fs::path folder = fs::temp_directory_path() / "audit-bench";
  fs::create_directories(folder);
  std::vector<PictureFile> files;
  Random random({.seed = 1});
  for (int i = 0; i < count; ++i) {
    Image image{height, width, 3, std::vector<uint8_t>(static_cast<size_t>(height) * width * 3)};
    for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random.below(256));
    gaussian_blur(image, 5, 1.0);
    const auto bytes = encode_jpeg(image, 85);
    const std::string path = (folder / (std::to_string(height) + "-" + std::to_string(i) + ".jpg")).string();
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    files.push_back({path, path, path});
  }
  return files;
}

void read_images(benchmark::State& state) {
  const auto files = written_images(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 200);
  for (auto _ : state) {
    PictureTable table = read_pictures(files, 96, Progress::silent());
    if (!table.bad.empty()) state.SkipWithError("an image could not be read");
    benchmark::DoNotOptimize(table);
  }
  state.SetItemsProcessed(state.iterations() * std::ssize(files));
}
BENCHMARK(read_images)->Args({375, 500})->Args({32, 32})->UseRealTime()->Unit(benchmark::kMillisecond);

// A hundred properties of 6,000 rows, about as many as an audit has.
void test_properties(benchmark::State& state) {
  constexpr int64_t kRows = 6'000;
  const auto classes = static_cast<int32_t>(state.range(0));
  Random random({.seed = 2});
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < kRows; ++i) labels.push_back(static_cast<int32_t>(random.below(classes)));
  std::vector<Property> properties;
  for (int p = 0; p < 100; ++p) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < kRows; ++i) numbers.push_back(random.normal());
    properties.push_back(number_property("noise", PropertyKind::kDescription, numbers));
  }
  std::vector<const Property*> tested;
  for (const Property& property : properties) tested.push_back(&property);
  for (auto _ : state) benchmark::DoNotOptimize(LabelTest(labels, classes, single_rows(kRows), 0).test(tested));
  state.SetItemsProcessed(state.iterations() * std::ssize(tested) * kRows);
}
BENCHMARK(test_properties)->Arg(2)->Arg(10)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace debias
