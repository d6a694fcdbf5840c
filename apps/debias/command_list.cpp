#include "apps/debias/command_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/debias/brief_help.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

// The parser keeps a set of words as the end of the type's name alone: "TEXT:{last,best,previous}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find(":{");
  if (open == std::string::npos || type.back() != '}') return {};
  std::istringstream words(type.substr(open + 2, type.size() - open - 3));
  std::vector<std::string> choices;
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

std::string value_of(const CLI::Option& option) {
  if (option.get_type_size_max() == 0) return "";
  if (!option.get_option_text().empty()) return option.get_option_text();
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

ListedArgument listed_argument(const CLI::Option& option) {
  ListedArgument argument;
  argument.is_positional = !option.nonpositional();
  if (argument.is_positional) {
    argument.name = option.get_name(true);
  } else {
    std::vector<std::string> names;
    for (const auto& name : option.get_lnames()) names.push_back("--" + name);
    for (const auto& name : option.get_snames()) names.push_back("-" + name);
    argument.name = names.front();
    argument.also.assign(names.begin() + 1, names.end());
    argument.value = value_of(option);
  }
  argument.choices = choices_of(option);
  argument.help = option.get_description();
  argument.is_required = option.get_required();
  argument.is_repeated = option.get_items_expected_max() > 1 && option.get_type_size_max() != 0;
  argument.is_seldom_used = option.get_group() == kSeldomUsed;
  return argument;
}

bool is_shown(const CLI::Option* option) { return !option->get_group().empty(); }
bool is_shown_part(const CLI::App* part) { return !part->get_name().empty() && !part->get_group().empty(); }

void list(const CLI::App& command, std::vector<ListedCommand>& found) {
  const auto parts = command.get_subcommands(is_shown_part);
  ListedCommand listed;
  listed.name = typed_name(command);
  listed.summary = command.get_description();
  listed.footer = command.get_footer();
  listed.has_parts = command.get_require_subcommand_min() > 0;
  for (const CLI::Option* option : command.get_options(is_shown)) listed.arguments.push_back(listed_argument(*option));
  found.push_back(std::move(listed));
  for (const CLI::App* part : parts) list(*part, found);
}

nlohmann::ordered_json argument_json(const ListedArgument& argument) {
  nlohmann::ordered_json json = {{"name", argument.name}, {"also", argument.also}};
  json["positional"] = argument.is_positional;
  json["required"] = argument.is_required;
  json["repeated"] = argument.is_repeated;
  json["seldom_used"] = argument.is_seldom_used;
  if (!argument.value.empty()) json["value"] = argument.value;
  if (!argument.choices.empty()) json["choices"] = argument.choices;
  json["help"] = argument.help;
  return json;
}

}  // namespace

std::vector<ListedCommand> listed_commands(const CLI::App& root) {
  std::vector<ListedCommand> found;
  list(root, found);
  return found;
}

nlohmann::ordered_json command_json(const ListedCommand& command) {
  nlohmann::ordered_json json = {{"name", command.name}, {"summary", command.summary}, {"footer", command.footer}};
  json["has_parts"] = command.has_parts;
  json["arguments"] = nlohmann::ordered_json::array();
  for (const auto& argument : command.arguments) json["arguments"].push_back(argument_json(argument));
  return json;
}

std::string command_text(const ListedCommand& command) {
  std::string text = fmt::format("debias{}{}: {}\n", command.name.empty() ? "" : " ", command.name, command.summary);
  for (const auto& argument : command.arguments) {
    text += fmt::format("    {}{}{}  {}\n", argument.name, argument.value.empty() ? "" : " ", argument.value, argument.help);
  }
  return text;
}

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
