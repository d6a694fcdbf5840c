#include "apps/debias/usage_mistake.h"

#include <fmt/format.h>

#include <algorithm>

#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

std::vector<CLI::App*> parts_of(CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of_parts(CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* part : parts_of(command)) names.push_back(part->get_name());
  return names;
}

// With its dashes, and without a value: "--out", "-q".
bool has_option(const CLI::App& command, const std::string& word) {
  return std::ranges::any_of(command.get_options(), [&](const CLI::Option* option) { return option->check_name(word); });
}

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string in_front(const CLI::App& command) {
  const std::string name = typed_name(command);
  return name.empty() ? "" : name + ": ";
}

size_t depth_of(const CLI::App& command) { return command.get_parent() == nullptr ? 0 : 1 + depth_of(*command.get_parent()); }

std::string unknown_option(CLI::App& command, const std::vector<std::string>& words, size_t depth) {
  for (size_t i = depth; i < words.size(); ++i) {
    const std::string word = words[i].substr(0, words[i].find('='));
    if (!word.starts_with("--") || word == "--" || has_option(command, word)) continue;
    return fmt::format("{}unknown option '{}'{}", in_front(command), word, suggestion(word, long_options(command)));
  }
  return "";
}

}  // namespace

CLI::App& named_command(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* command = &root;
  for (const auto& word : words) {
    const auto parts = parts_of(*command);
    const auto named = std::ranges::find_if(parts, [&](const CLI::App* part) { return part->get_name() == word; });
    if (named == parts.end()) break;
    command = *named;
  }
  return *command;
}

std::string typed_name(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "";
  const std::string above = typed_name(*command.get_parent());
  return above.empty() ? command.get_name() : above + " " + command.get_name();
}

std::string unknown_command(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App& command = named_command(root, words);
  const size_t depth = depth_of(command);
  if (command.get_require_subcommand_min() == 0 || words.size() <= depth || words[depth].starts_with('-')) return "";
  return fmt::format("{}unknown command '{}'{}", in_front(command), words[depth], suggestion(words[depth], names_of_parts(command)));
}

std::string usage_mistake(CLI::App& root, const CLI::ParseError& error, const std::vector<std::string>& words) {
  CLI::App& command = named_command(root, words);
  if (std::string text = unknown_option(command, words, depth_of(command)); !text.empty()) return text;
  const std::string name = typed_name(command);
  return fmt::format("{}{}; see debias {}--help", in_front(command), first_line(error.what()), name.empty() ? "" : name + " ");
}

}  // namespace debias
