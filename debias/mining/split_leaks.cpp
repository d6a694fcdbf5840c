#include "debias/mining/split_leaks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "debias/data/sample_table.h"
#include "debias/evaluate/protocols/knn.h"

namespace debias {
namespace {

struct Votes {
  double right = 0, rows = 0;
  std::optional<double> accuracy() const { return rows == 0 ? std::nullopt : std::optional(right / rows); }
};

}  // namespace

SplitLeaks split_leaks(const std::vector<MinedPair>& leaks, const at::Tensor& first_values, const NamedRows& first,
                       const at::Tensor& second_values, const NamedRows& second, double temperature) {
  std::set<int64_t> leaked;
  for (const MinedPair& pair : leaks) leaked.insert(pair.b);
  SplitLeaks found{.leaked = std::ssize(leaked), .rows = second_values.size(0), .classes = {}, .accuracy = {}, .accuracy_without = {}};
  std::map<std::string, LeakedClass> classes;
  for (int64_t row = 0; row < found.rows; ++row) {
    const std::string name = second.class_of(row).empty() ? "unknown" : second.class_of(row);
    LeakedClass& of = classes[name];
    of.name = name;
    ++of.rows;
    of.leaked += leaked.contains(row) ? 1 : 0;
  }
  for (auto& [name, of] : classes) found.classes.push_back(std::move(of));
  const auto labelled = std::ranges::count_if(first.labels, [](int64_t label) { return label != kUnknown; });
  const bool any = std::ranges::any_of(second.labels, [](int64_t label) { return label != kUnknown; });
  if (labelled == 0 || !any) return found;
  const int64_t labels = std::max(*std::ranges::max_element(first.labels), *std::ranges::max_element(second.labels)) + 1;
  const KnnGallery gallery{first_values, first.labels, labels};
  const KnnResult result = knn(gallery, second_values, second.labels, resolve_k(KnnOptions(), labelled), temperature);
  Votes all, without;
  for (int64_t row = 0; row < found.rows; ++row) {
    const int64_t label = second.labels[static_cast<size_t>(row)];
    if (label == kUnknown) continue;
    const double right = result.predictions[static_cast<size_t>(row)] == label ? 1 : 0;
    ++all.rows;
    all.right += right;
    if (leaked.contains(row)) continue;
    ++without.rows;
    without.right += right;
  }
  found.accuracy = all.accuracy();
  found.accuracy_without = without.accuracy();
  return found;
}

}  // namespace debias
