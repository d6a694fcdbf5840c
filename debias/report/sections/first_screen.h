// What a page of runs begins with: what was compared on which data, one verdict, one figure, one next command. The same for one run and
// for many, with and without bias labels.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/report/sections/report_sections.h"
#include "debias/report/sections/verdict.h"

namespace debias {

// A method of the figure: its accuracies on conflicting and on aligned images; without bias labels, `conflicting` is its only number.
struct FigureRow {
  std::string label;
  size_t column = 0;
  const KeyNumber *conflicting = nullptr, *aligned = nullptr;
};

struct FirstScreen {
  std::string title;    // "eps_supinfonce against fairkl on glyphs"
  std::string verdict;  // one sentence of at most 25 words
  bool alarm = false;   // it is of one run, which uses the shortcut or over-corrects
  std::string measure;  // title of the figure's numbers
  Unit unit = Unit::kShare;
  std::vector<FigureRow> rows;
  std::vector<std::shared_ptr<const KeyNumber>> completed = {};  // of the rows: numbers whose files have no interval, with Wilson's
  std::optional<size_t> best;                                    // of the rows
  std::optional<size_t> plain, corrected;                        // columns that the verdict compares
  double chance = std::numeric_limits<double>::quiet_NaN();
  NextStep next;
};

FirstScreen first_screen(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons);

// "glyphs", "the folder photos": the evaluated data, else those of training; "" where runs have none, or different ones.
std::string data_name(const std::vector<RunRecord>& runs);

void add_first_screen(Page& page, const ReportData& data);

}  // namespace debias
