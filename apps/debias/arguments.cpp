#include "apps/debias/arguments.h"

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

CLI::Option* add_fail_if(CLI::App& verb, std::optional<Condition>& condition, const std::string& description) {
  return verb.add_option_function<std::string>(
      "--fail-if", [&condition](const std::string& text) { condition = parse_condition(text); }, description);
}

FeatureTableFiles TableArguments::files() const { return FeatureTableFiles{.vectors = vectors, .csv = csv, .key = key}; }

TableRowOptions TableArguments::columns() const {
  TableRowOptions options{.label = label, .numeric = numeric};
  if (!biases.empty()) options.biases = biases;
  if (!groups.empty()) options.groups = groups;
  return options;
}

CLI::Option* add_group_columns(CLI::App& verb, const std::string& effect, std::vector<std::string>& columns) {
  return verb.add_option("--group", columns, "columns that say what belongs together, such as a patient: " + effect + " (group)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
}

std::vector<CLI::Option*> add_table_columns(CLI::App& verb, CLI::Option& embeddings, TableArguments& arguments) {
  std::vector<CLI::Option*> all = {
      verb.add_option("--csv", arguments.csv,
                      "CSV with a row for each vector: path, label, bias, split (default: the CSV next to the vectors)"),
      verb.add_option("--key", arguments.key, "name of the tensor, if the .safetensors file has several"),
      verb.add_option("--label", arguments.label, "column with the class (label)")->option_text("COLUMN"),
      verb.add_option("--bias", arguments.biases, "columns with bias labels (bias)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->option_text("COLUMN,..."),
      verb.add_option("--numeric", arguments.numeric, "columns that are numeric, not categorical")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->option_text("COLUMN,...")};
  for (CLI::Option* option : all) option->needs(&embeddings);
  return all;
}

}  // namespace debias
