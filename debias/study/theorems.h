// The papers' statements, each with both of its sides measured.
//
// On finite embeddings expectations over classes are exact; expectations over N drawn samples are Monte Carlo means
// with a standard error, and an inequality is held to it up to three of them. A statement that fails is shown by a counterexample; where a
// corrected constant or estimator makes it true, that is measured beside it.
//
// Sources: Chuang et al. 2020 (DCL) lemmas 1, 2, 4, A.2, A.4, theorems 3 and 5, eq. 4; "Mitigating Biases in Contrastive Learning" (MDB)
// lemma 1 and theorem 2.1; Liu and Wang 2023 (BCL) eqs. 5, 6, 10 and lemma 3.2; Barbano et al. 2023 (USC) eq. 3 and sections 3 and A.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/core/philox.h"
#include "debias/study/estimator_errors.h"

namespace debias {

// Finite embeddings of uniform classes, on which expectations under p, p+ and p- are exact averages.
//
// K classes of n unit vectors; h(x, y) = e^{x . y} in [1/e, e], t = 1. p is uniform over all points, p+_x over the class of x (x itself
// among them), p-_x over the other classes: with tau_plus = 1/K the mean under p is tau_plus times that under p+ and tau_minus times that
// under p-, exactly.
class FiniteEmbedding {
 public:
  // `points` of class 0, then of class 1, ...: classes * per_class unit vectors.
  FiniteEmbedding(std::string name, int64_t classes, std::vector<std::vector<double>> points);

  const std::string& name() const { return name_; }
  int64_t classes() const { return classes_; }
  int64_t per_class() const { return per_class_; }
  int64_t size() const { return classes_ * per_class_; }
  double tau_plus() const { return 1 / static_cast<double>(classes_); }

  double h(int64_t x, int64_t y) const { return h_[static_cast<size_t>(x * size() + y)]; }
  double mean(int64_t x) const;           // under p
  double mean_positive(int64_t x) const;  // under p+_x
  double mean_negative(int64_t x) const;  // under p-_x
  int64_t draw(Random& random) const { return random.below(size()); }
  int64_t draw_positive(int64_t x, Random& random) const;
  int64_t draw_negative(int64_t x, Random& random) const;

  // Mean cross-entropy of the classifier whose weights are the classes' means.
  double mean_classifier_loss() const;
  // E ln(1 + N P-_x / h(x, x+)) over x and x+ ~ p+_x: the debiased loss's limit.
  double debiased_limit(int64_t negatives) const;

 private:
  std::string name_;
  int64_t classes_, per_class_;
  std::vector<std::vector<double>> points_;
  std::vector<double> h_;
  std::vector<double> positive_, all_;  // means by point
};

// Two classes at opposite points: P+ = e, P- = 1/e, everything is deterministic.
FiniteEmbedding antipodal();
// Classes whose centres are at one angle to each other, each of two points at equal distance on both sides of its centre. Given by the mean
// classifier's loss and by the squared distance of a point from its centre's axis, spread in [0, 1): everything has a closed form.
FiniteEmbedding even_classes(int64_t classes, double mean_classifier_loss, double spread);
// Normal centres and normal points about them, `spread` times as far, scaled to the unit sphere.
FiniteEmbedding random_classes(int64_t classes, int64_t per_class, int64_t dimensions, double spread, uint64_t seed);

enum class Verdict { kHolds, kHoldsCorrected, kFails, kOrderOnly };

constexpr auto enum_words(Verdict) {
  return named("holds", "holds with the corrected constant", "fails: counterexample", "states an order only");
}

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
