// Tests of folders of images.
#pragma once

#include <gtest/gtest.h>

#include "tests/data/fixture_files.h"

namespace debias::fixture {

class ImageTree : public testing::Test {
 protected:
  void add(const std::string& path, uint8_t shade = 1) { write(folder_ / path, encode_png(solid(3, 4, shade, 2, 3))); }

  template <class Of>
  static auto of_each(const Dataset& data, Of of) {
    std::vector<decltype((data.*of)(0))> result;
    for (int64_t i = 0; i < data.size(); ++i) result.push_back((data.*of)(i));
    return result;
  }
  static std::vector<std::string> sources(const Dataset& data) { return of_each(data, &Dataset::source); }
  static std::vector<int64_t> labels(const Dataset& data) { return of_each(data, &Dataset::label); }
  static std::vector<int64_t> biases(const Dataset& data) { return of_each(data, &Dataset::bias); }

  TemporaryFolder folder_;
};

}  // namespace debias::fixture
