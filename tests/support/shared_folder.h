// A temporary folder for all tests of a suite.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/temporary_folder.h"

namespace debias {

// class Runs : public SharedFolder<Runs> { ... }; made where it is asked for first, removed behind the last test.
template <class Suite>
class SharedFolder : public testing::Test {
 protected:
  static void TearDownTestSuite() { folder_.reset(); }
  static const TemporaryFolder& folder() {
    if (!folder_) folder_.emplace();
    return *folder_;
  }
  static std::string path(const std::string& name) { return folder() / name; }

 private:
  inline static std::optional<TemporaryFolder> folder_;
};

}  // namespace debias
