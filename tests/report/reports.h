// Runs in a folder of their own, and what a report makes of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "debias/report/sections/run_report.h"
#include "tests/report/reading_program.h"
#include "tests/report/run_fixture.h"

namespace debias {

inline constexpr const char* kVersion = "0.1.0";

class Reports : public testing::Test {
 protected:
  std::string run_path(const std::string& name) const { return folder_ / name; }
  std::vector<RunRecord> read(const std::vector<std::string>& names) const {
    std::vector<std::string> paths;
    for (const auto& name : names) paths.push_back(run_path(name));
    return read_runs(paths, reading_program(kVersion));
  }
  std::string html(const std::vector<std::string>& names) const { return run_report_html(read(names), kVersion); }

  TemporaryFolder folder_;
};

}  // namespace debias
