// A recipe as a tree that remembers where each value was written.
//
// Read from YAML (strict: no duplicate keys, bounded depth and size), overlaid by `key.sub=value` words whose values are YAML too, and
// written back as YAML or JSON. Options tables (options.h) turn its maps into structs.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace debias {

class Config {
 public:
  enum class Kind { kNull, kScalar, kSequence, kMap };

  Config() = default;
  static Config scalar(std::string text, bool quoted = false);
  static Config string(std::string text);  // quoted where a plain scalar would read as something else
  static Config integer(int64_t value);
  static Config number(double value);
  static Config boolean(bool value);
  static Config sequence(std::vector<Config> items = {});
  static Config map(std::vector<std::pair<std::string, Config>> entries = {});

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_scalar() const { return kind_ == Kind::kScalar; }
  bool is_sequence() const { return kind_ == Kind::kSequence; }
  bool is_map() const { return kind_ == Kind::kMap; }

  const std::string& text() const { return text_; }  // of a scalar
  bool quoted() const { return quoted_; }
  const std::vector<Config>& items() const { return items_; }
  std::vector<Config>& items() { return items_; }
  const std::vector<std::pair<std::string, Config>>& entries() const { return entries_; }

  // "recipe.yaml:12" or "command line"; empty for a tree made in code. prefix() adds ": ".
  const std::string& where() const { return where_; }
  std::string prefix() const { return where_.empty() ? "" : where_ + ": "; }
  void set_where(std::string where) { where_ = std::move(where); }

  const Config* find(std::string_view key) const;  // null when absent or not a map
  Config* find(std::string_view key);
  void set(const std::string& key, Config value);  // replaces in place or appends; makes a null node a map
  void erase(std::string_view key);

  // Entries of `over` replace those of *this, maps are merged entry by entry.
  void overlay(const Config& over);
  // "optimizer.learning_rate=1e-3", "objective.0.temperature=0.1" or "objective[0].temperature=0.1".
  void assign(std::string_view key_equals_value);

  nlohmann::ordered_json to_json() const;  // plain scalars as numbers, booleans and null where they read as such
  std::string to_yaml() const;

  bool operator==(const Config& other) const;  // ignores where

 private:
  Kind kind_ = Kind::kNull;
  std::string text_;
  bool quoted_ = false;
  std::vector<Config> items_;
  std::vector<std::pair<std::string, Config>> entries_;
  std::string where_;
};

// The parts of a key as assign() takes them: "objective", "0" and "weight" of objective.0.weight and of objective[0].weight.
std::vector<std::string> parts_of_key(std::string_view key);
bool is_list_index(std::string_view part);  // true if it is the index of a list entry

// Throws a usage error "FILE:LINE: ..." on malformed YAML, duplicate keys, more than 64 levels or 100,000 nodes.
Config parse_yaml(std::string_view text, const std::string& file_name);
Config read_yaml_file(const std::string& path);
Config config_from_json(const nlohmann::ordered_json& json);

// Strict readings of a scalar's text; false where it does not read as one. Numbers take inf, .inf, -inf; never nan.
bool parse_number(std::string_view text, double* value);
bool parse_integer(std::string_view text, int64_t* value);
bool parse_boolean(std::string_view text, bool* value);  // true|false
bool is_null_text(std::string_view text);                // "", ~, null

}  // namespace debias
