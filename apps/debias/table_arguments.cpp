#include "apps/debias/table_arguments.h"

namespace debias {

FeatureTableFiles TableArguments::files() const { return FeatureTableFiles().vectors(vectors).csv(csv).key(key); }

TableRowOptions TableArguments::columns() const {
  TableRowOptions options = TableRowOptions().label(label).numeric(numeric);
  if (!biases.empty()) options.biases(biases);
  return options;
}

std::vector<CLI::Option*> add_table_columns(CLI::App& verb, CLI::Option& embeddings, TableArguments& arguments) {
  std::vector<CLI::Option*> all = {
      verb.add_option("--csv", arguments.csv, "rows in the order of the vectors: path, label, bias, split; by default the CSV beside them"),
      verb.add_option("--key", arguments.key, "tensor of a .safetensors file with several"),
      verb.add_option("--label", arguments.label, "column of the class (label)")->option_text("COLUMN"),
      verb.add_option("--bias", arguments.biases, "columns of the bias (bias)")->delimiter(',')->option_text("COLUMN,..."),
      verb.add_option("--numeric", arguments.numeric, "columns that are numbers, not names")->delimiter(',')->option_text("COLUMN,...")};
  for (CLI::Option* option : all) option->needs(&embeddings);
  return all;
}

}  // namespace debias
