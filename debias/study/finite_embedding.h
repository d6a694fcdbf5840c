// Finite embeddings of uniform classes, on which expectations under p, p+ and p- are exact averages.
//
// K classes of n unit vectors; h(x, y) = e^{x . y} in [1/e, e], t = 1. p is uniform over all points, p+_x over the class of x (x itself
// among them), p-_x over the other classes: with tau_plus = 1/K the mean under p is tau_plus times that under p+ and tau_minus times that
// under p-, exactly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/philox.h"

namespace debias {

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

}  // namespace debias
