// Views on the CPU: `sim32` of 32 x 32 pixels in memory, and a JPEG image of 500 x 375 in memory to two `sim224` views, each to normalised
// floats in a batch; and what it saves to decode only the part of a JPEG image that its views need, and at a reduced size. First the
// values are checked against the pixels that the steps give.
//
//   view_bench [benchmark arguments]
//   view_bench --serve PIXELS.npy FILE.jpg ...    for benchmarks/compare_views.py
//
// The second form reads lines "CASE THREADS VIEWS" (CASE: pixels, jpeg, or a name below) from standard input until its end and answers each
// with the seconds that the views took, by the clock and of the processor. PIXELS.npy is uint8 [N, 32, 32, 3].
#include <benchmark/benchmark.h>
#include <turbojpeg.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/input_file.h"
#include "debias/core/npy.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

constexpr int kBatch = 64;  // views that a thread writes to its own batch, over and over

struct Worker {  // what a thread works with
  ViewFrame frame;
  ViewPlan plan;
  PartialImage part;
  std::vector<float> batch;
};

// N sources, and how their views are made. Views 2 i and 2 i + 1 are those of source i modulo N; with one view each, view i is.
class Case {
 public:
  Case(std::string preset, int size, int64_t each = 2)
      : views_(read_views(Config::map({{"preset", Config::string(preset)}})).make({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225})),
        size_(size),
        each_(each) {}
  virtual ~Case() = default;
  // Views begin, ..., end - 1; both are even.
  virtual void make(int64_t begin, int64_t end, Worker& worker) const = 0;
  virtual Image source(int64_t i) const = 0;

  size_t values() const { return size_t{3} * size_ * size_; }
  RngKey key(int64_t view) const {
    return {
        .domain = RngDomain::kViews, .seed = 1, .sample = static_cast<uint64_t>(view / each_), .view = static_cast<uint16_t>(view % each_)};
  }
  Worker worker() const { return {{}, {}, {}, std::vector<float>(kBatch * values())}; }
  float* place(Worker& worker, int64_t view) const { return worker.batch.data() + view % kBatch * values(); }

  // How far the values may be from those of the pixels, on average.
  virtual double tolerance() const { return 1e-6; }
  // Whether the values written are those of the pixels.
  bool is_right(int64_t view) const {
    Worker own = worker();
    make(view / 2 * 2, view / 2 * 2 + 2, own);
    const Image pixels = views_.apply(source(view / each_), key(view));
    const float* value = place(own, view);
    double difference = 0;
    for (int c = 0; c < 3; ++c) {
      for (size_t i = c; i < pixels.pixels.size(); i += 3) {
        const double expected = (pixels.pixels[i] / 255.0 - views_.mean()[c]) / views_.std()[c];
        difference += std::abs(*value++ - expected);
      }
    }
    return difference <= tolerance() * static_cast<double>(values());
  }

 protected:
  void write(const ImagePart& image, int64_t view, Worker& worker) const {
    views_.draw(image.height, image.width, key(view), worker.plan);
    views_.write(image, worker.plan, worker.frame, {3, size_, size_, place(worker, view)});
  }

  ViewPipeline views_;
  int size_;
  int64_t each_;
};

class PixelCase : public Case {
 public:
  explicit PixelCase(std::vector<Image> images) : Case("sim32", 32), images_(std::move(images)) {}
  Image source(int64_t i) const override { return images_[i % images_.size()]; }
  void make(int64_t begin, int64_t end, Worker& worker) const override {
    for (int64_t view = begin; view < end; ++view) write(whole(images_[view / 2 % images_.size()]), view, worker);
  }

 private:
  std::vector<Image> images_;
};

enum class Decoded { kWhole, kPart, kScaledPart };

class JpegCase : public Case {
 public:
  JpegCase(const std::vector<std::vector<uint8_t>>& files, int size, int64_t each, Decoded decoded)
      : Case("sim" + std::to_string(size), size, each), files_(files), decoded_(decoded) {}
  Image source(int64_t i) const override { return decode_image(files_[i % files_.size()], "benchmark"); }
  void make(int64_t begin, int64_t end, Worker& worker) const override {
    for (int64_t first = begin; first < end; first += each_) {
      worker.part = decode_region(files_[first / each_ % files_.size()], "benchmark", [&](int height, int width) {
        if (decoded_ == Decoded::kWhole) return whole_region(height, width);
        std::vector<ViewPlan> plans(each_);
        for (int64_t i = 0; i < each_; ++i) views_.draw(height, width, key(first + i), plans[i]);
        return views_.region(plans, decoded_ == Decoded::kScaledPart ? 8 : 1);
      });
      const PartialImage& part = worker.part;
      for (int64_t view = first; view < first + each_; ++view) {
        write({part.image.pixels.data(), 3, part.region, part.height, part.width}, view, worker);
      }
    }
  }
  double tolerance() const override { return decoded_ == Decoded::kScaledPart ? 0.3 : Case::tolerance(); }

 private:
  std::vector<std::vector<uint8_t>> files_;
  Decoded decoded_;
};

// Waves of several lengths and a little noise, about as smooth as photographs are.
Image picture(int height, int width, uint64_t seed) {
  Image image{height, width, 3, std::vector<uint8_t>(static_cast<size_t>(height) * width * 3)};
  Random random({.domain = RngDomain::kTest, .seed = seed});
  double slope[6][3];
  for (auto& wave : slope) {
    for (double& value : wave) value = random.uniform(-0.3, 0.3);
  }
  uint8_t* pixel = image.pixels.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        double value = 128 + random.uniform(-8, 8);
        for (const auto& wave : slope) value += 18 * std::sin(wave[0] * x + wave[1] * y + 9 * wave[2] * c);
        *pixel++ = static_cast<uint8_t>(value);
      }
    }
  }
  return image;
}

std::vector<uint8_t> jpeg_of(const Image& image) {
  const std::unique_ptr<void, int (*)(void*)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  tjCompress2(encoder.get(), image.pixels.data(), image.width, 0, image.height, TJPF_RGB, &bytes, &size, TJSAMP_420, 90,
              TJFLAG_ACCURATEDCT);
  std::vector<uint8_t> file(bytes, bytes + size);
  tjFree(bytes);
  return file;
}

using Cases = std::map<std::string, std::unique_ptr<const Case>>;

Cases make_cases(std::vector<Image> images, const std::vector<std::vector<uint8_t>>& files) {
  Cases cases;
  cases.emplace("pixels", std::make_unique<PixelCase>(std::move(images)));
  const auto add = [&](const std::string& name, int size, int64_t each, Decoded decoded) {
    cases.emplace(name, std::make_unique<JpegCase>(files, size, each, decoded));
  };
  add("jpeg", 224, 2, Decoded::kPart);
  add("two_sim224_whole", 224, 2, Decoded::kWhole);
  add("sim224", 224, 1, Decoded::kPart);
  add("sim224_whole", 224, 1, Decoded::kWhole);
  add("two_sim32", 32, 2, Decoded::kPart);
  add("two_sim32_whole", 32, 2, Decoded::kWhole);
  add("two_sim32_scaled", 32, 2, Decoded::kScaledPart);
  return cases;
}

const Case& drawn_case(const std::string& name) {
  static const Cases cases = [] {
    std::vector<Image> images;
    for (uint64_t seed = 0; seed < 64; ++seed) images.push_back(picture(32, 32, seed));
    std::vector<std::vector<uint8_t>> files;
    for (uint64_t seed = 0; seed < 4; ++seed) files.push_back(jpeg_of(picture(375, 500, seed)));
    return make_cases(std::move(images), files);
  }();
  return *cases.at(name);
}

void make_views(benchmark::State& state, const std::string& name, int64_t views) {
  const Case& work = drawn_case(name);
  for (int64_t view = 0; view < 8; ++view) {
    if (!work.is_right(view)) return state.SkipWithError("the values are not those of the pixels");
  }
  Worker worker = work.worker();
  int64_t begin = state.thread_index() * 1'000'000;
  for (auto _ : state) {
    work.make(begin, begin + views, worker);
    begin += views;
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * views);
}

void BM_sim32_of_pixels(benchmark::State& state) { make_views(state, "pixels", 256); }
void BM_two_sim224_of_jpeg(benchmark::State& state) { make_views(state, "jpeg", 8); }
void BM_of_jpeg(benchmark::State& state, const std::string& name) { make_views(state, name, 8); }
BENCHMARK(BM_sim32_of_pixels)->ThreadRange(1, 2)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_two_sim224_of_jpeg)->ThreadRange(1, 2)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_of_jpeg, two_sim224_whole, "two_sim224_whole")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_of_jpeg, sim224, "sim224")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_of_jpeg, sim224_whole, "sim224_whole")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_of_jpeg, two_sim32, "two_sim32")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_of_jpeg, two_sim32_whole, "two_sim32_whole")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_of_jpeg, two_sim32_scaled, "two_sim32_scaled")->Unit(benchmark::kMicrosecond);

struct Seconds {
  double wall, processor;
};

Seconds seconds_of(const Case& work, int threads, int64_t begin, int64_t views) {
  std::vector<Worker> own;
  for (int t = 0; t < threads; ++t) own.push_back(work.worker());
  const int64_t share = views / threads / 2 * 2;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t processor_start = std::clock();
  std::vector<std::thread> workers;
  for (int t = 1; t < threads; ++t) {
    workers.emplace_back([&, t] { work.make(begin + t * share, begin + (t + 1) * share, own[t]); });
  }
  work.make(begin, begin + share, own[0]);
  for (std::thread& worker : workers) worker.join();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC};
}

std::vector<Image> images_of(const std::string& path) {
  const NpyArray array = read_npy(path);
  const auto pixels = array.as<uint8_t>();
  std::vector<Image> images;
  for (size_t i = 0; i + 3072 <= pixels.size(); i += 3072) {
    images.push_back({32, 32, 3, {pixels.begin() + static_cast<ptrdiff_t>(i), pixels.begin() + static_cast<ptrdiff_t>(i) + 3072}});
  }
  return images;
}

int serve(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "view_bench: give --serve PIXELS.npy FILE.jpg ...\n";
    return 2;
  }
  std::vector<std::vector<uint8_t>> files;
  for (int i = 3; i < argc; ++i) files.push_back(read_file_bytes(argv[i]));
  const Cases cases = make_cases(images_of(argv[2]), files);
  std::string name;
  int threads = 1;
  int64_t views = 0, begin = 0;
  while (std::cin >> name >> threads >> views) {
    const auto work = cases.find(name);
    if (work == cases.end()) {
      std::cerr << "view_bench: no case " << name << '\n';
      return 2;
    }
    if (begin == 0 && !std::all_of(cases.begin(), cases.end(), [](const auto& entry) { return entry.second->is_right(1); })) return 1;
    const Seconds seconds = seconds_of(*work->second, threads, begin, views);
    std::cout << seconds.wall << ' ' << seconds.processor << std::endl;
    begin += views;
  }
  return 0;
}

}  // namespace
}  // namespace debias

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--serve") return debias::serve(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
