#include "debias/core/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxNodes = 100000;
constexpr int64_t kMaxFileBytes = 16 << 20;

bool reads_as_other_than_string(std::string_view text) {
  double number;
  bool boolean;
  return is_null_text(text) || parse_number(text, &number) || parse_boolean(text, &boolean) || text == ".nan";
}

// Recipes and options are written as JSON, too, which holds no other text.
const std::string& utf8(const std::string& text, const std::string& where) {
  try {
    nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw usage_error("{}: {} is not UTF-8; write it in UTF-8", where, printable(text));
  }
  return text;
}

Config convert(const YAML::Node& node, const std::string& file, bool lines, int depth, int* count) {
  const std::string where = lines && node.Mark().line >= 0 ? fmt::format("{}:{}", file, node.Mark().line + 1) : file;
  if (depth > kMaxDepth) throw usage_error("{}: nested deeper than {} levels; flatten the recipe", where, kMaxDepth);
  if (++*count > kMaxNodes) throw usage_error("{}: more than {} values; a recipe is smaller", where, kMaxNodes);
  Config result;
  if (node.IsScalar()) {
    const bool quoted = node.Tag() == "!";
    result = !quoted && is_null_text(node.Scalar()) ? Config() : Config::scalar(utf8(node.Scalar(), where), quoted);
  } else if (node.IsSequence()) {
    result = Config::sequence();
    for (const auto& item : node) result.items().push_back(convert(item, file, lines, depth + 1, count));
  } else if (node.IsMap()) {
    result = Config::map();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) throw usage_error("{}: a key must be a plain word", where);
      const std::string key_where = lines && entry.first.Mark().line >= 0 ? fmt::format("{}:{}", file, entry.first.Mark().line + 1) : file;
      const std::string& key = utf8(entry.first.Scalar(), key_where);
      if (result.find(key) != nullptr) throw usage_error("{}: key '{}' is given twice; keep one", key_where, key);
      Config value = convert(entry.second, file, lines, depth + 1, count);
      value.set_where(key_where);
      result.set(key, std::move(value));
    }
  }
  result.set_where(where);
  return result;
}

Config parse(std::string_view text, const std::string& name, bool lines) {
  try {
    const YAML::Node node = YAML::Load(std::string(text));
    int count = 0;
    return convert(node, name, lines, 0, &count);
  } catch (const YAML::Exception& error) {
    const std::string where = lines && error.mark.line >= 0 ? fmt::format("{}:{}", name, error.mark.line + 1) : name;
    throw usage_error("{}: not valid YAML: {}", where, error.msg);
  }
}

void emit(YAML::Emitter& out, const Config& node, bool flow) {
  switch (node.kind()) {
    case Config::Kind::kNull:
      out << YAML::Null;
      break;
    case Config::Kind::kScalar:
      if (node.quoted()) out << YAML::DoubleQuoted;
      out << node.text();
      break;
    case Config::Kind::kSequence: {
      bool plain = true;
      for (const auto& item : node.items()) plain = plain && (item.is_scalar() || item.is_null());
      out << (plain || flow ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
      for (const auto& item : node.items()) emit(out, item, plain || flow);
      out << YAML::EndSeq;
      break;
    }
    case Config::Kind::kMap:
      out << (flow || node.entries().empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
      for (const auto& [key, value] : node.entries()) {
        out << YAML::Key << key << YAML::Value;
        emit(out, value, flow);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

Config Config::scalar(std::string text, bool quoted) {
  Config node;
  node.kind_ = Kind::kScalar;
  node.text_ = std::move(text);
  node.quoted_ = quoted;
  return node;
}

Config Config::string(std::string text) {
  const bool quoted = reads_as_other_than_string(text);
  return scalar(std::move(text), quoted);
}

Config Config::integer(int64_t value) { return scalar(fmt::format("{}", value)); }

Config Config::number(double value) {
  if (std::isinf(value)) return scalar(value > 0 ? ".inf" : "-.inf");
  return scalar(fmt::format("{}", value));
}

Config Config::boolean(bool value) { return scalar(value ? "true" : "false"); }

Config Config::sequence(std::vector<Config> items) {
  Config node;
  node.kind_ = Kind::kSequence;
  node.items_ = std::move(items);
  return node;
}

Config Config::map(std::vector<std::pair<std::string, Config>> entries) {
  Config node;
  node.kind_ = Kind::kMap;
  node.entries_ = std::move(entries);
  return node;
}

const Config* Config::find(std::string_view key) const {
  for (const auto& entry : entries_) {
    if (entry.first == key) return &entry.second;
  }
  return nullptr;
}

Config* Config::find(std::string_view key) { return const_cast<Config*>(std::as_const(*this).find(key)); }

void Config::set(const std::string& key, Config value) {
  if (Config* present = find(key)) {
    *present = std::move(value);
    return;
  }
  if (kind_ != Kind::kMap) {
    const std::string where = where_;
    *this = map();
    where_ = where;
  }
  entries_.emplace_back(key, std::move(value));
}

void Config::erase(std::string_view key) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.first == key; });
}

void Config::overlay(const Config& over) {
  if (!over.is_map() || !is_map()) {
    *this = over;
    return;
  }
  for (const auto& [key, value] : over.entries()) {
    if (Config* present = find(key)) {
      present->overlay(value);
    } else {
      entries_.emplace_back(key, value);
    }
  }
}

namespace {

void set_where_of_all(Config& node, const std::string& where) {
  node.set_where(where);
  for (Config& item : node.items()) set_where_of_all(item, where);
  for (const auto& [key, value] : node.entries()) set_where_of_all(*node.find(key), where);
}

}  // namespace

void Config::assign(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw usage_error("command line: '{}' is not of the form key.sub=value", word);
  }
  const std::string_view path = word.substr(0, equals);
  const std::string where = fmt::format("command line: {}", path);
  Config value = parse(word.substr(equals + 1), where, false);
  set_where_of_all(value, "command line");
  Config* node = this;
  const auto parts = parts_of_key(path);
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (part.empty()) throw usage_error("command line: '{}' has an empty key", path);
    if (is_list_index(part) && node->is_sequence()) {
      const size_t index = std::stoul(part);
      if (index >= node->items().size()) {
        throw usage_error("command line: {}: index {} is beyond the {} entries there", path, index, node->items().size());
      }
      node = &node->items()[index];
      continue;
    }
    const bool is_only_entry = node->is_scalar() || (node->find("name") != nullptr && node->find(part) == nullptr);
    if (i == 1 && is_list_index(part) && std::stoul(part) == 0 && is_only_entry) continue;  // objective.0.temperature without a list
    if (node->is_sequence() && node->items().size() == 1) node = &node->items()[0];         // objective.temperature of the only term
    if (node->is_sequence()) {
      throw usage_error("command line: {}: this is a list of {}; choose one with [0]", path, node->items().size());
    }
    if (node->is_scalar()) {  // a bare name means {name: NAME}
      Config name = *node;
      *node = map();
      node->set("name", name);
      node->set_where("command line");
    }
    if (node->find(part) == nullptr) {
      Config fresh;
      fresh.set_where("command line");
      node->set(part, std::move(fresh));
    }
    node = node->find(part);
  }
  *node = std::move(value);
}

nlohmann::ordered_json Config::to_json() const {
  using Json = nlohmann::ordered_json;
  switch (kind_) {
    case Kind::kNull:
      return nullptr;
    case Kind::kScalar: {
      int64_t integer;
      double number;
      bool boolean;
      if (!quoted_ && parse_integer(text_, &integer)) return integer;
      if (!quoted_ && parse_number(text_, &number) && std::isfinite(number)) return number;
      if (!quoted_ && parse_boolean(text_, &boolean)) return boolean;
      return text_;
    }
    case Kind::kSequence: {
      Json json = Json::array();
      for (const auto& item : items_) json.push_back(item.to_json());
      return json;
    }
    case Kind::kMap: {
      Json json = Json::object();
      for (const auto& [key, value] : entries_) json[key] = value.to_json();
      return json;
    }
  }
  return nullptr;
}

std::string Config::to_yaml() const {
  YAML::Emitter out;
  emit(out, *this, false);
  return std::string(out.c_str()) + "\n";
}

bool Config::operator==(const Config& other) const {
  return kind_ == other.kind_ && text_ == other.text_ && quoted_ == other.quoted_ && items_ == other.items_ && entries_ == other.entries_;
}

std::vector<std::string> parts_of_key(std::string_view key) {
  std::vector<std::string> parts(1);
  for (char c : key) {
    if (c == '.' || c == '[') {
      parts.emplace_back();
    } else if (c != ']') {
      parts.back().push_back(c);
    }
  }
  return parts;
}

bool is_list_index(std::string_view part) {
  return !part.empty() && part.size() < 6 && part.find_first_not_of("0123456789") == std::string_view::npos;
}

Config parse_yaml(std::string_view text, const std::string& file_name) { return parse(text, file_name, true); }

Config read_yaml_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw usage_error("reading recipe '{}': it is a folder without config.yaml; give the path of a YAML file or of a run", path);
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw usage_error("reading recipe '{}': no such readable file{}; give the path of a YAML file", path, start_of(path));
  const int64_t size = file.tellg();
  if (size < 0 || size > kMaxFileBytes) throw usage_error("reading recipe '{}': not a text file of at most 16 MiB", path);
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0);
  file.read(text.data(), size);
  if (!file) throw usage_error("reading recipe '{}': it could not be read to its end", path);
  return parse_yaml(text, path);
}

Config config_from_json(const nlohmann::ordered_json& json) {
  if (json.is_null()) return Config();
  if (json.is_boolean()) return Config::boolean(json.get<bool>());
  if (json.is_number_integer()) return Config::integer(json.get<int64_t>());
  if (json.is_number()) return Config::number(json.get<double>());
  if (json.is_string()) return Config::string(json.get<std::string>());
  if (json.is_array()) {
    Config node = Config::sequence();
    for (const auto& item : json) node.items().push_back(config_from_json(item));
    return node;
  }
  Config node = Config::map();
  for (const auto& [key, value] : json.items()) node.set(key, config_from_json(value));
  return node;
}

bool parse_number(std::string_view text, double* value) {
  if (text == "inf" || text == ".inf" || text == "+inf" || text == "+.inf") {
    *value = std::numeric_limits<double>::infinity();
    return true;
  }
  if (text == "-inf" || text == "-.inf") {
    *value = -std::numeric_limits<double>::infinity();
    return true;
  }
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return false;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return code == std::errc() && end == text.data() + text.size();
}

bool parse_integer(std::string_view text, int64_t* value) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return !text.empty() && code == std::errc() && end == text.data() + text.size();
}

bool parse_boolean(std::string_view text, bool* value) {
  if (text != "true" && text != "false") return false;
  *value = text == "true";
  return true;
}

bool is_null_text(std::string_view text) { return text.empty() || text == "~" || text == "null"; }

}  // namespace debias
