#include "debias/report/effect_size.h"

#include <array>
#include <cmath>

namespace debias {
namespace {

size_t size_class(double difference) {
  const double size = std::fabs(difference);
  return size < kSlight ? 0 : size < kModerate ? 1 : size < kStrong ? 2 : 3;
}

}  // namespace

const char* size_adjective(double difference) {
  constexpr std::array kWords = {"slight", "moderate", "strong", "very strong"};
  return kWords[size_class(difference)];
}

const char* size_adverb(double difference) {
  constexpr std::array kWords = {"slightly", "moderately", "strongly", "very strongly"};
  return kWords[size_class(difference)];
}

}  // namespace debias
