// Options that a struct describes (core/options.h) as options of a command: `--tau-plus` is tau_plus.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

#include "debias/core/options.h"

namespace debias {

// Writes into the struct, which `options` refers to. `command` begins messages of words; numbers have their ranges checked by
// check_options(). An empty `help`: the option's own, and its default.
CLI::Option* add_described(CLI::App& verb, const OptionVisitor& options, std::string_view name, const std::string& command,
                           const std::string& help = "");

}  // namespace debias
