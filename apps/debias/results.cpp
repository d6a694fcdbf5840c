#include "apps/debias/results.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "apps/debias/agent_runs.h"
#include "debias/core/human_units.h"
#include "debias/core/printable.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/train/loop/train_log.h"

namespace debias {
namespace {

constexpr const char* kPlain = "\033[0m";

bool shows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = value;
    return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

std::string with_coloured_bars(std::string_view line, std::string_view bar) {
  std::string text;
  bool in_bar = false;
  while (!line.empty()) {
    const bool is_bar = line.starts_with(bar);
    if (is_bar != in_bar) text += is_bar ? "\033[36m" : kPlain;
    in_bar = is_bar;
    const size_t size = is_bar ? bar.size() : 1;
    text += line.substr(0, size);
    line.remove_prefix(size);
  }
  return text + (in_bar ? kPlain : "");
}

std::string coloured_line(std::string_view line, const TextStyle& style) {
  for (const auto& [mark, colour] : {std::pair("note:", "\033[33m"), std::pair("warning:", "\033[33m"), std::pair("next:", "\033[32m")}) {
    if (line.starts_with(mark)) return fmt::format("{}{}{}{}", colour, mark, kPlain, line.substr(std::string_view(mark).size()));
  }
  return style.bar.size() < 2 ? std::string(line) : with_coloured_bars(line, style.bar);  // "#" is in texts, too
}

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Commands are to be copied, and columns stay below each other.
bool may_break(std::string_view line) {
  const size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  const std::string_view words = line.substr(begin);
  return !words.starts_with("next:") && !words.starts_with("Next,") && words.find("  ") == std::string_view::npos;
}

// The line, broken between words where it is wider than the terminal.
std::string broken(std::string_view line, size_t width) {
  if (columns_of(line) <= width || !may_break(line)) return std::string(line);
  const size_t begin = line.find_first_not_of(' ');
  std::string text, own(line.substr(0, begin));
  for (std::string_view rest = line.substr(begin); !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    const bool is_first = own.find_first_not_of(' ') == std::string::npos;
    if (!is_first && columns_of(own) + 1 + columns_of(word) > width) {
      text += own + "\n";
      own = std::string(begin + 2, ' ') + std::string(word);
    } else {
      own += (is_first ? "" : " ") + std::string(word);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text + own;
}

}  // namespace

void print_json(const nlohmann::ordered_json& json, int indent) { fmt::print("{}\n", json_without_control_characters(json, indent)); }

void print_lines(std::string_view lines) { fmt::print("{}", lines_without_control_characters(lines)); }

CLI::Option* add_verbose(CLI::App& verb, bool& verbose, const std::string& all) {
  return verb.add_flag("-v,--verbose", verbose, fmt::format("print {}", all));
}

size_t terminal_width() {
  constexpr size_t kLeast = 40, kAny = 1 << 20;  // a narrower one says nothing
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeast ? size.ws_col : kAny;
}

TextStyle text_style(bool verbose) {
  const char* term = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  const bool has =
      isatty(STDOUT_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb" && (no_colour == nullptr || *no_colour == 0);
  return {verbose, has, !has ? "" : shows_utf8() ? "█" : "#"};
}

void print_text(std::string_view lines, const TextStyle& style, Tone verdict) {
  const std::string text = lines_without_control_characters(lines);
  const size_t width = terminal_width();
  std::string coloured;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    const std::string line = broken(rest.substr(0, end), width);
    if (!style.colour) {
      coloured += line;
    } else if (coloured.empty()) {
      coloured += fmt::format("\033[1{}m{}{}", verdict == Tone::kBad ? ";31" : verdict == Tone::kGood ? ";32" : "", line, kPlain);
    } else {
      coloured += coloured_line(line, style);
    }
    if (end == std::string_view::npos) break;
    coloured += '\n';
    rest.remove_prefix(end + 1);
  }
  fmt::print("{}", coloured);
}

std::shared_ptr<const MetricTitles> metric_titles() {
  static const auto titles = [] {
    std::vector<Metric> all = protocol_metrics();
    const auto add = [&all](const std::vector<Metric>& more) { all.insert(all.end(), more.begin(), more.end()); };
    add(training_metrics());
    add(listed_agents().metrics);
    return std::make_shared<const MetricTitles>(all);
  }();
  return titles;
}

std::string metric_text(const std::string& name, double value) {
  return metric_titles()->unit(name) == Unit::kShare ? fmt::format("{:6.2f} %", 100 * value) : fmt::format("{:8.5g}", value);
}

namespace {

nlohmann::ordered_json outcome_json(const TrainingOutcome& outcome, const nlohmann::ordered_json& more) {
  nlohmann::ordered_json out = {
      {"folder", outcome.folder}, {"epochs", outcome.epochs}, {"already_finished", outcome.already_finished}, {"seconds", outcome.seconds}};
  out.update(more);
  for (const auto& [name, value] : outcome.metrics) out["metrics"][name] = value;
  out["notes"] = outcome.notes;
  return out;
}

}  // namespace

void print_outcome(const TrainingOutcome& outcome, bool json, const nlohmann::ordered_json& more) {
  if (json) return print_json(outcome_json(outcome, more));
  const std::string folder = without_control_characters(outcome.folder);
  if (outcome.already_finished) {
    fmt::print("{}: finished already ({} epochs); nothing was changed\n", folder, outcome.epochs);
    return;
  }
  fmt::print("{}: {} epochs in {}\n", folder, outcome.epochs, duration_text(outcome.seconds));
  for (const auto& [name, value] : outcome.metrics) {
    fmt::print("  {:<24} {}\n", without_control_characters(name), metric_text(name, value));
  }
  for (const auto& note : outcome.notes) print_lines(fmt::format("note: {}\n", without_control_characters(note)));
}

}  // namespace debias
