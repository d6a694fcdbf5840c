#include "debias/core/dtype.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace debias {
namespace dtype_test {

TEST(DType, NamesAreDistinctAndEndWithTheSizeInBits) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(DType::kFloat64); ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(name_of(dtype));
    EXPECT_TRUE(names.insert(name_of(dtype)).second) << name;
    if (dtype == DType::kBool) continue;
    EXPECT_EQ(std::stoul(name.substr(name.find_first_of("0123456789"))), 8 * size_of(dtype)) << name;
  }
  EXPECT_EQ(name_of(DType::kBool), "bool");
  EXPECT_EQ(size_of(DType::kBool), 1u);
}

}  // namespace dtype_test
}  // namespace debias
