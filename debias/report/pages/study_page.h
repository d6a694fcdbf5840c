// The figures of a study as a page, from the JSON that `debias study` writes. Each figure carries the command that gives its numbers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace debias {

// `study`: the whole of study.json, "command" included (debias/study/study_results.h says what is in it). A json::exception where that is
// not so.

// Reference table; figures 3 (densities of the classes), 4 (samplers), 5 (errors) and 8 (means) of Liu and Wang 2023.
std::string bcl_page(const nlohmann::ordered_json& study);
// Every statement with both of its sides and its verdict.
std::string theorems_page(const nlohmann::ordered_json& study);
// Bias, variance and mean squared error against tau_plus, alpha, beta and N.
std::string estimators_page(const nlohmann::ordered_json& study);

}  // namespace debias
