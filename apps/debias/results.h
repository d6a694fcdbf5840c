// Results on standard output, with nothing in them that could steer a terminal (printable.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace debias {

void print_json(const nlohmann::ordered_json& json, int indent = 2);  // and a line end; -1: on one line
void print_lines(std::string_view lines);

}  // namespace debias
