// A counter-based random number generator: each draw is a function of its key, and there is no state.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) maps a 128-bit counter and a 64-bit key to 128
// random bits. A RngKey names one use (this seed, this epoch, this sample, its occurrence in the epoch, this view, this step), so that
// batches do not depend on the number of workers, threads or ranks, and resuming needs no generator state.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace debias {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Purpose of a stream, so that equal numbers never mean the same draws.
enum class RngDomain : uint32_t {
  kOrder = 1,
  kViews = 2,
  kData = 3,
  kInit = 4,
  kEvaluate = 5,
  kNoise = 6,
  kTest = 7,
  kStudy = 8,
  kBank = 9,
  kQueue = 10,
  kEnvironment = 12,
  kAgent = 13,
  kShuffle = 14
};

struct RngKey {
  RngDomain domain = RngDomain::kTest;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t sample = 0;
  uint32_t occurrence = 0;
  uint16_t view = 0;
  uint16_t step = 0;
};

// The stream of a key. Copying it copies its position.
class Random {
 public:
  explicit Random(const RngKey& key);

  uint32_t bits();                          // 32 random bits
  double uniform();                         // [0, 1), 53 bits
  double uniform(double low, double high);  // [low, high)
  int64_t below(int64_t n);                 // {0, ..., n-1} without modulo bias; n >= 1
  double normal();                          // standard normal (Box-Muller, one of the pair)

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

// A uniformly random permutation of 0..n-1 (Fisher-Yates).
std::vector<int64_t> permutation(int64_t n, const RngKey& key);

}  // namespace debias
