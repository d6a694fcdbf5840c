// Views on the CPU: `sim32` of 32 x 32 pixels in memory, and a JPEG image of 500 x 375 in memory to two `sim224` views, each to normalised
// floats in a batch. First the values are checked against the pixels that the steps give.
//
//   view_bench [benchmark arguments]
//   view_bench --serve PIXELS.npy FILE.jpg ...    for scripts/compare_views.py
//
// The second form reads lines "CASE THREADS VIEWS" (CASE: pixels, jpeg) from standard input until its end and answers each with the
// seconds that the views took, by the clock and of the processor. PIXELS.npy is uint8 [N, 32, 32, 3].
#include <benchmark/benchmark.h>
#include <turbojpeg.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <iostream>
#include <memory>
#include <thread>

#include "debias/augment/view_pipeline.h"
#include "debias/core/npy.h"
#include "debias/data/file_bytes.h"
#include "debias/data/image_decode.h"

namespace debias {
namespace {

constexpr int kBatch = 64;  // views that a thread writes to its own batch, over and over

struct Worker {  // what a thread works with
  ViewFrame frame;
  Image image;
  std::vector<float> batch;
};

// N sources, and how their views are made. Views 2 i and 2 i + 1 are those of source i modulo N.
class Case {
 public:
  Case(std::string preset, int size)
      : views_(ViewPipeline::from_config(Config::map({{"preset", Config::string(preset)}}), {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225})),
        size_(size) {}
  virtual ~Case() = default;
  // Views begin, ..., end - 1; both are even.
  virtual void make(int64_t begin, int64_t end, Worker& worker) const = 0;
  virtual Image source(int64_t i) const = 0;

  size_t values() const { return size_t{3} * size_ * size_; }
  static RngKey key(int64_t view) {
    return {.domain = RngDomain::kViews, .seed = 1, .sample = static_cast<uint64_t>(view / 2), .view = static_cast<uint16_t>(view % 2)};
  }
  Worker worker() const { return {{}, {}, std::vector<float>(kBatch * values())}; }
  float* place(Worker& worker, int64_t view) const { return worker.batch.data() + view % kBatch * values(); }

  // Whether the values written are those of the pixels.
  bool is_right(int64_t view) const {
    Worker own = worker();
    make(view / 2 * 2, view / 2 * 2 + 2, own);
    const Image pixels = views_.apply(source(view / 2), key(view));
    const float* value = place(own, view);
    for (int c = 0; c < 3; ++c) {
      for (size_t i = c; i < pixels.pixels.size(); i += 3) {
        const double expected = (pixels.pixels[i] / 255.0 - views_.mean()[c]) / views_.std()[c];
        if (std::abs(*value++ - expected) > 1e-5) return false;
      }
    }
    return true;
  }

 protected:
  void write(const Image& image, int64_t view, Worker& worker) const {
    views_.write(whole(image), key(view), worker.frame, {3, size_, size_, place(worker, view)});
  }

  ViewPipeline views_;
  int size_;
};

class PixelCase : public Case {
 public:
  explicit PixelCase(std::vector<Image> images) : Case("sim32", 32), images_(std::move(images)) {}
  Image source(int64_t i) const override { return images_[i % images_.size()]; }
  void make(int64_t begin, int64_t end, Worker& worker) const override {
    for (int64_t view = begin; view < end; ++view) write(images_[view / 2 % images_.size()], view, worker);
  }

 private:
  std::vector<Image> images_;
};

class JpegCase : public Case {
 public:
  explicit JpegCase(std::vector<std::vector<uint8_t>> files) : Case("sim224", 224), files_(std::move(files)) {}
  Image source(int64_t i) const override { return decode_image(files_[i % files_.size()], "benchmark"); }
  void make(int64_t begin, int64_t end, Worker& worker) const override {
    for (int64_t view = begin; view < end; view += 2) {
      worker.image = source(view / 2);
      write(worker.image, view, worker);
      write(worker.image, view + 1, worker);
    }
  }

 private:
  std::vector<std::vector<uint8_t>> files_;
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

const Case& drawn_case(bool jpeg) {
  static const PixelCase pixels = [] {
    std::vector<Image> images;
    for (uint64_t seed = 0; seed < 64; ++seed) images.push_back(picture(32, 32, seed));
    return PixelCase(std::move(images));
  }();
  static const JpegCase files = [] {
    std::vector<std::vector<uint8_t>> result;
    for (uint64_t seed = 0; seed < 4; ++seed) result.push_back(jpeg_of(picture(375, 500, seed)));
    return JpegCase(std::move(result));
  }();
  if (jpeg) return files;
  return pixels;
}

void make_views(benchmark::State& state, bool jpeg, int64_t views) {
  const Case& work = drawn_case(jpeg);
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

void BM_sim32_of_pixels(benchmark::State& state) { make_views(state, false, 256); }
void BM_two_sim224_of_jpeg(benchmark::State& state) { make_views(state, true, 8); }
BENCHMARK(BM_sim32_of_pixels)->ThreadRange(1, 2)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_two_sim224_of_jpeg)->ThreadRange(1, 2)->UseRealTime()->Unit(benchmark::kMicrosecond);

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
  const PixelCase pixels(images_of(argv[2]));
  const JpegCase jpeg(std::move(files));
  std::string name;
  int threads = 1;
  int64_t views = 0, begin = 0;
  while (std::cin >> name >> threads >> views) {
    const Case& work = name == "jpeg" ? static_cast<const Case&>(jpeg) : pixels;
    if (begin == 0 && !(pixels.is_right(0) && jpeg.is_right(1))) return 1;
    const Seconds seconds = seconds_of(work, threads, begin, views);
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
