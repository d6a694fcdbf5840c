// Numbers of a stored training state, which somebody may have touched.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>

namespace debias {

// The integer at a key, from 0 to 2^53; a data error on anything else, a json::exception where the key is absent.
int64_t count_at(const nlohmann::ordered_json& json, const char* key);

// The finite number at a key, likewise.
double number_at(const nlohmann::ordered_json& json, const char* key);

}  // namespace debias
