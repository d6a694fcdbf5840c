// Tests in a temporary folder that is the working folder, so that paths and messages are short.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "tests/support/shared_folder.h"
#include "tests/support/temporary_folder.h"

namespace debias {

// A folder of each test's own.
class InFolder : public testing::Test {
 protected:
  InFolder() : home_(std::filesystem::current_path()) { std::filesystem::current_path(folder_.path()); }
  ~InFolder() override { std::filesystem::current_path(home_); }
  TemporaryFolder folder_;

 private:
  std::filesystem::path home_;
};

// A folder of all tests of a suite, which Suite::fill() fills once.
template <class Suite>
class InSharedFolder : public SharedFolder<Suite> {
 protected:
  static void TearDownTestSuite() {
    SharedFolder<Suite>::TearDownTestSuite();
    is_full_ = false;
  }
  void SetUp() override {
    home_ = std::filesystem::current_path();
    std::filesystem::current_path(this->folder().path());
    if (!std::exchange(is_full_, true)) Suite::fill();
  }
  void TearDown() override { std::filesystem::current_path(home_); }

 private:
  std::filesystem::path home_;
  inline static bool is_full_ = false;
};

}  // namespace debias
