// Sentences nearest to queries, run beside run.
#include <fmt/format.h>

#include <algorithm>

#include "debias/report/sections/report_sections.h"
#include "debias/results/run_files.h"

namespace debias {
namespace {

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
  Table table;
  table.caption = query;
  size_t most = 0;
  table.head.push_back({plain("rank"), "", ""});
  for (const auto& run : runs) {
    table.head.push_back({plain(run.label), "", ""});
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
  page.heading(2, "Nearest sentences");
  if (!runs.empty()) add_found(page, runs, queries);
  add_missing(page, data.shown, Part::kNearestTexts);
}

}  // namespace debias
