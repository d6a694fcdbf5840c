#include "debias/evaluate/class_prior.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/unit_rows.h"

namespace debias {
namespace {

constexpr double kMiss = 0.05;       // chance that an interval does not hold
constexpr double kTwoSided = 1.960;  // standard deviations of that chance
constexpr int64_t kPseudoLabels = 2;
constexpr int64_t kPilot = 5;         // every fifth image chooses thresholds
constexpr int64_t kThresholds = 9;    // deciles
constexpr int64_t kPriorBlock = 256;  // rows whose cosines are held together
constexpr double kSame = 1 - 1e-6;    // cosine of two views without randomness, within float32's digits

double kullback_leibler(double a, double b) {  // of Bernoulli(a) from Bernoulli(b)
  const auto part = [](double p, double q) {
    return p == 0 ? 0.0 : q <= 0 ? std::numeric_limits<double>::infinity() : p * std::log(p / q);
  };
  return part(a, b) + part(1 - a, 1 - b);
}

// The chance p furthest from `share` in the direction of `end` (0 or 1) with trials KL(share, p) <= budget.
double chernoff_bound(double share, double trials, double budget, double end) {
  double inside = share, outside = end;
  for (int i = 0; i < 60; ++i) {
    const double middle = (inside + outside) / 2;
    (trials * kullback_leibler(share, middle) <= budget ? inside : outside) = middle;
  }
  return outside;
}

struct Tails {
  std::vector<double> random, views;  // shares above each threshold
};

at::Tensor view_cosines(const at::Tensor& rows) { return (rows.select(1, 0) * rows.select(1, 1)).sum(1); }

std::vector<float> deciles(const at::Tensor& cosines) {
  const at::Tensor sorted = std::get<0>(cosines.sort());
  std::vector<float> thresholds;
  for (int64_t k = 1; k <= kThresholds; ++k) thresholds.push_back(sorted[k * sorted.size(0) / (kThresholds + 1)].item<float>());
  return thresholds;
}

Tails tails_above(const std::vector<float>& thresholds, const at::Tensor& rows) {
  const at::Tensor first = rows.select(1, 0).contiguous(), of_views = view_cosines(rows);
  const int64_t n = first.size(0);
  std::vector<int64_t> above(thresholds.size());
  for (int64_t begin = 0; begin < n; begin += kPriorBlock) {
    const int64_t count = std::min(kPriorBlock, n - begin);
    at::Tensor cosines = at::mm(first.narrow(0, begin, count), first.t());
    cosines.diagonal(begin).fill_(-2);  // an image with itself is not a pair
    for (size_t k = 0; k < thresholds.size(); ++k) above[k] += cosines.gt(thresholds[k]).sum().item<int64_t>();
  }
  Tails tails;
  for (size_t k = 0; k < thresholds.size(); ++k) {
    tails.random.push_back(static_cast<double>(above[k]) / (static_cast<double>(n) * static_cast<double>(n - 1)));
    tails.views.push_back(of_views.gt(thresholds[k]).to(at::kDouble).mean().item<double>());
  }
  return tails;
}

at::Tensor places(int64_t images, bool pilot) {
  const at::Tensor all = at::arange(images, at::kLong);
  return all.masked_select(all.remainder(kPilot).eq(0).eq(pilot));
}

}  // namespace

PriorEstimate class_prior_from_labels(const std::vector<int64_t>& labels) {
  std::map<int64_t, int64_t> counts;
  PriorEstimate estimate{.method = PriorMethod::kLabels};
  for (const int64_t label : labels) {
    if (label == kUnknown) continue;
    ++counts[label];
    ++estimate.images;
  }
  if (estimate.images < 2) {
    throw data_error("prior: {} of {} labels are known; it needs at least two", estimate.images, labels.size());
  }
  const double n = static_cast<double>(estimate.images), all = n + kPseudoLabels;
  double agreeing = 0, squares = kPseudoLabels / (all * all), cubes = squares / all;
  for (const auto& [label, count] : counts) {
    const double c = static_cast<double>(count), p = c / all;
    agreeing += c * (c - 1);
    squares += p * p;
    cubes += p * p * p;
  }
  estimate.classes = std::ssize(counts);
  estimate.tau_plus = agreeing / (n * (n - 1));
  const double square = squares * squares;
  const double variance = (4 * (n - 2) * std::max(0.0, cubes - square) + 2 * (squares - square)) / (n * (n - 1));
  const double half_width = kTwoSided * std::sqrt(variance);
  estimate.low = std::max(0.0, estimate.tau_plus - half_width);
  estimate.high = std::min(1.0, estimate.tau_plus + half_width);
  return estimate;
}

PriorEstimate class_prior_from_views(const at::Tensor& rows) {
  if (rows.dim() != 3 || rows.size(1) < 2) {
    throw data_error("prior: {} view of each image; without labels it needs at least two", rows.dim() == 3 ? rows.size(1) : 1);
  }
  if (rows.size(0) < kLeastImagesOfViews) {
    throw data_error("prior: views of {} images; without labels it needs at least {}", rows.size(0), kLeastImagesOfViews);
  }
  const at::Tensor pairs = rows.narrow(1, 0, 2).to(at::kFloat);
  const at::Tensor unit = unit_rows(pairs.flatten(0, 1), "prior").view(pairs.sizes());
  const at::Tensor pilot = view_cosines(unit.index_select(0, places(rows.size(0), true)));
  if (pilot.median().item<double>() > kSame) {
    throw data_error(
        "prior: the two views of an image have the same features; without labels it needs random views and an encoder that has not "
        "collapsed");
  }
  const std::vector<float> thresholds = deciles(pilot);
  const at::Tensor evaluated = unit.index_select(0, places(rows.size(0), false));
  const Tails tails = tails_above(thresholds, evaluated);
  const double n = static_cast<double>(evaluated.size(0)), budget = std::log(2 * kThresholds / kMiss);
  PriorEstimate estimate{.method = PriorMethod::kViews, .tau_plus = 1, .images = rows.size(0), .threshold = thresholds.front()};
  for (size_t k = 0; k < thresholds.size(); ++k) {
    const double most = chernoff_bound(tails.random[k], n / 2, budget, 1), least = chernoff_bound(tails.views[k], n, budget, 0);
    if (most >= estimate.high * least) continue;
    estimate.high = most / least;
    estimate.tau_plus = std::min(1.0, tails.random[k] / tails.views[k]);
    estimate.threshold = thresholds[k];
  }
  return estimate;
}

std::vector<std::string> assumptions(PriorMethod method) {
  if (method == PriorMethod::kLabels) {
    return {"the labelled images are a random sample of the images that negatives are drawn from"};
  }
  if (method == PriorMethod::kDraws) return {"images are drawn by the sampler of the run, which knows the label of each"};
  return {"the images are a random sample of the images that negatives are drawn from",
          "two views of an image are as similar as two images of its class, as the debiased objectives assume too. Usually views are more "
          "similar, and the bound is then too low: the true prior may lie above `high`",
          "there is no lower bound: `low` is 0"};
}

std::string prior_text(const PriorEstimate& estimate) {
  std::string text = fmt::format("tau_plus {:.4f}  ", estimate.tau_plus);
  if (estimate.method == PriorMethod::kDraws) {
    text += fmt::format("from {} labels of {} classes, as the run's sampler draws them\n", estimate.images, estimate.classes);
  } else if (estimate.method == PriorMethod::kLabels) {
    text += fmt::format("[{:.4f}, {:.4f}]  from {} labels of {} classes\n", estimate.low, estimate.high, estimate.images, estimate.classes);
  } else {
    text +=
        fmt::format("at most {:.4f}  from two views of {} images, at cosine {:.3f}\n", estimate.high, estimate.images, estimate.threshold);
  }
  for (const auto& assumption : assumptions(estimate.method)) text += fmt::format("  assumes: {}\n", assumption);
  return text;
}

nlohmann::ordered_json to_json(const PriorEstimate& estimate) {
  nlohmann::ordered_json json = {{"tau_plus", estimate.tau_plus},
                                 {"low", estimate.low},
                                 {"high", estimate.high},
                                 {"method", enum_name(estimate.method)},
                                 {"assumptions", assumptions(estimate.method)},
                                 {"images", estimate.images}};
  if (estimate.method != PriorMethod::kViews) {
    json["classes"] = estimate.classes;
  } else {
    json["threshold"] = estimate.threshold;
  }
  return json;
}

}  // namespace debias
