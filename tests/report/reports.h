// Runs in a folder of their own, and what a report makes of them: what its tests start from.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "debias/report/sections/run_report.h"
#include "tests/report/reading_program.h"
#include "tests/report/run_fixture.h"
#include "tests/report/well_formed.h"
#include "tests/support/expect_parts.h"
#include "tests/support/file_text.h"
#include "tests/support/in_folder.h"
#include "tests/support/refusals.h"

namespace debias {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
inline constexpr const char* kVersion = "0.1.0";

// What every page is: well-formed, and loaded from nowhere else.
inline void expect_self_contained(const std::string& html) {
  const WellFormed page = well_formed(html);
  EXPECT_EQ(page.fault, "");
  for (const auto& source : attributes(page, "src")) EXPECT_TRUE(source.starts_with("data:image/png;base64,")) << source;
  for (const auto& reference : attributes(page, "href")) EXPECT_TRUE(reference.starts_with("#") || reference == "data:,") << reference;
  EXPECT_EQ(page.count("script"), 0u);
}

class Reports : public InFolder {
 protected:
  std::vector<RunRecord> read(const std::vector<std::string>& runs) const { return read_runs(runs, reading_program(kVersion)); }
  std::string html(const std::vector<std::string>& names) const {
    const std::string page = run_report_html(read(names), kVersion);
    expect_self_contained(page);
    return page;
  }
  std::string text(const std::vector<std::string>& names) const { return run_report_text(read(names), {.verbose = true}); }
};

}  // namespace debias
