#include "debias/study/theorems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

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

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

}  // namespace

FiniteEmbedding::FiniteEmbedding(std::string name, int64_t classes, std::vector<std::vector<double>> points)
    : name_(std::move(name)), classes_(classes), per_class_(std::ssize(points) / classes), points_(std::move(points)) {
  assert(classes_ >= 2 && per_class_ * classes_ == std::ssize(points_));
  for (int64_t x = 0; x < size(); ++x) {
    double positive = 0, all = 0;
    for (int64_t y = 0; y < size(); ++y) {
      const double value = std::exp(dot(points_[static_cast<size_t>(x)], points_[static_cast<size_t>(y)]));
      h_.push_back(value);
      all += value;
      if (x / per_class_ == y / per_class_) positive += value;
    }
    all_.push_back(all / static_cast<double>(size()));
    positive_.push_back(positive / static_cast<double>(per_class_));
  }
}

double FiniteEmbedding::mean(int64_t x) const { return all_[static_cast<size_t>(x)]; }
double FiniteEmbedding::mean_positive(int64_t x) const { return positive_[static_cast<size_t>(x)]; }
double FiniteEmbedding::mean_negative(int64_t x) const { return (mean(x) - tau_plus() * mean_positive(x)) / (1 - tau_plus()); }

int64_t FiniteEmbedding::draw_positive(int64_t x, Random& random) const { return x / per_class_ * per_class_ + random.below(per_class_); }

int64_t FiniteEmbedding::draw_negative(int64_t x, Random& random) const {
  const int64_t drawn = random.below(size() - per_class_), own = x / per_class_ * per_class_;
  return drawn < own ? drawn : drawn + per_class_;
}

double FiniteEmbedding::mean_classifier_loss() const {
  double loss = 0;
  for (int64_t x = 0; x < size(); ++x) {
    double total = 0, own = 0;
    for (int64_t c = 0; c < classes_; ++c) {
      double logit = 0;
      for (int64_t y = c * per_class_; y < (c + 1) * per_class_; ++y) logit += std::log(h(x, y));
      logit /= static_cast<double>(per_class_);
      total += std::exp(logit);
      if (c == x / per_class_) own = logit;
    }
    loss += std::log(total) - own;
  }
  return loss / static_cast<double>(size());
}

double FiniteEmbedding::debiased_limit(int64_t negatives) const {
  double loss = 0;
  for (int64_t x = 0; x < size(); ++x) {
    const int64_t own = x / per_class_ * per_class_;
    for (int64_t y = own; y < own + per_class_; ++y) loss += std::log1p(static_cast<double>(negatives) * mean_negative(x) / h(x, y));
  }
  return loss / static_cast<double>(size() * per_class_);
}

FiniteEmbedding antipodal() { return {"two antipodal classes", 2, {{1}, {-1}}}; }

FiniteEmbedding even_classes(int64_t classes, double mean_classifier_loss, double spread) {
  const auto k = static_cast<size_t>(classes);
  // ln(1 + (K - 1) e^{-(1 - spread)(1 - rho)}) is the loss, rho the cosine of two centres.
  const double separation = -std::log(std::expm1(mean_classifier_loss) / static_cast<double>(classes - 1));
  const double rho = 1 - separation / (1 - spread);
  assert(rho <= 1 && rho >= -1 / static_cast<double>(classes - 1));
  // Centres c_i = p u_i + q sum_j u_j on orthonormal u: p^2 = 1 - rho and c_i . c_j = rho.
  const double p = std::sqrt(1 - rho), n = static_cast<double>(classes);
  const double q = (-p + std::sqrt(p * p + n * rho)) / n;
  std::vector<std::vector<double>> points;
  for (size_t c = 0; c < k; ++c) {
    for (const double side : {-1.0, 1.0}) {
      std::vector<double> point(2 * k, 0);
      for (size_t j = 0; j < k; ++j) point[j] = std::sqrt(1 - spread) * (q + (j == c ? p : 0));
      point[k + c] = side * std::sqrt(spread);
      points.push_back(std::move(point));
    }
  }
  return {fmt::format("{} even classes, centres at cosine {:.3f}, spread {}", classes, rho, spread), classes, std::move(points)};
}

FiniteEmbedding random_classes(int64_t classes, int64_t per_class, int64_t dimensions, double spread, uint64_t seed) {
  Random random({.domain = RngDomain::kStudy, .seed = seed, .epoch = static_cast<uint64_t>(classes), .step = 6});
  std::vector<std::vector<double>> points;
  for (int64_t c = 0; c < classes; ++c) {
    std::vector<double> centre(static_cast<size_t>(dimensions));
    for (double& value : centre) value = random.normal();
    for (int64_t i = 0; i < per_class; ++i) {
      std::vector<double> point = centre;
      for (double& value : point) value += spread * random.normal();
      const double norm = std::sqrt(dot(point, point));
      for (double& value : point) value /= norm;
      points.push_back(std::move(point));
    }
  }
  return {fmt::format("{} random classes of {} points in {} dimensions", classes, per_class, dimensions), classes, std::move(points)};
}

}  // namespace debias
