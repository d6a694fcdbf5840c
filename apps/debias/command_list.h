// The program's commands with their arguments and options, as the parser has them: what the reference, the manual pages and the shells'
// completions are made from.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace debias {

struct ListedArgument {
  std::string name;               // "--out", or of a positional argument its word
  std::vector<std::string> also;  // other spellings: "-q"
  std::string value;              // of an option, what stands for its value: "FILE.csv"; empty for a flag
  std::vector<std::string> choices;
  std::string help;
  bool is_positional = false, is_required = false, is_repeated = false, is_seldom_used = false;
};

struct ListedCommand {
  std::string name;  // as it is typed: "data make"; empty for the program itself
  std::string summary;
  std::string footer;  // examples and notes below the options
  std::vector<ListedArgument> arguments;
  bool has_parts = false;  // it does nothing itself: a further word names what to do
};

// `root` first, then its commands in the order of its help, each followed by its parts. Hidden ones are left out.
std::vector<ListedCommand> listed_commands(const CLI::App& root);

nlohmann::ordered_json command_json(const ListedCommand& command);
std::string command_text(const ListedCommand& command);  // a line, and one of each argument

// What was wrong with a command line, in one line.

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
