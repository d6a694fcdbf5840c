#include "debias/runs/found_pairs.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/core/error.h"
#include "debias/data/csv_text.h"
#include "debias/mining/copy_groups.h"
#include "debias/runtime/unit_rows.h"

namespace debias {
namespace {

at::Tensor rows_of(const at::Tensor& unit, const std::vector<int64_t>& rows) {
  return unit.index_select(0, at::tensor(rows, at::kLong)).contiguous();
}

// Copies are kept together with the groups that they are of.
RowGroups joined_groups(const std::optional<RowGroups>& named, const std::vector<int64_t>& image_of_row) {
  DisjointRows joined(std::ssize(image_of_row));
  std::map<int32_t, int64_t> first;
  bool any_copy = false;
  for (int64_t row = 0; row < joined.size(); ++row) {
    any_copy = joined.join(image_of_row[static_cast<size_t>(row)], row) || any_copy;
    if (named) joined.join(first.try_emplace(named->of_row[static_cast<size_t>(row)], row).first->second, row);
  }
  RowGroups groups{std::vector<int32_t>(image_of_row.size()), 0, named ? named->from : any_copy ? "near-copies" : "none"};
  std::map<int64_t, int32_t> number;
  for (int64_t row = 0; row < joined.size(); ++row) {
    groups.of_row[static_cast<size_t>(row)] = number.try_emplace(joined.root(row), static_cast<int32_t>(std::ssize(number))).first->second;
  }
  groups.count = static_cast<int32_t>(number.size());
  return groups;
}

std::vector<CopiedImage> copied_images(const std::vector<int64_t>& image_of_row, const PairSource& source) {
  std::map<int64_t, CopiedImage> images;
  for (size_t row = 0; row < image_of_row.size(); ++row) images[image_of_row[row]].rows.push_back(static_cast<int64_t>(row));
  std::vector<CopiedImage> copied;
  for (auto& [first, image] : images) {
    if (image.rows.size() < 2) continue;
    std::set<std::string> labels;
    for (const int64_t row : image.rows) labels.insert(row_words(source, row).label);
    labels.erase("");
    image.labels_conflict = labels.size() > 1;
    copied.push_back(std::move(image));
  }
  std::ranges::stable_sort(copied, [](const CopiedImage& x, const CopiedImage& y) {
    return std::pair(x.labels_conflict, x.rows.size()) > std::pair(y.labels_conflict, y.rows.size());
  });
  return copied;
}

// False negatives among one row of each image of the first split, and what the loss spends on its copies.
class RankedImages {
 public:
  // `unit`: of these rows.
  RankedImages(const at::Tensor& unit, std::vector<int64_t> rows, const RowGroups& groups, const PairSource& source,
               const MiningOptions& options, Progress& progress)
      : rows_(std::move(rows)) {
    if (rows_.size() < 2) return;
    std::vector<int32_t> of_row;
    for (const int64_t row : rows_) of_row.push_back(groups.of_row[static_cast<size_t>(row)]);
    ranking_.emplace(unit, source.views, options, progress, of_row);
  }

  std::vector<MinedPair> first(int64_t most) const {
    if (!ranking_) return {};
    std::vector<MinedPair> pairs(ranking_->pairs().begin(),
                                 ranking_->pairs().begin() + std::min<int64_t>(most, std::ssize(ranking_->pairs())));
    for (MinedPair& pair : pairs) {
      pair.a = rows_[static_cast<size_t>(pair.a)];
      pair.b = rows_[static_cast<size_t>(pair.b)];
    }
    return pairs;
  }

  // A pair of another kind, of which row a is perhaps among the ranked.
  MinedPair other(int64_t a, int64_t b, float cosine, PairKind kind) const {
    MinedPair pair{.cosine = std::clamp(cosine, -1.0f, 1.0f), .gradient = std::nan(""), .kind = kind};
    const auto at = std::ranges::lower_bound(rows_, a);
    if (ranking_ && at != rows_.end() && *at == a) pair = ranking_->scored(at - rows_.begin(), at - rows_.begin(), cosine, kind);
    pair.a = a;
    pair.b = b;
    return pair;
  }

 private:
  std::vector<int64_t> rows_;  // ascending
  std::optional<PairRanking> ranking_;
};

std::string quoted_row(const PairSource& source, int64_t row) { return fmt::format("'{}'", row_words(source, row).path); }

std::string listed_counts(std::map<std::string, int64_t> counts) {
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) words.push_back(fmt::format("{} {}", name.empty() ? "unknown" : name, count));
  return fmt::format("{}", fmt::join(words, ", "));
}

// "1 image", "2 images".
std::string number_and_word(int64_t count, const std::string& what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

int64_t rows_of_copies(const FoundPairs& found) {
  int64_t rows = 0;
  for (const CopiedImage& image : found.copies) rows += std::ssize(image.rows);
  return rows;
}

std::string verdict_of(const FoundPairs& found, const PairSource& source) {
  std::vector<std::string> parts;
  const int64_t copies = rows_of_copies(found) - std::ssize(found.copies);
  if (found.conflicts() > 0) parts.push_back(number_and_word(found.conflicts(), "image") + " with copies of different labels");
  if (found.leaks && found.leaks->leaked > 0) {
    const bool all_copies = found.leaks->copies == found.leaks->leaked;
    parts.push_back(fmt::format("{} of {} rows of {} leak from {}{}", found.leaks->leaked, found.leaks->rows, source.second->rows.split,
                                source.first.rows.split, all_copies ? "" : fmt::format(" ({} by copies)", found.leaks->copies)));
  } else if (found.leaks) {
    parts.push_back(fmt::format("no leak from {} into {}", source.first.rows.split, source.second->rows.split));
  }
  parts.push_back(copies > 0 ? fmt::format("{} of {} rows are copies", copies, source.rows())
                             : fmt::format("no copies among {} rows", source.rows()));
  const auto ranked = std::ranges::count(found.rows, PairKind::kFalseNegative, [](const PairRow& row) { return row.pair.kind; });
  const auto share = same_label_share(found.rows, PairKind::kFalseNegative);
  const bool says_share = share && parts.size() == 1;  // a verdict that says more has no room for it
  if (ranked > 0)
    parts.push_back(fmt::format("{} to check{}", number_and_word(ranked, "pair"),
                                says_share ? fmt::format(" as false negatives, {:.1f} % of one class", 100 * *share) : ""));
  return fmt::format("{}", fmt::join(parts, "; "));
}

void add_copy_notes(const FoundPairs& found, const PairSource& source, std::vector<std::string>& notes) {
  if (found.copies.empty()) return;
  if (found.conflicts() > 0) {
    const std::vector<int64_t>& rows = found.copies.front().rows;
    notes.push_back(fmt::format("{} copies with different labels, the first is {} ({}): correct them before training",
                                found.conflicts() == 1 ? "1 image has" : fmt::format("{} images have", found.conflicts()),
                                quoted_row(source, rows[0]), counted_labels(source, rows)));
  }
  const auto largest = std::ranges::max_element(found.copies, {}, [](const CopiedImage& image) { return image.rows.size(); });
  notes.push_back(fmt::format(
      "{} images are one image, the first of them {}{}: keep one, or keep them together with --groups-out groups.csv", largest->rows.size(),
      quoted_row(source, largest->rows[0]),
      found.copies.size() == 1 ? "" : fmt::format(" (in all {} rows show {} images)", rows_of_copies(found), found.copies.size())));
}

void add_leak_notes(const FoundPairs& found, const PairSource& source, const std::vector<MinedPair>& leaks,
                    std::vector<std::string>& notes) {
  if (!found.leaks || leaks.empty()) return;
  const std::string &first = source.first.rows.split, &second = source.second->rows.split;
  const auto pair_words = [&](const MinedPair& pair) {
    return fmt::format("{} of {} and {} of {}", quoted_row(source, pair.a), first, quoted_row(source, source.first.values.size(0) + pair.b),
                       second);
  };
  if (found.leaks->copies > 0)
    notes.push_back(fmt::format("{} of {} have a copy in {}, the first is {}: remove them from {}",
                                number_and_word(found.leaks->copies, "row"), second, first, pair_words(leaks.front()), first));
  if (found.leaks->shared_groups == 0 || !source.groups) return;
  notes.push_back(fmt::format("{} of {} are in {} and in {}, the first with {}: keep each in one split",
                              number_and_word(found.leaks->shared_groups, "group"), source.groups->from, first, second,
                              pair_words(leaks[static_cast<size_t>(found.leaks->copies)])));
}

void add_reading_notes(const CopyGroups& copies, const PairSource& source, std::vector<std::string>& notes) {
  const auto add = [&](const std::vector<int64_t>& rows, const std::string& one, const std::string& many, const std::string& rest) {
    if (rows.empty()) return;
    notes.push_back(fmt::format("{}, the first is {}{}", rows.size() == 1 ? "1 " + one : fmt::format("{} {}", rows.size(), many),
                                quoted_row(source, std::ranges::min(rows)), rest));
  };
  add(copies.zeros, "row of zeros is left out", "rows of zeros are left out", ": they have no direction; embed these images again");
  add(copies.flat, "image has no detail (one colour or blank) and is no copy",
      "images have no detail (one colour or blank) and are no copies", ": remove those that are placeholders");
  add(copies.unreadable, "image cannot be read and is not compared", "images cannot be read and are not compared",
      " (" + copies.first_unreadable + "): repair or remove them");
  if (copies.look_alike > 0)
    notes.push_back(
        fmt::format("{} look alike and do not count as copies, because more than {:g} % of the images are in such a pair: look at the "
                    "first false negatives",
                    number_and_word(copies.look_alike, "pair"), 100 * kRareLookAlikes));
  if (copies.all_alike)
    notes.push_back(
        "most features are so alike that only equal ones count as copies: give --csv C.csv with the column path, so that images are "
        "compared");
  if (!source.has_images())
    notes.push_back(
        fmt::format("not all splits have readable images: copies are pairs with a similarity of at least {}, which are not confirmed "
                    "by pixels; give --csv C.csv with the column path, and --root DIR if the images are elsewhere",
                    kUnconfirmedCopy));
}

nlohmann::ordered_json number_or_null(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

}  // namespace

int64_t FoundPairs::conflicts() const { return std::ranges::count_if(copies, &CopiedImage::labels_conflict); }

MiningOptions mining_options(const PairRequest& request, const PairSource& source) {
  MiningOptions options;
  options.temperature = request.temperature.value_or(source.temperature);
  options.tau_plus = request.tau_plus.value_or(source.tau_plus);
  options.batch_size = source.batch_size;
  options.rank = request.rank;
  options.seed = request.seed;
  options.check();
  return options;
}

FoundPairs find_pairs(const PairRequest& request, const MiningOptions& options, const PairSource& source, Progress& progress) {
  FoundPairs found;
  found.options = options;
  found.by_views = source.views.known();
  found.on_pixels = source.has_images();
  found.notes = source.notes;
  at::Tensor unit =
      unit_rows(source.second && !request.sample ? at::cat({source.first.values, source.second->values}) : source.first.values,
                "pairs: rows")
          .contiguous();
  const NamedRows& first = source.first.rows;
  const int64_t n = found.searched = source.first.values.size(0);
  if (request.sample) {
    const PairRanking ranking(unit, source.views, found.options, progress);
    found.rows = pair_rows(sampled_pairs(unit, ranking, *request.sample, request.seed), first, first);
    found.verdict =
        fmt::format("{} of {} rows to mark; the marks estimate tau_plus", number_and_word(std::ssize(found.rows), "random pair"), n);
    return found;
  }
  if (n < 2) throw data_error("pairs: {} row has no pair; give two rows or more", n);
  const CopyGroups copies =
      group_copies(unit, found.on_pixels ? ReadRowImage([&](int64_t row) { return source.image(row); }) : ReadRowImage(), progress);
  found.groups = joined_groups(source.groups, copies.image_of_row);
  found.copies = copied_images(copies.image_of_row, source);

  // Pairs of rows a and b of both splits with their cosines: each row with the first of its image, or else of its group.
  std::vector<MinedPair> joined, of_groups;
  const auto pair_of = [&](int64_t a, int64_t b) {
    const float cosine = unit[a].dot(unit[b]).item<float>();
    return MinedPair{.a = a, .b = b, .cosine = cosine, .kind = b < n ? PairKind::kDuplicate : PairKind::kLeak};
  };
  std::map<int32_t, int64_t> first_of_group;
  std::set<int32_t> shared;
  for (int64_t row = 0; row < unit.size(0); ++row) {
    const int64_t image = copies.image_of_row[static_cast<size_t>(row)];
    const int32_t group = found.groups.of_row[static_cast<size_t>(row)];
    if (row < n) first_of_group.try_emplace(group, row);
    if (image != row && image < n) {
      joined.push_back(pair_of(image, row));
    } else if (const auto other = first_of_group.find(group); row >= n && other != first_of_group.end()) {
      of_groups.push_back(pair_of(other->second, row));
      shared.insert(group);
    }
  }
  joined.insert(joined.end(), of_groups.begin(), of_groups.end());

  std::set<int64_t> left_out(copies.zeros.begin(), copies.zeros.end());
  left_out.insert(copies.flat.begin(), copies.flat.end());
  std::vector<int64_t> ranked;
  for (int64_t row = 0; row < n; ++row) {
    if (copies.image_of_row[static_cast<size_t>(row)] == row && !left_out.contains(row)) ranked.push_back(row);
  }
  unit = rows_of(unit, ranked);
  const RankedImages ranking(unit, std::move(ranked), found.groups, source, found.options, progress);
  std::vector<MinedPair> pairs = ranking.first(request.top), leaks;
  for (const MinedPair& pair : joined) {
    if (pair.kind == PairKind::kLeak) {
      leaks.push_back(ranking.other(pair.a, pair.b - n, pair.cosine, pair.kind));
    } else {
      pairs.push_back(ranking.other(pair.a, pair.b, pair.cosine, pair.kind));
    }
  }
  pairs.insert(pairs.end(), leaks.begin(), leaks.end());
  if (source.second) {
    found.leaks = split_leaks(leaks, source.first.values, first, source.second->values, source.second->rows, source.knn_temperature);
    found.leaks->copies = std::ssize(leaks) - std::ssize(of_groups);
    found.leaks->shared_groups = std::ssize(shared);
  }
  found.rows = pair_rows(pairs, first, source.second ? source.second->rows : first);
  add_copy_notes(found, source, found.notes);
  add_leak_notes(found, source, leaks, found.notes);
  add_reading_notes(copies, source, found.notes);
  found.verdict = verdict_of(found, source);
  return found;
}

std::string counted_labels(const PairSource& source, const std::vector<int64_t>& rows) {
  std::map<std::string, int64_t> counts;
  for (const int64_t row : rows) ++counts[row_words(source, row).label];
  return listed_counts(std::move(counts));
}

std::string counted_splits(const PairSource& source, const std::vector<int64_t>& rows) {
  std::map<std::string, int64_t> counts;
  for (const int64_t row : rows) ++counts[row_words(source, row).split];
  return listed_counts(std::move(counts));
}

std::string groups_csv(const FoundPairs& found, const PairSource& source) {
  std::string csv = source.second ? "path,group,split\n" : "path,group\n";
  for (size_t row = 0; row < found.groups.of_row.size(); ++row) {
    const RowWords words = row_words(source, static_cast<int64_t>(row));
    std::vector<std::string> fields = {words.path, fmt::format("{}", found.groups.of_row[row])};
    if (source.second) fields.push_back(words.split);
    csv += csv_line(fields);
  }
  return csv;
}

nlohmann::ordered_json to_json(const FoundPairs& found, const PairSource& source) {
  nlohmann::ordered_json json = {{"rows", found.searched},
                                 {"verdict", found.verdict},
                                 {"temperature", found.options.temperature},
                                 {"tau_plus", found.options.tau_plus},
                                 {"rank", enum_name(found.options.rank)},
                                 {"posterior", found.by_views ? "views" : "mixture"},
                                 {"copies_confirmed_on_pixels", found.on_pixels},
                                 {"groups", found.groups.count},
                                 {"groups_from", found.groups.from},
                                 {"label_conflicts", found.conflicts()},
                                 {"copies", nlohmann::ordered_json::array()},
                                 {"pairs", nlohmann::ordered_json::array()},
                                 {"same_label_share", nlohmann::ordered_json::object()},
                                 {"leaks", nullptr},
                                 {"notes", found.notes}};
  for (const CopiedImage& copied : found.copies) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const int64_t row : copied.rows) {
      const RowWords words = row_words(source, row);
      rows.push_back({{"path", words.path}, {"split", words.split}, {"label", words.label}});
    }
    json["copies"].push_back({{"labels_conflict", copied.labels_conflict}, {"images", std::move(rows)}});
  }
  for (const PairRow& row : found.rows) json["pairs"].push_back(to_json(row));
  for (const auto& [name, kind] : EnumNames<PairKind>::values) {
    if (const auto share = same_label_share(found.rows, kind)) json["same_label_share"][name] = *share;
  }
  if (!found.leaks) return json;
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (const LeakedClass& of : found.leaks->classes) classes.push_back({{"class", of.name}, {"leaked", of.leaked}, {"rows", of.rows}});
  json["leaks"] = {{"leaked", found.leaks->leaked},
                   {"rows", found.leaks->rows},
                   {"copies", found.leaks->copies},
                   {"shared_groups", found.leaks->shared_groups},
                   {"classes", std::move(classes)},
                   {"accuracy", number_or_null(found.leaks->accuracy)},
                   {"accuracy_without", number_or_null(found.leaks->accuracy_without)}};
  return json;
}

}  // namespace debias
