// torch.ops.debias.{knn, group_metrics, class_prior, class_prior_of_views}: measures of embeddings and predictions. Plain functions without
// a gradient; what is not a tensor comes back as JSON.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/evaluate/class_prior.h"
#include "debias/evaluate/protocols/group_metrics.h"
#include "debias/evaluate/protocols/knn.h"
#include "python/src/translated.h"

namespace debias {
namespace {

using nlohmann::ordered_json;

// [N] integers, of which negative ones are unknown.
std::vector<int64_t> listed(const at::Tensor& tensor, const char* what) {
  const at::Tensor numbers = integers(tensor, what).contiguous();
  if (numbers.dim() != 1) throw data_error("{}: expected one integer per sample, found shape {}", what, c10::str(numbers.sizes()));
  std::vector<int64_t> out(numbers.const_data_ptr<int64_t>(), numbers.const_data_ptr<int64_t>() + numbers.numel());
  for (int64_t& number : out) number = number < 0 ? kUnknown : number;
  return out;
}

int64_t one_more_than_largest(const std::vector<int64_t>& numbers) {
  return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end()) + 1;
}

at::Tensor float_rows(const at::Tensor& rows, const char* what) {
  if (rows.dim() != 2 || !rows.is_floating_point()) {
    throw data_error("{}: expected floating-point rows [N, D], found {} of shape {}", what, c10::toString(rows.scalar_type()),
                     c10::str(rows.sizes()));
  }
  return rows.detach().to(at::kCPU, at::kFloat);
}

at::Tensor knn_predictions(const at::Tensor& gallery, const at::Tensor& gallery_labels, const at::Tensor& queries, int64_t k,
                           double temperature) {
  return translated([&] {
    KnnGallery known{float_rows(gallery, "knn: gallery"), listed(gallery_labels, "knn: gallery_labels"), 0};
    known.classes = one_more_than_largest(known.labels);
    if (!(temperature > 0)) throw usage_error("knn: temperature: expected a number above 0, found {}", temperature);
    const at::Tensor asked = float_rows(queries, "knn: queries");
    const std::vector<int64_t> unknown(static_cast<size_t>(asked.size(0)), kUnknown);
    return at::tensor(knn(known, asked, unknown, k, temperature).predictions, at::kLong);
  });
}

ordered_json number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

std::string metrics_by_group(const at::Tensor& predictions, const at::Tensor& labels, const at::Tensor& bias, const std::string& asked) {
  return translated([&] {
    const auto options = ordered_json::parse(asked);
    GroupSamples samples{listed(labels, "labels"), listed(bias, "bias"), listed(predictions, "predictions"), 0, 0};
    samples.classes = std::max(one_more_than_largest(samples.labels), one_more_than_largest(samples.predictions));
    samples.groups = one_more_than_largest(samples.biases);
    GroupMetricOptions chosen;
    if (!options["aligned"].is_null()) chosen.alignment = AlignmentMap(options["aligned"].get<std::vector<std::vector<int64_t>>>());
    chosen.min_count = options["min_count"].get<int64_t>();
    if (chosen.min_count < 1) throw usage_error("min_count: expected at least 1, found {}", chosen.min_count);
    chosen.empty = options_detail::Field<EmptyRate>::parse(Config::scalar(options["empty"].get<std::string>()), Range::any(), "empty");
    ordered_json out = {{"metrics", ordered_json::object()}, {"intervals", ordered_json::object()}};
    for (const auto& [name, value] : group_metrics(count_groups(samples), chosen)) out["metrics"][name] = number(value);
    const Bootstrap bootstrap{options["replicates"].get<int64_t>(), options["level"].get<double>(), options["seed"].get<uint64_t>()};
    if (bootstrap.replicates < 0) throw usage_error("replicates: expected at least 0, found {}", bootstrap.replicates);
    if (!(bootstrap.level > 0 && bootstrap.level < 1)) throw usage_error("level: expected a number in (0, 1), found {}", bootstrap.level);
    if (bootstrap.replicates > 0) {
      for (const auto& [name, interval] : group_intervals(samples, chosen, bootstrap)) {
        out["intervals"][name] = {number(interval.first), number(interval.second)};
      }
    }
    return out.dump();
  });
}

TORCH_LIBRARY_FRAGMENT(debias, m) {
  m.def("knn(Tensor gallery, Tensor gallery_labels, Tensor queries, int k, float temperature) -> Tensor", knn_predictions);
  m.def("group_metrics(Tensor predictions, Tensor labels, Tensor bias, str options) -> str", metrics_by_group);
  m.def("class_prior(Tensor labels) -> str", [](const at::Tensor& labels) {
    return translated([&] { return to_json(class_prior_from_labels(listed(labels, "labels"))).dump(); });
  });
  m.def("class_prior_of_views(Tensor rows) -> str", [](const at::Tensor& rows) {
    return translated([&] { return to_json(class_prior_from_views(rows.detach().to(at::kCPU))).dump(); });
  });
}

}  // namespace
}  // namespace debias
