#include "debias/evaluate/class_prior.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/features.h"
#include "debias/evaluate/row_mates.h"

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

// `groups`: int64 [n], all different where no row has a mate.
Tails tails_above(const std::vector<float>& thresholds, const at::Tensor& rows, const at::Tensor& groups) {
  const at::Tensor first = rows.select(1, 0).contiguous(), of_views = view_cosines(rows);
  const int64_t n = first.size(0);
  std::vector<int64_t> above(thresholds.size());
  int64_t pairs = 0;
  for (int64_t begin = 0; begin < n; begin += kPriorBlock) {
    const int64_t count = std::min(kPriorBlock, n - begin);
    at::Tensor cosines = at::mm(first.narrow(0, begin, count), first.t());
    const at::Tensor mates = groups.narrow(0, begin, count).unsqueeze(1).eq(groups);  // an image with itself is not a pair either
    cosines.masked_fill_(mates, -2);
    pairs += count * n - mates.sum().item<int64_t>();
    for (size_t k = 0; k < thresholds.size(); ++k) above[k] += cosines.gt(thresholds[k]).sum().item<int64_t>();
  }
  Tails tails;
  for (size_t k = 0; k < thresholds.size(); ++k) {
    tails.random.push_back(static_cast<double>(above[k]) / static_cast<double>(pairs));
    tails.views.push_back(of_views.gt(thresholds[k]).to(at::kDouble).mean().item<double>());
  }
  return tails;
}

at::Tensor places(int64_t images, bool pilot) {
  const at::Tensor all = at::arange(images, at::kLong);
  return all.masked_select(all.remainder(kPilot).eq(0).eq(pilot));
}

// Every row alone has a number of its own.
std::vector<int64_t> numbered_groups(const std::vector<int64_t>& groups, size_t rows) {
  std::vector<int64_t> numbers(rows);
  const auto units = rows_of_groups(groups.empty() ? std::vector<int64_t>(rows, kUnknown) : groups);
  for (size_t unit = 0; unit < units.size(); ++unit) {
    for (const size_t row : units[unit]) numbers[row] = static_cast<int64_t>(unit);
  }
  return numbers;
}

// Of ordered pairs of known labels of different groups: how many agree, and how many there are.
struct GroupedPairs {
  double agreeing = 0, all = 0;
  double jackknife = 0;  // variance of their ratio
  int64_t groups = 0;
  bool is_pure = true;  // each group is of one class
};

GroupedPairs grouped_pairs(const std::vector<int64_t>& labels, const std::vector<int64_t>& groups, const std::map<int64_t, int64_t>& counts,
                           int64_t images) {
  std::map<int64_t, std::map<int64_t, double>> of_group;  // rows by label
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != kUnknown) ++of_group[groups[i]][labels[i]];
  }
  const auto n = static_cast<double>(images);
  GroupedPairs pairs;
  pairs.all = n * n;
  pairs.groups = std::ssize(of_group);
  for (const auto& [label, count] : counts) pairs.agreeing += static_cast<double>(count) * static_cast<double>(count);
  std::vector<std::pair<double, double>> without;  // what goes with a group
  for (const auto& [group, own] : of_group) {
    double rows = 0, agreeing = 0;
    pairs.is_pure &= own.size() == 1;
    for (const auto& [label, count] : own) {
      rows += count;
      agreeing += count * (static_cast<double>(counts.at(label)) - count);
      pairs.agreeing -= count * count;
    }
    pairs.all -= rows * rows;
    without.emplace_back(2 * agreeing, 2 * rows * (n - rows));
  }
  std::vector<double> ratios;
  for (const auto& [agreeing, all] : without) {
    if (pairs.all - all > 0) ratios.push_back((pairs.agreeing - agreeing) / (pairs.all - all));
  }
  double mean = 0, squares = 0;
  for (const double ratio : ratios) mean += ratio / static_cast<double>(ratios.size());
  for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
  if (!ratios.empty()) pairs.jackknife = squares * (1 - 1 / static_cast<double>(ratios.size()));
  return pairs;
}

// Of the share of agreeing pairs of n independent labels, of which n p_c are of a class.
double label_variance(const std::map<int64_t, int64_t>& counts, double share, double n) {
  const double all = n + kPseudoLabels;
  double squares = kPseudoLabels / (all * all), cubes = squares / all;
  for (const auto& [label, count] : counts) {
    const double p = share * static_cast<double>(count) / all;
    squares += p * p;
    cubes += p * p * p;
  }
  const double square = squares * squares;
  return (4 * (n - 2) * std::max(0.0, cubes - square) + 2 * (squares - square)) / (n * (n - 1));
}

}  // namespace

PriorEstimate class_prior_from_labels(const std::vector<int64_t>& labels, const std::vector<int64_t>& groups) {
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
  const auto n = static_cast<double>(estimate.images);
  const GroupedPairs pairs = grouped_pairs(labels, numbered_groups(groups, labels.size()), counts, estimate.images);
  if (pairs.groups < 2)
    throw data_error("prior: all {} labelled images are of one group, and pairs of one group do not count; it needs two groups",
                     estimate.images);
  const bool has_mates = pairs.groups < estimate.images;
  if (has_mates) estimate.groups = pairs.groups;
  estimate.classes = std::ssize(counts);
  estimate.tau_plus = pairs.agreeing / pairs.all;
  double variance = label_variance(counts, 1, n);
  if (has_mates) variance = std::max(variance, pairs.jackknife);
  const auto G = static_cast<double>(pairs.groups);
  if (has_mates && pairs.is_pure) variance = std::max(variance, label_variance(counts, G / n, G));
  const double half_width = kTwoSided * std::sqrt(variance);
  estimate.low = std::max(0.0, estimate.tau_plus - half_width);
  estimate.high = std::min(1.0, estimate.tau_plus + half_width);
  return estimate;
}

PriorEstimate class_prior_from_views(const at::Tensor& rows, const std::vector<int64_t>& groups) {
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
  const at::Tensor numbers = at::tensor(numbered_groups(groups, static_cast<size_t>(rows.size(0))), at::kLong);
  const at::Tensor compared = numbers.index_select(0, places(rows.size(0), false));
  const int64_t different = std::get<0>(at::_unique(compared)).numel();
  if (different < 2) throw data_error("prior: all images are of one group, and pairs of one group do not count; it needs two groups");
  const Tails tails = tails_above(thresholds, evaluated, compared);
  const double n = static_cast<double>(different), budget = std::log(2 * kThresholds / kMiss);
  PriorEstimate estimate{.method = PriorMethod::kViews, .tau_plus = 1, .images = rows.size(0), .threshold = thresholds.front()};
  if (different < evaluated.size(0)) estimate.groups = std::get<0>(at::_unique(numbers)).numel();
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
  if (estimate.groups > 0)
    text += fmt::format("  {} images are {} groups: pairs of one group do not count\n", estimate.images, estimate.groups);
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
  if (estimate.groups > 0) json["groups"] = estimate.groups;
  if (estimate.method != PriorMethod::kViews) {
    json["classes"] = estimate.classes;
  } else {
    json["threshold"] = estimate.threshold;
  }
  return json;
}

}  // namespace debias
