#include "debias/evaluate/cluster_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "debias/data/sample_table.h"
#include "debias/data/value_name.h"

namespace debias {
namespace {

std::string stem_of(const std::map<int64_t, int64_t>& images_of_class, const std::vector<std::string>& class_names) {
  int64_t most = kUnknown, images = 0;
  for (const auto& [label, count] : images_of_class) {
    if (count <= images) continue;
    most = label;
    images = count;
  }
  return most == kUnknown ? "value" : "like_" + value_name(class_names, most);
}

}  // namespace

std::vector<std::string> cluster_names(const std::vector<int64_t>& of_row, const std::vector<int64_t>& labels,
                                       const std::vector<std::string>& class_names, int64_t clusters) {
  std::vector<int64_t> sizes(static_cast<size_t>(clusters)), order(sizes.size());
  std::vector<std::map<int64_t, int64_t>> images(sizes.size());
  for (size_t i = 0; i < of_row.size(); ++i) {
    const auto cluster = static_cast<size_t>(of_row[i]);
    ++sizes[cluster];
    if (labels[i] != kUnknown) ++images[cluster][labels[i]];
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return sizes[static_cast<size_t>(a)] > sizes[static_cast<size_t>(b)]; });
  std::vector<std::string> names(sizes.size());
  std::set<std::string> taken;
  for (const int64_t cluster : order) {
    const std::string stem = stem_of(images[static_cast<size_t>(cluster)], class_names);
    std::string name = stem == "value" ? "value_1" : stem;
    for (int64_t number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}_{}", stem, number);
    names[static_cast<size_t>(cluster)] = name;
  }
  return names;
}

}  // namespace debias
