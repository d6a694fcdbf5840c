#include "debias/evaluate/protocols/macro_auc.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/evaluate/accuracy.h"

namespace debias {
namespace {

constexpr int64_t kAucBlock = 64;    // anchors whose cosines are held together
constexpr uint16_t kAnchorStep = 8;  // its own stream among those of evaluation

struct Compared {
  float cosine;
  bool positive;
};

// By the rank sum: positives' ranks from 1, equal cosines share their mean rank. NaN without a positive or a negative.
double auc(std::vector<Compared>& compared) {
  std::sort(compared.begin(), compared.end(), [](const Compared& a, const Compared& b) { return a.cosine < b.cosine; });
  double rank_sum = 0, positives = 0;
  for (size_t begin = 0, end; begin < compared.size(); begin = end) {
    double here = 0;
    for (end = begin; end < compared.size() && compared[end].cosine == compared[begin].cosine; ++end) here += compared[end].positive;
    rank_sum += here * (static_cast<double>(begin + end + 1) / 2);
    positives += here;
  }
  const double negatives = static_cast<double>(compared.size()) - positives;
  if (positives == 0 || negatives == 0) return std::numeric_limits<double>::quiet_NaN();
  return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives);
}

AucAnchors draw_anchors(const Features& features, int64_t count, uint64_t seed, bool in_gallery) {
  std::vector<int64_t> rows;
  AucAnchors anchors;
  for (const int64_t i : permutation(features.values.size(0), {RngDomain::kEvaluate, seed, 0, 0, 0, 0, kAnchorStep})) {
    if (static_cast<int64_t>(rows.size()) == count) break;
    if (features.labels[i] == kUnknown) continue;
    rows.push_back(i);
    anchors.labels.push_back(features.labels[i]);
    anchors.own.push_back(in_gallery ? i : kUnknown);
  }
  anchors.values = features.values.index_select(0, at::tensor(rows, at::kLong));
  return anchors;
}

}  // namespace

MacroAuc macro_auc(const at::Tensor& gallery, const std::vector<int64_t>& labels, const AucAnchors& anchors) {
  const at::Tensor rows = unit_rows(gallery, labels, "macro_auc"), queries = unit_rows(anchors.values, anchors.labels, "macro_auc");
  if (rows.size(1) != queries.size(1) || anchors.own.size() != anchors.labels.size()) {
    throw data_error("macro_auc: anchors of width {} and {} places, a gallery of width {}; use one encoder for both", queries.size(1),
                     anchors.own.size(), rows.size(1));
  }
  const int64_t N = rows.size(0), A = queries.size(0);
  std::vector<double> of_anchor(static_cast<size_t>(A));
  for (int64_t begin = 0; begin < A; begin += kAucBlock) {
    const int64_t count = std::min(kAucBlock, A - begin);
    const at::Tensor cosines = at::mm(queries.narrow(0, begin, count), rows.t()).contiguous();
    const float* cosine = cosines.const_data_ptr<float>();
    at::parallel_for(0, count, 1, [&](int64_t low, int64_t high) {
      std::vector<Compared> compared;
      for (int64_t i = low; i < high; ++i) {
        compared.clear();
        for (int64_t j = 0; j < N; ++j) {
          if (labels[j] == kUnknown || j == anchors.own[begin + i]) continue;
          compared.push_back({cosine[i * N + j], labels[j] == anchors.labels[begin + i]});
        }
        of_anchor[begin + i] = auc(compared);
      }
    });
  }
  MacroAuc result;
  for (const double value : of_anchor) {
    if (std::isnan(value)) continue;
    result.value += value;
    ++result.anchors;
  }
  result.value = result.anchors == 0 ? std::numeric_limits<double>::quiet_NaN() : result.value / static_cast<double>(result.anchors);
  return result;
}

MacroAuc training_macro_auc(const Features& train, const MacroAucOptions& options, uint64_t seed) {
  if (options.seed) seed = static_cast<uint64_t>(*options.seed);
  return macro_auc(train.values, train.labels, draw_anchors(train, options.anchors, seed, true));
}

std::vector<Metric> macro_auc_metrics() { return {{"macro_auc", "macro-AUC", Unit::kShare, Better::kHigher, Standing::kProtocol}}; }

EvaluationResult run_macro_auc(const EvaluationInput& input, EvaluationCache& cache, const MacroAucOptions& given, Progress&) {
  const std::string name = "macro_auc";
  MacroAucOptions options = given;
  options.seed = options.seed.value_or(static_cast<int64_t>(input.seed));
  const int64_t classes = count_classes(*input.train, name);
  for (const auto& evaluated : evaluated_splits(input)) require_labels(*evaluated.dataset, classes, name);
  EvaluationResult result;
  std::vector<std::string> splits = {"train"};
  for (const auto& evaluated : evaluated_splits(input)) splits.push_back(evaluated.name);
  std::vector<std::pair<std::string, int64_t>> used;
  for (const std::string& split : splits) {
    const auto seed = static_cast<uint64_t>(*options.seed);
    const AucAnchors anchors = draw_anchors(cache.split(split), options.anchors, seed, split == "train");
    const MacroAuc found = macro_auc(cache.train().values, cache.train().labels, anchors);
    used.emplace_back(split, found.anchors);
    if (found.anchors > 0) {
      result.metrics[split + ".macro_auc"] = found.value;
    } else {
      result.notes.push_back(fmt::format("macro_auc: {}: no anchor has rows of its class and of others", split));
    }
  }
  result.record = describe(name, input, result.metrics, config_of(options), classes);
  result.record.anchors = std::move(used);
  return result;
}

}  // namespace debias
