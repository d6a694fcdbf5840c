#include "debias/study/theorems.h"

#include <algorithm>
#include <cmath>

#include "debias/core/philox.h"

namespace debias {

DrawnMean drawn_mean(int64_t draws, const StudyRun& run, uint64_t stream, const std::function<double(Random&)>& draw) {
  constexpr int64_t kPieces = 64;
  struct Sums {
    double values = 0, squares = 0;
  };
  std::vector<Sums> sums(kPieces);
  for_each_piece(kPieces, run.threads, [&](int64_t piece) {
    Random random({.domain = RngDomain::kStudy, .seed = run.seed, .epoch = stream, .sample = static_cast<uint64_t>(piece), .step = 7});
    Sums& own = sums[static_cast<size_t>(piece)];
    for (int64_t i = draws * piece / kPieces; i < draws * (piece + 1) / kPieces; ++i) {
      const double value = draw(random);
      own.values += value;
      own.squares += value * value;
    }
  });
  Sums all;
  for (const Sums& own : sums) {
    all.values += own.values;
    all.squares += own.squares;
  }
  const double n = static_cast<double>(draws), mean = all.values / n;
  return {mean, std::sqrt(std::max(0.0, all.squares / n - mean * mean) / n)};
}

bool relation_holds(const TheoremCheck& check) {
  const double slack = 3 * check.error + 1e-12 * std::max({1.0, std::abs(check.left), std::abs(check.right)});
  const double excess = check.left - check.right;
  if (check.relation == "<=") return excess <= slack;
  if (check.relation == ">=") return excess >= -slack;
  return std::abs(excess) <= slack;
}

TheoremCheck evaluated(TheoremCheck check, Verdict when_true) {
  check.verdict = relation_holds(check) ? when_true : Verdict::kFails;
  return check;
}

std::vector<TheoremCheck> check_theorems(const StudyRun& run) {
  std::vector<TheoremCheck> all;
  for (const auto part : {dcl_theorems, mdb_theorems, bcl_theorems, usc_theorems}) {
    auto checks = part(run);
    all.insert(all.end(), std::make_move_iterator(checks.begin()), std::make_move_iterator(checks.end()));
  }
  return all;
}

}  // namespace debias
