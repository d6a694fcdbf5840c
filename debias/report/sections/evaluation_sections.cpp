#include "debias/report/sections/evaluation_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "debias/report/charts/curve_figures.h"
#include "debias/report/pages/page.h"
#include "debias/report/sections/report_sections.h"
#include "debias/results/run_files.h"

namespace debias {
namespace {

constexpr int64_t kThumbnailBytes = 1'000'000, kMapPoints = 12'000;  // of a page
constexpr size_t kMostMapPoints = 3000;

std::string shared_words(const std::vector<int64_t>& shared, const EvaluatedSet& set) {
  return shared.empty() ? fmt::format("No image of {} was chosen in every run: each shows others.", set.title())
                        : fmt::format("The images of {} that every run shows come first.", set.title());
}

}  // namespace

void add_missing(Page& page, const std::vector<RunRecord>& runs, Part part) {
  const MissingPart missing = missing_part(runs, part);
  if (missing.words.empty()) return;
  Html line = plain(missing.words + "; ");
  for (size_t begin = 0; begin < missing.commands.size();) {
    const size_t end = std::min(missing.commands.find('\n', begin), missing.commands.size());
    line += (begin == 0 ? Html{} : plain(", ")) + code(missing.commands.substr(begin, end - begin));
    begin = end + 1;
  }
  page.paragraph(line + plain(runs.size() > 1 ? " would add them." : " adds them."), "missing");
}

void add_curves(Page& page, const ReportData& data) {
  page.heading(2, "Learning curves", "loss, accuracy, gradient norm and learning rate over training");
  const Figures learning = learning_figures(data.columns);
  if (learning.empty()) page.paragraph(plain("Fewer than two epochs or logged steps: there is no curve yet."), "missing");
  page.figures(learning);
  const Figures diagnostics = diagnostics_figures(data.columns);
  if (diagnostics.empty()) return;
  page.heading(2, "Diagnostics of the objective", "clamped shares, estimates and schedules by term");
  page.paragraph(plain(
      "The clamped share is the share of anchors (of FairKL's sets of pairs, of EnD's terms) whose clamp, floor or fall-back acted: near "
      "100 %, the objective is no longer the one that was requested. An effective sample size near 1 means that one negative outweighs all "
      "others."));
  page.figures(diagnostics);
}

void add_similarities(Page& page, const ReportData& data) {
  page.heading(2, "Similarities", "cosines of positive and negative, aligned and conflicting pairs");
  const auto sets = evaluated_sets(data.shown, "geometry");
  if (!sets.empty()) {
    page.paragraph(
        plain("Positive pairs share the label, aligned pairs the bias label. Features that ignore the bias have positive aligned and "
              "positive conflicting pairs alike."));
  }
  for (const auto& set : sets) {
    page.figures(similarity_figures(data.shown, set));
    page.figures(similarity_history_figures(data.shown, set));
    page.table(similarity_table(data.shown, set));
  }
  add_missing(page, data.runs, Part::kSimilarities);
}

void add_maps(Page& page, const ReportData& data) {
  page.heading(2, "t-SNE plot", "images by class and by bias label");
  const auto sets = evaluated_sets(data.shown, "tsne");
  if (!sets.empty()) {
    page.paragraph(
        plain("t-SNE of the features: images that are close together have similar features; sizes of clusters and distances between them "
              "mean little."));
  }
  const size_t most = std::min(kMostMapPoints, static_cast<size_t>(kMapPoints) / std::max<size_t>(1, sets.size() * data.shown.size()));
  for (const auto& set : sets) {
    Figures by_label, by_bias;
    for (const auto& run : data.shown) {
      Figures of_run = map_figures(run, set, most, data.shown.size() > 1);
      for (size_t i = 0; i < of_run.size(); ++i) (i == 0 ? by_label : by_bias).push_back(std::move(of_run[i]));
    }
    if (data.shown.size() == 1) {
      by_label.insert(by_label.end(), std::make_move_iterator(by_bias.begin()), std::make_move_iterator(by_bias.end()));
      by_bias.clear();
    }
    page.figures(by_label);
    page.figures(by_bias);
  }
  add_missing(page, data.runs, Part::kMap);
}

void add_neighbours(Page& page, const ReportData& data) {
  page.heading(2, "Nearest neighbours", "evaluated images beside the training images nearest to them");
  const std::vector<EvaluatedSet> sets = evaluated_sets(data.shown, "knn");
  if (!sets.empty()) {
    page.paragraph(
        plain("Left, an evaluated image; then the training images nearest to it, nearest first. Solid red frame: of another class; dotted "
              "frame: of the same class with another bias label; no frame: of the same group."));
  }
  const auto share = kThumbnailBytes / static_cast<int64_t>(std::max<size_t>(1, sets.size() * data.shown.size()));
  for (const auto& set : sets) {
    const std::vector<int64_t> shared = shared_queries(data.shown, set);
    if (data.shown.size() > 1) page.paragraph(plain(shared_words(shared, set)), "note");
    for (const auto& run : data.shown) {
      const Gallery gallery = neighbour_gallery(run, set, shared, share);
      if (gallery.queries == 0) continue;
      page.heading(3, fmt::format("{}, {}", run.label, set.title()));
      page.add(gallery.first);
      if (!gallery.others.source.empty()) page.folded(fmt::format("{} more", gallery.shown - gallery.in_first), gallery.others);
      if (gallery.shown < gallery.queries) {
        page.paragraph(plain(fmt::format("{} of {} evaluated images are shown, to keep the file small.", gallery.shown, gallery.queries)),
                       "note");
      }
      if (!gallery.missing.empty()) {
        page.paragraph(
            plain(fmt::format("{} thumbnails are missing or not PNG files, {} the first; ", gallery.missing.size(), gallery.missing[0])) +
                code(fmt::format("debias eval knn {}", shell_word(run.path))) + plain(" writes them again."),
            "missing");
      }
    }
  }
  add_missing(page, data.runs, Part::kNeighbours);
}

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

namespace {

// Sentences nearest to queries, run beside run.

struct QueriesOfRun {
  std::string label;
  NearestSentences found;

  const SentenceQuery* of(const std::string& text) const {
    const auto own = std::ranges::find(found.queries, text, &SentenceQuery::text);
    return own == found.queries.end() ? nullptr : &*own;
  }
};

// "runs/a: epoch 3 (last.safetensors), 1200 sentences of pool.txt"
std::string searched(const QueriesOfRun& run) {
  const NearestSentences& found = run.found;
  if (found.checkpoint.empty()) return fmt::format("{}: its file does not say what was searched", run.label);
  return fmt::format("{}: epoch {} ({}), {} sentences of {}", run.label, found.epoch, found.checkpoint, found.sentences, found.text);
}

bool searched_alike(const std::vector<QueriesOfRun>& runs) {
  const std::string& first = runs.front().found.digest;
  return runs.size() == 1 || (!first.empty() && std::ranges::all_of(runs, [&](const auto& run) { return run.found.digest == first; }));
}

Table nearest_table(const std::string& query, const std::vector<QueriesOfRun>& runs) {
  Table table{query, "", {}, {}};
  size_t most = 0;
  table.add_heads({"rank"});
  for (const auto& run : runs) {
    table.add_heads({run.label});
    if (const SentenceQuery* own = run.of(query)) most = std::max(most, own->nearest.size());
  }
  for (size_t rank = 0; rank < most; ++rank) {
    Row row;
    row.cells.push_back({plain(std::to_string(rank + 1)), "n", ""});
    for (const auto& run : runs) {
      const SentenceQuery* own = run.of(query);
      const bool has = own != nullptr && rank < own->nearest.size();
      row.cells.push_back({has ? plain(fmt::format("{} ({:.3f})", own->nearest[rank].text, own->nearest[rank].cosine)) : Html{}, "", ""});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_found(Page& page, const std::vector<QueriesOfRun>& runs, const std::vector<std::string>& queries) {
  page.paragraph(plain("Of each query the sentences with the largest cosine to it, nearest first; the query's own is left out."));
  std::string what;
  for (const auto& run : runs) what += (what.empty() ? "" : "; ") + searched(run);
  page.paragraph(plain(what + "."));
  if (!searched_alike(runs)) {
    page.paragraph(plain("These runs searched different texts, or it is not known: what one of them did not find may not have been there."),
                   "note warning");
  }
  for (const auto& query : queries) page.add(table_in_scroller(nearest_table(query, runs)));
}

}  // namespace

void add_nearest_texts(Page& page, const ReportData& data) {
  if (std::ranges::none_of(data.runs, &RunRecord::of_text)) return;
  std::vector<QueriesOfRun> runs;
  std::vector<std::string> queries;
  for (const auto& run : data.shown) {
    NearestSentences own = read_nearest_sentences(run.path);
    if (own.queries.empty()) continue;
    for (const auto& query : own.queries) {
      if (std::ranges::find(queries, query.text) == queries.end()) queries.push_back(query.text);
    }
    runs.push_back({run.label, std::move(own)});
  }
  page.heading(2, "Nearest sentences", "of your queries, run beside run");
  if (!runs.empty()) add_found(page, runs, queries);
  add_missing(page, data.shown, Part::kNearestTexts);
}

}  // namespace debias
