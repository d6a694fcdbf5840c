#include "debias/evaluate/descent.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr size_t kPairs = 10;
constexpr double kArmijo = 1e-4;
constexpr int kMostHalvings = 40;

double inner(const std::vector<double>& a, const std::vector<double>& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

}  // namespace

Descent::Descent(std::vector<double> start, std::vector<double> scales, double noise)
    : scales_(std::move(scales)), point_(std::move(start)), trial_(point_), noise_(noise) {}

bool Descent::take(double value, std::vector<double> gradient, double bound) {
  if (begun_ && value > value_ + kArmijo * step_ * slope_) return retreat(value);
  if (begun_) remember(gradient);
  point_ = trial_;
  value_ = value;
  gradient_ = std::move(gradient);
  begun_ = true;
  ++iterations_;
  if (std::sqrt(inner(gradient_, gradient_)) <= bound) return true;
  choose_direction();
  step_ = 1;
  halvings_ = 0;
  move();
  return false;
}

// The minimum of the parabola through both values and the slope, held within a tenth and a half of the step.
bool Descent::retreat(double value) {
  const bool within_noise = -step_ * slope_ <= noise_ * std::abs(value_);
  if (within_noise || ++halvings_ > kMostHalvings) {
    trial_ = point_;
    return true;
  }
  const double parabola = -slope_ * step_ / (2 * (value - value_ - slope_ * step_));
  step_ *= std::isfinite(parabola) ? std::clamp(parabola, 0.1, 0.5) : 0.1;
  move();
  return false;
}

void Descent::move() {
  for (size_t i = 0; i < point_.size(); ++i) trial_[i] = point_[i] + step_ * direction_[i];
}

void Descent::remember(const std::vector<double>& gradient) {
  Pair pair = {std::vector<double>(point_.size()), std::vector<double>(point_.size()), 0};
  for (size_t i = 0; i < point_.size(); ++i) {
    pair.s[i] = trial_[i] - point_[i];
    pair.y[i] = gradient[i] - gradient_[i];
  }
  const double curvature = inner(pair.s, pair.y);
  if (curvature <= 0) return;  // of rounding alone: f is strongly convex
  pair.rho = 1 / curvature;
  pairs_.push_back(std::move(pair));
  if (pairs_.size() > kPairs) pairs_.pop_front();
}

void Descent::choose_direction() {
  direction_ = gradient_;
  const auto add = [this](const std::vector<double>& vector, double factor) {
    for (size_t i = 0; i < vector.size(); ++i) direction_[i] += factor * vector[i];
  };
  std::vector<double> alpha(pairs_.size());
  for (size_t i = pairs_.size(); i-- > 0;) {
    alpha[i] = pairs_[i].rho * inner(pairs_[i].s, direction_);
    add(pairs_[i].y, -alpha[i]);
  }
  const double scale = pairs_.empty() ? 1 : 1 / (pairs_.back().rho * scaled_square(pairs_.back().y));
  for (size_t i = 0; i < direction_.size(); ++i) direction_[i] *= scale * scales_[i];
  for (size_t i = 0; i < pairs_.size(); ++i) add(pairs_[i].s, alpha[i] - pairs_[i].rho * inner(pairs_[i].y, direction_));
  for (double& value : direction_) value = -value;
  slope_ = inner(direction_, gradient_);
}

double Descent::scaled_square(const std::vector<double>& vector) const {
  double sum = 0;
  for (size_t i = 0; i < vector.size(); ++i) sum += scales_[i] * vector[i] * vector[i];
  return sum;
}

at::Tensor head_preconditioner(const at::Tensor& covariance, double l2) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  at::Tensor bound = covariance / 2;
  bound.diagonal().add_(l2 + 1e-9);
  const at::Tensor factor = at::linalg_cholesky(bound);
  return at::linalg_solve_triangular(factor, at::eye(covariance.size(0), at::kDouble), /*upper=*/false).contiguous();
}

}  // namespace debias
