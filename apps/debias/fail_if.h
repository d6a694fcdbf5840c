// The option --fail-if of commands that compute metrics.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

#include "debias/evaluate/condition.h"

namespace debias {

// Parses the condition when the option is read. Usage error for a malformed one. An empty one, as of an unset variable of a script, is
// malformed too.
CLI::Option* add_fail_if(CLI::App& verb, std::optional<Condition>& condition, const std::string& description);

}  // namespace debias
