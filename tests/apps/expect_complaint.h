// What the command says where it fails.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

#include "tests/apps/process.h"

namespace debias {

// One line of complaint, at the end.
inline void expect_complaint(const ProcessResult& result, int exit, const std::string& part) {
  EXPECT_EQ(result.exit, exit) << result.err;
  EXPECT_EQ(times("debias: ", result.err), 1u) << result.err;
  EXPECT_THAT(result.err.substr(result.err.find("debias: ")), testing::HasSubstr(part));
}

// One line, and no other.
inline void expect_one_line(const ProcessResult& result, int exit, const std::string& part) {
  EXPECT_EQ(result.exit, exit) << result.err;
  EXPECT_THAT(result.err, testing::HasSubstr(part));
  EXPECT_EQ(times("\n", result.err), 1u) << result.err;
}

// One line, and no result.
inline void expect_refused(const ProcessResult& result, int exit, const std::string& part) {
  expect_one_line(result, exit, part);
  EXPECT_EQ(result.out, "");
}

// That line whole, and no result.
inline void expect_refusal(const ProcessResult& result, int exit, const std::string& message) {
  EXPECT_EQ(result.exit, exit);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "debias: " + message + "\n");
}

// Of a command that prints JSON.
inline nlohmann::json json_of(const ProcessResult& result) {
  EXPECT_EQ(result.exit, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

}  // namespace debias
