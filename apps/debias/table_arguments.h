// The options by which a command takes a feature table in the place of a run.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "debias/features/feature_table.h"

namespace debias {

struct TableArguments {
  std::string vectors, csv, key, label;
  std::vector<std::string> biases, numeric, groups;

  bool given() const { return !vectors.empty(); }
  FeatureTableFiles files() const;
  TableRowOptions columns() const;
};

// --group COLUMN[,COLUMN], of a table or of a run's labels.
CLI::Option* add_group_columns(CLI::App& verb, const std::string& effect, std::vector<std::string>& columns);

// --csv, --key, --label, --bias and --numeric; each needs `embeddings`, the option of the vectors, which the command declares.
std::vector<CLI::Option*> add_table_columns(CLI::App& verb, CLI::Option& embeddings, TableArguments& arguments);

}  // namespace debias
