// Results on standard output, with nothing in them that could steer a terminal (printable.h).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/text_style.h"
#include "debias/report/metric_title.h"

namespace debias {

void print_json(const nlohmann::ordered_json& json, int indent = 2);  // and a line end; -1: on one line
void print_lines(std::string_view lines);

// Commands whose text is short by default: the verdict first, then the evidence, then what to do, in at most kShortText lines.

// The flag -v, --verbose, which prints all. `all` says what that is: "every property and its numbers".
CLI::Option* add_verbose(CLI::App& verb, bool& verbose, const std::string& all);

size_t terminal_width();  // columns; 1 << 20 where standard output is no terminal

// Bars and colours where standard output is a terminal that has them: neither with NO_COLOR, with TERM=dumb, or in a file or pipe.
TextStyle text_style(bool verbose);

enum class Tone { kNeutral, kGood, kBad };

// As print_lines. Where the style has colours, the first line is bold and of its tone, and the marks "note:", "warning:" and "next:" at
// the beginnings of lines and bars are coloured: the text itself holds no colours.
void print_text(std::string_view lines, const TextStyle& style, Tone verdict);

// Metrics as the command shows them.

// Of all that describe their metrics: protocols, training and its methods, agents.
std::shared_ptr<const MetricTitles> metric_titles();

// A metric's value in a table of the terminal: shares in percent, other numbers as they are, right-aligned.
std::string metric_text(const std::string& name, double value);

// The final output of a finished training, of an encoder or an agent.
struct TrainingOutcome {
  std::string folder;
  int64_t epochs = 0;
  bool already_finished = false;  // a resumed run that had nothing left to do
  double seconds = 0;
  std::vector<std::pair<std::string, double>> metrics;  // of the last epoch
  std::vector<std::string> notes = {};
};

// On standard output; with `json` as one object, which has `more` as well.
void print_outcome(const TrainingOutcome& outcome, bool json, const nlohmann::ordered_json& more);

}  // namespace debias
