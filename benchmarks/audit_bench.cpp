// The two parts of an audit that take time: reading images, and the permutation test. Images and rows a second.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>

#include "debias/audit/audit_folder.h"
#include "debias/audit/balanced_accuracy.h"
#include "debias/audit/permutation_test.h"
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
    PictureTable table = read_pictures(files, Progress::silent());
    if (!table.bad.empty()) state.SkipWithError("an image could not be read");
    benchmark::DoNotOptimize(table);
  }
  state.SetItemsProcessed(state.iterations() * std::ssize(files));
}
BENCHMARK(read_images)->Args({375, 500})->Args({32, 32})->UseRealTime()->Unit(benchmark::kMillisecond);

// A hundred cells of 10,000 rows; an audit has 336.
void test_cells(benchmark::State& state) {
  const int64_t rows = 10'000, dimensions = 6, candidates = 100;
  Random random({.seed = 2});
  std::vector<float> values(static_cast<size_t>(rows * dimensions));
  for (float& value : values) value = static_cast<float>(random.normal());
  LabelledRows labelled{{}, static_cast<int32_t>(state.range(0)), folds_of(rows)};
  for (int64_t i = 0; i < rows; ++i) labelled.labels.push_back(static_cast<int32_t>(random.below(labelled.classes)));
  for (auto _ : state) {
    const PermutationTest test = permutation_test(
        candidates, [&](int64_t) { return whitened(values, rows, dimensions); }, labelled, 0);
    if (test.p_adjusted[0] <= 0.01) state.SkipWithError("noise predicts the class");  // every candidate is the same here
    benchmark::DoNotOptimize(test);
  }
  state.SetItemsProcessed(state.iterations() * candidates * rows);
}
BENCHMARK(test_cells)->Arg(2)->Arg(10)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace debias
