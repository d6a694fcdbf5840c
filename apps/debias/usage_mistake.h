// What was wrong with a command line, in one line.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace debias {

// The deepest command that the leading words name: root for none, `data make` for {"data", "make", ...}.
CLI::App& named_command(CLI::App& root, const std::vector<std::string>& words);

// "data make", as `command` is typed; "" for root.
std::string typed_name(const CLI::App& command);

// Of a word that stands where a command is needed and is none, with the nearest one; "" where there is no such word. To be asked before
// parsing, which would take `trian --help` for `--help`.
std::string unknown_command(CLI::App& root, const std::vector<std::string>& words);

// Names the first unknown option with the nearest one that exists, else what the parser said.
std::string usage_mistake(CLI::App& root, const CLI::ParseError& error, const std::vector<std::string>& words);

}  // namespace debias
