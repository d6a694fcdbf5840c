// The page that `debias report` writes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/apps/process.h"

namespace debias {

// Of these runs, written to `file`.
inline std::string page_of(const std::vector<std::string>& runs, const std::string& file) {
  const ProcessResult report = run_debias(with(with({"report"}, runs), {"--out", file}));
  EXPECT_EQ(report.exit, 0) << report.err;
  return file_text(file);
}

}  // namespace debias
