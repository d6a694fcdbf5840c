// What a text says, and what it does not say.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace debias {

inline void expect_parts(const std::string& text, const std::vector<std::string>& parts, const std::vector<std::string>& absent = {}) {
  for (const auto& part : parts) EXPECT_THAT(text, testing::HasSubstr(part));
  for (const auto& part : absent) EXPECT_THAT(text, testing::Not(testing::HasSubstr(part)));
}

}  // namespace debias
