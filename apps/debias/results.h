// Results on standard output, with nothing in them that could steer a terminal (printable.h).
#pragma once

#include <CLI/CLI.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "debias/core/text_style.h"

namespace debias {

void print_json(const nlohmann::ordered_json& json, int indent = 2);  // and a line end; -1: on one line
void print_lines(std::string_view lines);

// Commands whose text is short by default: the verdict first, then the evidence, then what to do, in at most kShortText lines.

// The flag -v, --verbose, which prints all. `all` says what that is: "every property and its numbers".
CLI::Option* add_verbose(CLI::App& verb, bool& verbose, const std::string& all);

// Bars and colours where standard output is a terminal that has them: neither with NO_COLOR, with TERM=dumb, or in a file or pipe.
TextStyle text_style(bool verbose);

enum class Tone { kNeutral, kGood, kBad };

// As print_lines. Where the style has colours, the first line is bold and of its tone, and the marks "note:", "warning:" and "next:" at
// the beginnings of lines and bars are coloured: the text itself holds no colours.
void print_text(std::string_view lines, const TextStyle& style, Tone verdict);

}  // namespace debias
