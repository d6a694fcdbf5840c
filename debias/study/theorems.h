// The papers' statements, each with both of its sides measured.
//
// On finite embeddings (finite_embedding.h) expectations over classes are exact; expectations over N drawn samples are Monte Carlo means
// with a standard error, and an inequality is held to it up to three of them. A statement that fails is shown by a counterexample; where a
// corrected constant or estimator makes it true, that is measured beside it.
//
// Sources: Chuang et al. 2020 (DCL) lemmas 1, 2, 4, A.2, A.4, theorems 3 and 5, eq. 4; "Mitigating Biases in Contrastive Learning" (MDB)
// lemma 1 and theorem 2.1; Liu and Wang 2023 (BCL) eqs. 5, 6, 10 and lemma 3.2; Barbano et al. 2023 (USC) eq. 3 and sections 3 and A.
#pragma once

#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/study/finite_embedding.h"
#include "debias/study/pieces.h"

namespace debias {

enum class Verdict { kHolds, kHoldsCorrected, kFails, kOrderOnly };

template <>
struct EnumNames<Verdict> {
  static constexpr std::array<std::pair<std::string_view, Verdict>, 4> values = {
      {{"holds", Verdict::kHolds},
       {"holds with the corrected constant", Verdict::kHoldsCorrected},
       {"fails: counterexample", Verdict::kFails},
       {"states an order only", Verdict::kOrderOnly}}};
};

struct TheoremCheck {
  std::string statement;  // "DCL Theorem 3"
  std::string claim;      // what is compared, in words
  std::string setting;    // on which population
  double left = 0;
  std::string relation;  // "<=", ">=" or "="
  double right = 0;
  double error = 0;  // standard error of left - right; 0: exact up to rounding
  Verdict verdict = Verdict::kHolds;
};

std::vector<TheoremCheck> check_theorems(const StudyRun& run);

std::vector<TheoremCheck> dcl_theorems(const StudyRun& run);
std::vector<TheoremCheck> mdb_theorems(const StudyRun& run);
std::vector<TheoremCheck> bcl_theorems(const StudyRun& run);
std::vector<TheoremCheck> usc_theorems(const StudyRun& run);

// MDB theorem 2.1's two sides at N negatives: |E ln(1 + N P-/P+) - E ln(1 + N tau_plus P-_emp / num)| and its bound with delta = 0.
double positive_gap_bound(double tau_plus, int64_t negatives);

// Means over `draws` independent draws, in fixed pieces; `stream` keeps the checks' random numbers apart.
struct DrawnMean {
  double mean = 0, error = 0;
};
DrawnMean drawn_mean(int64_t draws, const StudyRun& run, uint64_t stream, const std::function<double(Random&)>& draw);

// holds when left <relation> right within three standard errors and rounding.
bool relation_holds(const TheoremCheck& check);
// With the verdict that the measurement gives: kHolds (or the one given), else kFails.
TheoremCheck evaluated(TheoremCheck check, Verdict when_true = Verdict::kHolds);

}  // namespace debias
