#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "debias/report/charts/curve_figures.h"
#include "debias/report/sections/evaluation_figures.h"
#include "debias/report/sections/neighbour_gallery.h"
#include "debias/report/sections/report_sections.h"

namespace debias {
namespace {

constexpr int64_t kThumbnailBytes = 2'400'000, kMapPoints = 24'000;  // of a page
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
  page.heading(2, "Learning curves");
  const Figures learning = learning_figures(data.columns);
  if (learning.empty()) page.paragraph(plain("Fewer than two epochs or logged steps: there is no curve yet."), "missing");
  page.figures(learning);
  const Figures diagnostics = diagnostics_figures(data.columns);
  if (diagnostics.empty()) return;
  page.heading(2, "Diagnostics of the objective");
  page.paragraph(plain(
      "The clamped share is the share of anchors (of FairKL's sets of pairs, of EnD's terms) whose clamp, floor or fall-back acted: near "
      "100 %, the objective is no longer the one that was requested. An effective sample size near 1 means that one negative outweighs all "
      "others."));
  page.figures(diagnostics);
}

void add_similarities(Page& page, const ReportData& data) {
  page.heading(2, "Similarities");
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
  page.heading(2, "t-SNE plot");
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
  page.heading(2, "Nearest neighbours");
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

}  // namespace debias
