#include "debias/core/philox.h"

#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace debias {
namespace {

// Multipliers and Weyl increments of Philox4x32 (Salmon et al. 2011, section 4.3; Random123's philox.h).
constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr uint32_t low_half(uint64_t value) { return static_cast<uint32_t>(value); }
constexpr uint32_t high_half(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

// Counter words of a stream: block index, sample, occurrence, view and step. The rest of its RngKey (seed, epoch, domain and the high
// half of the sample) goes through one Philox block that makes the stream's 64-bit key.
std::array<uint32_t, 2> derived_key(const RngKey& key) {
  const auto block = philox4x32({low_half(key.epoch), high_half(key.epoch), static_cast<uint32_t>(key.domain), high_half(key.sample)},
                                {low_half(key.seed), high_half(key.seed)});
  return {block[0], block[1]};
}

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * counter[2];
    counter = {high_half(product1) ^ counter[1] ^ key[0], low_half(product1), high_half(product0) ^ counter[3] ^ key[1],
               low_half(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Random::Random(const RngKey& key)
    : key_(derived_key(key)), counter_{0, low_half(key.sample), key.occurrence, uint32_t{key.view} << 16 | key.step} {}

uint32_t Random::bits() {
  if (used_ == 4) {
    block_ = philox4x32(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

double Random::uniform() {
  const uint64_t high = bits() >> 5;  // 27 bits
  const uint64_t low = bits() >> 6;   // 26 bits
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

double Random::uniform(double low, double high) {
  assert(low <= high);
  const double value = low + (high - low) * uniform();
  return value < high || low == high ? value : std::nextafter(high, low);  // the sum may round up to `high`
}

// Lemire, "Fast random integer generation in an interval", 2019: the high word of a 64x64-bit product, rejecting the low words that
// would make some results more likely.
int64_t Random::below(int64_t n) {
  assert(n >= 1);
  const auto range = static_cast<uint64_t>(n);
  const uint64_t biased = (0 - range) % range;
  while (true) {
    const uint64_t high = bits();
    const uint64_t word = high << 32 | bits();
    const auto product = static_cast<unsigned __int128>(word) * range;
    if (static_cast<uint64_t>(product) >= biased) return static_cast<int64_t>(product >> 64);
  }
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // 1 - u is in (0, 1]
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::vector<int64_t> permutation(int64_t n, const RngKey& key) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  Random random(key);
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

}  // namespace debias
