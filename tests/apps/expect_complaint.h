// What the command says where it fails.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/apps/process.h"

namespace debias {

// One line of complaint, at the end.
inline void expect_complaint(const ProcessResult& result, int exit, const std::string& part) {
  EXPECT_EQ(result.exit, exit) << result.err;
  EXPECT_EQ(times("debias: ", result.err), 1u) << result.err;
  EXPECT_THAT(result.err.substr(result.err.find("debias: ")), testing::HasSubstr(part));
}

}  // namespace debias
