#include "apps/debias/results.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "debias/core/printable.h"

namespace debias {

void print_json(const nlohmann::ordered_json& json, int indent) { fmt::print("{}\n", json_without_control_characters(json, indent)); }

void print_lines(std::string_view lines) { fmt::print("{}", lines_without_control_characters(lines)); }

}  // namespace debias
