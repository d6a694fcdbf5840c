#include "debias/fix/row_units.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;

constexpr float kCopyCosine = 0.99F, kExactCosine = 0.999999F;
constexpr int64_t kLeastDimensions = 8;  // for near-copies: vectors of fewer are alike by chance
constexpr int64_t kTables = 8, kBits = 16;
constexpr size_t kCompared = 64;              // rows after each in its bucket
constexpr int kDifferentBits = 20;            // of 128: at a cosine of 0.99, 6 differ on average
constexpr double kMostOfOtherClasses = 0.05;  // of the pairs
constexpr double kLargestCopies = 0.2;        // of the rows in one group
constexpr int64_t kLeastUnits = 2;            // of each class

using Signs = std::array<uint16_t, kTables>;

at::Tensor unit_rows_of(const FeatureVectors& vectors, const std::vector<int64_t>& places) {
  at::Tensor x = at::empty({std::ssize(places), vectors.dimensions()}, at::kFloat);
  vectors.read_places(places, x.mutable_data_ptr<float>());
  const at::Tensor mean = x.mean(0, /*keepdim=*/false, at::kDouble).to(at::kFloat);
  x -= mean;
  at::Tensor deviation = x.square().mean(0, /*keepdim=*/false, at::kDouble).sqrt().to(at::kFloat);
  deviation.masked_fill_(deviation <= 1e-6F * mean.abs(), 1);
  x /= deviation;
  x /= x.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
  return x;
}

std::vector<Signs> signs_of(const at::Tensor& x) {
  Random random({.domain = RngDomain::kEvaluate, .seed = 0});
  const at::Tensor directions = at::empty({x.size(1), kTables * kBits}, at::kFloat);
  float* value = directions.mutable_data_ptr<float>();
  for (int64_t i = 0; i < directions.numel(); ++i) value[i] = static_cast<float>(random.normal());
  const at::Tensor projected = x.mm(directions);
  const float* p = projected.const_data_ptr<float>();
  std::vector<Signs> all(static_cast<size_t>(x.size(0)));
  for (Signs& own : all) {
    for (uint16_t& table : own) {
      table = 0;
      for (int64_t bit = 0; bit < kBits; ++bit) table = static_cast<uint16_t>(table << 1 | (*p++ > 0 ? 1 : 0));
    }
  }
  return all;
}

int different_bits(const Signs& a, const Signs& b) {
  int count = 0;
  for (size_t t = 0; t < a.size(); ++t) count += std::popcount(static_cast<uint16_t>(a[t] ^ b[t]));
  return count;
}

float product(const float* a, const float* b, int64_t count) { return std::inner_product(a, a + count, b, 0.0F); }

Pairs pairs_above(const at::Tensor& x, float cosine) {
  const std::vector<Signs> signs = signs_of(x);
  const float* rows = x.const_data_ptr<float>();
  const int64_t D = x.size(1);
  std::set<std::pair<size_t, size_t>> found;
  std::vector<size_t> order(signs.size());
  for (size_t t = 0; t < kTables; ++t) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return signs[i][t]; });
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t j = i + 1; j < std::min(order.size(), i + 1 + kCompared) && signs[order[i]][t] == signs[order[j]][t]; ++j) {
        if (different_bits(signs[order[i]], signs[order[j]]) > kDifferentBits) continue;
        const auto at = [&](size_t place) { return rows + static_cast<int64_t>(order[place]) * D; };
        const float likeness = product(at(i), at(j), D);
        const bool both_zero = product(at(i), at(i), D) == 0 && product(at(j), at(j), D) == 0;
        if (likeness >= cosine || both_zero) found.emplace(std::minmax(order[i], order[j]));
      }
    }
  }
  return {found.begin(), found.end()};
}

bool are_copies(const Pairs& pairs, const std::vector<int64_t>& labels) {
  if (pairs.empty()) return false;
  const auto others = std::ranges::count_if(pairs, [&](const auto& pair) { return labels[pair.first] != labels[pair.second]; });
  if (static_cast<double>(others) > kMostOfOtherClasses * static_cast<double>(pairs.size())) return false;
  const std::vector<int64_t> sizes = sizes_of(with_joined(single_rows(std::ssize(labels)), pairs));
  return static_cast<double>(std::ranges::max(sizes)) <= kLargestCopies * static_cast<double>(labels.size());
}

// The class whose training rows are of fewer than kLeastUnits groups.
std::optional<size_t> class_without_units(const TableRows& rows, const RowGroups& groups, const std::vector<int64_t>& training) {
  std::vector<std::set<int32_t>> of_class(rows.classes.size());
  for (const int64_t i : training) {
    of_class[static_cast<size_t>(rows.labels[static_cast<size_t>(i)])].insert(groups.of_row[static_cast<size_t>(i)]);
  }
  const auto few = std::ranges::find_if(of_class, [](const auto& units) { return std::ssize(units) < kLeastUnits; });
  return few == of_class.end() ? std::nullopt : std::optional(static_cast<size_t>(few - of_class.begin()));
}

void note_shared_units(const FeatureTable& table, const RowGroups& groups, std::vector<std::string>& notes) {
  std::vector<int64_t> first(static_cast<size_t>(groups.count), -1);
  for (const int64_t i : table.of_split(TableSplit::kTrain)) {
    int64_t& row = first[static_cast<size_t>(groups.of_row[static_cast<size_t>(i)])];
    if (row < 0) row = i;
  }
  for (const TableSplit split : {TableSplit::kValid, TableSplit::kTest}) {
    std::set<int32_t> shared;
    int64_t example = -1;
    for (const int64_t i : table.of_split(split)) {
      const int32_t group = groups.of_row[static_cast<size_t>(i)];
      if (first[static_cast<size_t>(group)] < 0) continue;
      if (shared.insert(group).second && example < 0) example = i;
    }
    if (shared.empty()) continue;
    std::vector<std::string> value;
    for (const size_t place : table.rows.groups) value.push_back(value_text(table.rows.columns[place], static_cast<size_t>(example)));
    notes.push_back(
        fmt::format("{} of {} are in both train and {}, the first '{}': accuracies on {} rows are too good; divide whole groups",
                    shared.size() == 1 ? "1 group" : fmt::format("{} groups", shared.size()), groups.from, enum_name(split),
                    fmt::join(value, ", "), enum_name(split)));
  }
}

std::string name_of(const TableRows& rows, size_t row) {
  return rows.names.empty() ? fmt::format("row {}", row) : fmt::format("'{}'", rows.names[row]);
}

}  // namespace

std::vector<std::pair<size_t, size_t>> copies_among(const FeatureVectors& vectors, const std::vector<int64_t>& places,
                                                    const std::vector<int64_t>& labels) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  const at::Tensor x = unit_rows_of(vectors, places);
  if (vectors.dimensions() >= kLeastDimensions) {
    Pairs near = pairs_above(x, kCopyCosine);
    if (are_copies(near, labels)) return near;
  }
  if (vectors.dimensions() < 3) return {};
  return pairs_above(x, kExactCosine);
}

RowGroups column_groups(const TableRows& rows) {
  if (rows.groups.empty()) return single_rows(rows.size());
  std::vector<std::vector<std::string>> values;
  std::vector<std::string> names;
  for (const size_t place : rows.groups) {
    values.emplace_back();
    for (size_t i = 0; i < rows.labels.size(); ++i) values.back().push_back(value_text(rows.columns[place], i));
    names.push_back(rows.columns[place].name);
  }
  RowGroups groups = groups_of_values({values.begin(), values.end()});
  groups.from = fmt::format("column {}", fmt::join(names, ","));
  return groups;
}

std::vector<std::string> notes_on_shared_copies(const FeatureTable& table, const RowGroups& groups) {
  std::vector<std::string> notes;
  const TableRows& rows = table.rows;
  if (std::ranges::count(rows.splits, TableSplit::kTrain) == std::ssize(rows.splits)) return notes;
  std::vector<int64_t> all(static_cast<size_t>(table.size()));
  std::iota(all.begin(), all.end(), int64_t{0});
  std::map<TableSplit, std::map<size_t, size_t>> shared;  // a row of another split, and its copy in train
  for (auto [a, b] : copies_among(table.vectors, all, rows.labels)) {
    if (groups.of_row[a] == groups.of_row[b]) continue;
    if (rows.splits[a] != TableSplit::kTrain) std::swap(a, b);
    if (rows.splits[a] == TableSplit::kTrain && rows.splits[b] != TableSplit::kTrain) shared[rows.splits[b]].emplace(b, a);
  }
  for (const auto& [split, copies] : shared) {
    const auto& [row, copy] = *copies.begin();
    notes.push_back(fmt::format(
        "{} of {} {} rows are copies or near-copies of training rows, the first {} of {}: accuracies on {} rows are too good; keep the "
        "copies of one source in one split",
        copies.size(), table.of_split(split).size(), enum_name(split), name_of(rows, row), name_of(rows, copy), enum_name(split)));
  }
  return notes;
}

RowUnits row_units(const FeatureTable& table, const std::vector<int64_t>& training, const std::vector<int64_t>& drawn, bool is_asked) {
  const TableRows& rows = table.rows;
  RowUnits units{single_rows(table.size()), {}};
  if (rows.groups.empty()) {
    for (const LikelyGroup& likely : likely_groups(rows, training)) {
      units.notes.push_back(fmt::format(
          "{}: rows of one value are not independent, and the folds divide them; if it names what belongs together, add --group {}",
          likely.text, likely.column));
    }
  } else {
    RowGroups groups = column_groups(rows);
    const auto few = class_without_units(rows, groups, training);
    if (few && is_asked) {
      throw data_error(
          "fix: class '{}' is in one group of {} in the training rows, and whole groups are held out: at least {} are needed; choose "
          "another --group, or leave it out",
          rows.classes[*few], groups.from, kLeastUnits);
    }
    if (few) {
      units.notes.push_back(
          fmt::format("{} is not used: class '{}' is in one group of it, and whole groups are held out; name the column "
                      "that says what belongs together with --group",
                      groups.from, rows.classes[*few]));
    } else {
      units.groups = std::move(groups);
      note_shared_units(table, units.groups, units.notes);
    }
  }
  std::vector<int64_t> labels;
  for (const int64_t i : drawn) labels.push_back(rows.labels[static_cast<size_t>(i)]);
  std::vector<std::pair<size_t, size_t>> pairs = copies_among(table.vectors, drawn, labels);
  for (auto& [a, b] : pairs) a = static_cast<size_t>(drawn[a]), b = static_cast<size_t>(drawn[b]);
  std::erase_if(pairs, [&](const auto& pair) { return units.groups.of_row[pair.first] == units.groups.of_row[pair.second]; });
  std::ranges::move(notes_on_shared_copies(table, units.groups), std::back_inserter(units.notes));
  if (pairs.empty()) return units;
  const std::vector<int64_t> sizes = sizes_of(with_joined(single_rows(table.size()), pairs));
  const auto sources = std::ranges::count_if(sizes, [](int64_t size) { return size > 1; });
  const auto copied = std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) - std::ranges::count(sizes, 1);
  const auto [a, b] = pairs.front();
  units.notes.push_back(fmt::format("{} training rows are copies or near-copies of {}, the first {} and {}: they are kept in one fold",
                                    copied, sources == 1 ? "one another" : fmt::format("{} sources", sources), name_of(rows, a),
                                    name_of(rows, b)));
  RowGroups joined = with_joined(units.groups, pairs);
  if (!units.groups.joins_rows() && joined.from == "none") joined.from = "near-copies";
  units.groups = std::move(joined);
  return units;
}

}  // namespace debias
