// Help that fits one screen: options that are seldom used are named in one line, without their descriptions.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace debias {

inline constexpr const char* kSeldomUsed = "Also";  // the group of such options

class BriefHelp : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override {
    if (group != kSeldomUsed) return Formatter::make_group(std::move(group), is_positional, std::move(options));
    std::string line;
    for (const CLI::Option* option : options) line += (line.empty() ? "Also: " : ", ") + option->get_name();
    return line + "\n";
  }
};

}  // namespace debias
