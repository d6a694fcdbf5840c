#include "debias/report/sections/neighbour_gallery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "debias/report/pages/embedded_png.h"

namespace debias {
namespace {

constexpr int64_t kFirst = 6;

struct Thumbnails {
  std::string folder;
  Gallery* gallery;

  // <img>, or the words "no image".
  Html image(const std::string& name, const std::string& alt) const {
    const std::string bytes = thumbnail_bytes(fmt::format("{}/{}.png", folder, name));
    if (bytes.empty()) gallery->missing.push_back(name + ".png");
    return thumbnail_image(bytes, alt);
  }
};

std::string group_name(const ValueNames& names, const NeighbourImage& image) {
  return image.bias == kUnknownValue ? names.label(image.label) : fmt::format("{}, {}", names.label(image.label), names.bias(image.bias));
}

struct Crossing {
  std::string css_class, words;
};

// Difference of a neighbour's group from the query's. An unknown label differs from nothing.
Crossing crossing(const NeighbourImage& query, const NeighbourImage& near) {
  const auto differ = [](int64_t a, int64_t b) { return a != kUnknownValue && b != kUnknownValue && a != b; };
  const auto same = [](int64_t a, int64_t b) { return a != kUnknownValue && a == b; };
  if (differ(query.label, near.label)) return {" otherclass", same(query.bias, near.bias) ? "other class, same bias" : "other class"};
  if (differ(query.bias, near.bias)) return {" otherbias", "other bias"};
  return {};
}

Html thumb(const std::string& css_class, const Html& image, const std::vector<std::string>& lines, const std::string& why) {
  Html content = image;
  for (const auto& line : lines) content += plain(line) + Html{"<br/>"};
  if (!why.empty()) content += element("span", "why", plain(why));
  return element("div", "thumb" + css_class, content);
}

Html row_of(const NeighbourQuery& query, const ValueNames& names, const EvaluatedSet& set, const Thumbnails& thumbnails) {
  const std::string own = group_name(names, query.image);
  const bool right = query.predicted == query.image.label;
  std::vector<std::string> lines = {own};
  if (query.predicted != kUnknownValue) lines.push_back(right ? "predicted right" : "predicted " + names.label(query.predicted));
  Html row =
      thumb(" query",
            thumbnails.image(fmt::format("{}_{}", set.split, query.image.id), fmt::format("evaluated image {}: {}", query.image.id, own)),
            lines, "");
  for (const auto& near : query.nearest) {
    const Crossing cross = crossing(query.image, near);
    const std::string group = group_name(names, near);
    row += thumb(cross.css_class, thumbnails.image(fmt::format("train_{}", near.id), fmt::format("training image {}: {}", near.id, group)),
                 {group, fmt::format("cos {:.3f}", near.cosine)}, cross.words);
  }
  return element("li", "", row);
}

// Wrong and right ones in turn.
std::vector<size_t> in_turn(const std::vector<NeighbourQuery>& queries) {
  std::vector<size_t> wrong, right, order;
  for (size_t i = 0; i < queries.size(); ++i) (queries[i].predicted == queries[i].image.label ? right : wrong).push_back(i);
  for (size_t i = 0; i < std::max(wrong.size(), right.size()); ++i) {
    if (i < wrong.size()) order.push_back(wrong[i]);
    if (i < right.size()) order.push_back(right[i]);
  }
  return order;
}

// Sorts those that every run shows, by id, before the others.
std::vector<size_t> shared_first(const std::vector<NeighbourQuery>& queries, const std::vector<int64_t>& shared) {
  std::vector<size_t> order = in_turn(queries);
  const auto is_shared = [&](size_t i) { return std::ranges::binary_search(shared, queries[i].image.id); };
  const auto others = std::stable_partition(order.begin(), order.end(), is_shared);  // clang 14 has no such ranges
  std::sort(order.begin(), others, [&](size_t a, size_t b) { return queries[a].image.id < queries[b].image.id; });
  return order;
}

// Sorts by id, so that the same images of several runs are at the same place.
Html list_of(std::vector<std::pair<int64_t, Html>> rows) {
  if (rows.empty()) return {};
  std::ranges::sort(rows, {}, [](const auto& row) { return row.first; });
  Html list{"<ul class=\"near\">\n"};
  for (const auto& [number, row] : rows) list += row + Html{"\n"};
  return list + Html{"</ul>\n"};
}

}  // namespace

std::vector<int64_t> shared_queries(const std::vector<RunRecord>& runs, const EvaluatedSet& set) {
  std::map<int64_t, size_t> found;
  size_t having = 0;
  for (const auto& run : runs) {
    const EvaluationRecord* record = run.evaluation("knn", set.data);
    if (record == nullptr || !record->neighbours.contains(set.split)) continue;
    ++having;
    for (const auto& query : record->neighbours.at(set.split)) ++found[query.image.id];
  }
  std::vector<int64_t> shared;
  for (const auto& [id, times] : found) {
    if (having > 1 && times == having) shared.push_back(id);
  }
  return shared;
}

Gallery neighbour_gallery(const RunRecord& run, const EvaluatedSet& set, const std::vector<int64_t>& shared, int64_t most_bytes) {
  Gallery gallery;
  const EvaluationRecord* record = run.evaluation("knn", set.data);
  if (record == nullptr || !record->neighbours.contains(set.split)) return gallery;
  const auto& queries = record->neighbours.at(set.split);
  gallery.queries = std::ssize(queries);
  const ValueNames names(run, set);
  const Thumbnails thumbnails{fmt::format("{}/evaluation/thumbnails{}", run.path, set.data.empty() ? "" : "-" + set.data), &gallery};
  std::vector<std::pair<int64_t, Html>> rows;
  for (const size_t i : shared_first(queries, shared)) {
    Html row = row_of(queries[i], names, set, thumbnails);
    const auto bytes = std::ssize(row.source);
    if (gallery.bytes + bytes > most_bytes) break;
    gallery.bytes += bytes;
    rows.emplace_back(queries[i].image.id, std::move(row));
  }
  gallery.shown = std::ssize(rows);
  gallery.in_first = std::min(gallery.shown, kFirst);
  gallery.first = list_of({rows.begin(), rows.begin() + gallery.in_first});
  gallery.others = list_of({rows.begin() + gallery.in_first, rows.end()});
  return gallery;
}

}  // namespace debias
