#include "debias/audit/audit_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/shown_names.h"

namespace debias {
namespace {

constexpr int32_t kLeftOut = -1;
constexpr int64_t kClassesAtFullSize = 20;  // more share the same time

std::vector<int64_t> class_sizes(size_t classes, const std::vector<int64_t>& labels) {
  std::vector<int64_t> sizes(classes);
  for (const int64_t label : labels) {
    if (label >= 0) ++sizes[static_cast<size_t>(label)];
  }
  return sizes;
}

std::string sizes_text(const std::vector<std::string>& classes, const std::vector<int64_t>& sizes) {
  std::vector<std::string> shown;
  for (size_t c = 0; c < classes.size(); ++c) shown.push_back(fmt::format("{} {}", classes[c], sizes[c]));
  return shown_names(shown, 5);
}

// The numbers of the classes that are kept, ascending.
std::vector<size_t> kept_classes(const std::string& what, const std::vector<std::string>& classes, const std::vector<int64_t>& sizes,
                                 std::vector<std::string>& remarks) {
  std::vector<size_t> kept, small;
  for (size_t c = 0; c < classes.size(); ++c) (sizes[c] >= kLeastOfClass ? kept : small).push_back(c);
  if (kept.size() < 2) {
    throw data_error(
        "{}: an audit compares at least two classes of {} images or more, found {}", what, kLeastOfClass,
        classes.empty() ? "no classes; put the images into a folder per class, or give --labels FILE.csv" : sizes_text(classes, sizes));
  }
  std::erase_if(small, [&](size_t c) { return sizes[c] == 0; });
  std::vector<std::string> names;
  for (const size_t c : small) names.push_back(fmt::format("{} {}", classes[c], sizes[c]));
  if (!names.empty()) {
    remarks.push_back(fmt::format("{} of fewer than {} images left out: {}",
                                  names.size() == 1 ? "1 class" : fmt::format("{} classes", names.size()), kLeastOfClass,
                                  shown_names(names, 5)));
  }
  if (std::ssize(kept) <= kMostClasses) return kept;
  remarks.push_back(fmt::format("{} of {} classes are audited, the largest", kMostClasses, kept.size()));
  std::stable_sort(kept.begin(), kept.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  kept.resize(static_cast<size_t>(kMostClasses));
  std::sort(kept.begin(), kept.end());
  return kept;
}

// The largest number of rows a class may have so that all together are at most `most`.
int64_t class_limit(const std::vector<size_t>& kept, const std::vector<int64_t>& sizes, int64_t most) {
  int64_t low = 1, high = *std::max_element(sizes.begin(), sizes.end());
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    int64_t rows = 0;
    for (const size_t c : kept) rows += std::min(sizes[c], middle);
    (rows <= most ? low : high) = rows <= most ? middle : middle - 1;
  }
  return low;
}

}  // namespace

AuditSample audit_sample(const std::string& what, const std::vector<std::string>& classes, const std::vector<int64_t>& labels,
                         uint64_t seed) {
  AuditSample sample;
  const std::vector<int64_t> sizes = class_sizes(classes.size(), labels);
  const std::vector<size_t> kept = kept_classes(what, classes, sizes, sample.notes);
  std::vector<int32_t> number(classes.size(), kLeftOut);
  for (const size_t c : kept) {
    number[c] = static_cast<int32_t>(sample.classes.size());
    sample.classes.push_back(classes[c]);
  }
  const int64_t most = kMostRows * kClassesAtFullSize / std::max(std::ssize(kept), kClassesAtFullSize);
  const int64_t limit = class_limit(kept, sizes, std::max(most, kLeastOfClass * std::ssize(kept)));
  std::vector<int64_t> taken(kept.size());
  int64_t labelled = 0;
  for (const int64_t row : permutation(std::ssize(labels), {.domain = RngDomain::kEvaluate, .seed = seed, .step = 2})) {
    const int64_t label = labels[static_cast<size_t>(row)];
    const int32_t own = label < 0 ? kLeftOut : number[static_cast<size_t>(label)];
    if (own == kLeftOut) continue;
    ++labelled;
    if (taken[static_cast<size_t>(own)] == limit) continue;
    ++taken[static_cast<size_t>(own)];
    sample.rows.push_back(row);
    sample.labels.push_back(own);
  }
  if (std::ssize(sample.rows) < labelled) {
    sample.notes.push_back(
        fmt::format("{} of {} images are audited, drawn at random, at most {} of a class", sample.rows.size(), labelled, limit));
  }
  return sample;
}

}  // namespace debias
