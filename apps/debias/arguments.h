// Options that several commands have.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/condition.h"
#include "debias/features/feature_table.h"

namespace debias {

// Options that a struct describes (core/options.h) as options of a command: `--tau-plus` is tau_plus.

// Writes into the struct, which `options` refers to. `command` begins messages of words; numbers have their ranges checked by
// check_options(). An empty `help`: the option's own, and its default.
CLI::Option* add_described(CLI::App& verb, const OptionVisitor& options, std::string_view name, const std::string& command,
                           const std::string& help = "");

// The option --fail-if of commands that compute metrics.

// Parses the condition when the option is read. Usage error for a malformed one. An empty one, as of an unset variable of a script, is
// malformed too.
CLI::Option* add_fail_if(CLI::App& verb, std::optional<Condition>& condition, const std::string& description);

// The options by which a command takes a feature table in the place of a run.
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
