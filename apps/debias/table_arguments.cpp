#include "apps/debias/table_arguments.h"

namespace debias {

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
