#include "apps/debias/described_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace debias {

CLI::Option* add_described(CLI::App& verb, const OptionVisitor& options, std::string_view name, const std::string& command,
                           const std::string& help) {
  const DescribedOption& option = *options.find(name);
  std::string flag = "--" + option.name;
  std::ranges::replace(flag, '_', '-');
  const std::string text = help.empty() ? fmt::format("{} ({})", option.help, option.value().text()) : help;
  if (option.type == &option_type<int64_t>()) return verb.add_option(flag, *static_cast<int64_t*>(option.field), text);
  if (option.type == &option_type<double>()) return verb.add_option(flag, *static_cast<double*>(option.field), text);
  const auto read = [option, what = command + ": " + option.name](const std::string& word) { option.read(Config::string(word), what); };
  return verb.add_option_function<std::string>(flag, read, text);
}

}  // namespace debias
