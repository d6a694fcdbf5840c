#include "debias/report/recipe_facts.h"

#include <algorithm>
#include <initializer_list>

#include "debias/core/recipe_keys.h"

namespace debias {
namespace {

using KeyPath = std::initializer_list<const char*>;

// The value under nested keys; null where there is none.
const Config* node_under(const Config& config, KeyPath path) {
  const Config* node = &config;
  for (const char* key : path) node = node == nullptr ? nullptr : node->find(key);
  return node;
}

// Of a scalar; nothing of any other value.
std::optional<std::string> scalar_under(const Config& config, KeyPath path) {
  const Config* node = node_under(config, path);
  return node == nullptr || !node->is_scalar() ? std::nullopt : std::optional(node->text());
}

std::string text_under(const Config& config, KeyPath path) { return scalar_under(config, path).value_or(""); }

std::optional<double> number_under(const Config& config, KeyPath path) {
  double number = 0;
  return parse_number(text_under(config, path), &number) ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> integer_under(const Config& config, KeyPath path) {
  int64_t integer = 0;
  return parse_integer(text_under(config, path), &integer) ? std::optional(integer) : std::nullopt;
}

// Of a word, or of the words in a list.
std::vector<std::string> words_under(const Config& config, KeyPath path) {
  const Config* node = node_under(config, path);
  if (node == nullptr) return {};
  std::vector<std::string> words;
  if (auto word = scalar_under(*node, {})) words.push_back(std::move(*word));
  for (const auto& item : node->items()) {
    if (auto word = scalar_under(item, {})) words.push_back(std::move(*word));
  }
  return words;
}

Json json_under(const Config& config, KeyPath path) {
  const Config* node = node_under(config, path);
  return node == nullptr ? Json() : node->to_json();
}

// Terms of weight 0 took no part.
std::vector<std::string> names_of_terms(const Config& objective) {
  if (auto name = scalar_under(objective, {})) return {std::move(*name)};
  if (objective.is_map()) return {text_under(objective, {"name"})};
  std::vector<std::string> names;
  for (const auto& term : objective.items()) {
    if (number_under(term, {"weight"}).value_or(1) != 0) names.push_back(text_under(term, {"name"}));
  }
  return names;
}

Published read_expectation(const Config& entry) {
  Published published{.value = number_under(entry, {"value"}).value_or(kNotKnown),
                      .spread = number_under(entry, {"spread"}),
                      .source = text_under(entry, {"source"}),
                      .minutes = number_under(entry, {"minutes"}),
                      .epoch = integer_under(entry, {"epoch"}).value_or(0),
                      .runs = integer_under(entry, {"runs"}),
                      .metric = text_under(entry, {"metric"}),
                      .tolerance = number_under(entry, {"tolerance"})};
  if (published.runs && *published.runs <= 0) published.runs.reset();
  return published;
}

DataFacts read_data_facts(const Config& section) {
  DataFacts data{.name = text_under(section, {"name"}),
                 .seed = text_under(section, {"seed"}),
                 .correlation = text_under(section, {"correlation"}),
                 .hold_out = number_under(section, {"hold_out"}).value_or(0),
                 .options = {},
                 .section = section.to_json()};
  if (!section.is_map()) return data;
  for (const auto& [key, value] : flattened(section)) data.options[key] = value;
  return data;
}

void read_training(const Config& recipe, RecipeFacts& facts) {
  facts.epochs = std::max<int64_t>(0, integer_under(recipe, {"train", "epochs"}).value_or(0));
  facts.batch_size = text_under(recipe, {"train", "batch_size"});
  facts.control_steps = number_under(recipe, {"train", "control_steps"}).value_or(0);
  if (const Config* objective = node_under(recipe, {"objective"})) {
    facts.objectives = names_of_terms(*objective);
    facts.objective = objective->to_json();
  }
  facts.encoder = text_under(recipe, {"encoder", "name"});
  const Config* classifier = node_under(recipe, {"classifier"});
  facts.has_classifier = classifier != nullptr && !classifier->is_null();
}

void read_data_sections(const Config& recipe, RecipeFacts& facts) {
  const Config* data = node_under(recipe, {"data"});
  if (data == nullptr) return;
  for (const auto& [split, section] : data->entries()) facts.data[split] = read_data_facts(section);
}

void read_evaluate(const Config& recipe, RecipeFacts& facts) {
  facts.protocols = words_under(recipe, {"evaluate", "protocols"});
  facts.groups_predictions = scalar_under(recipe, {"evaluate", "groups", "predictions"}).value_or(facts.groups_predictions);
  facts.select = text_under(recipe, {"evaluate", "select"});
}

void read_expectations(const Config& recipe, RecipeFacts& facts) {
  const Config* expected = node_under(recipe, {"expected"});
  if (expected == nullptr) return;
  facts.expected = read_published(*expected);
  if (!facts.expected.empty()) facts.expected_section = *expected;
}

}  // namespace

std::vector<Published> read_published(const Config& expected) {
  std::vector<Published> entries;
  for (const auto& entry : expected.items()) entries.push_back(read_expectation(entry));
  return entries;
}

const DataFacts& RecipeFacts::data_of(const std::string& split) const {
  static const DataFacts kNothing = {};
  const auto found = data.find(split);
  return found == data.end() ? kNothing : found->second;
}

bool RecipeFacts::has_protocol(const std::string& protocol) const { return std::ranges::find(protocols, protocol) != protocols.end(); }

RecipeFacts read_recipe_facts(const Config& recipe) {
  RecipeFacts facts;
  facts.name = text_under(recipe, {"name"});
  facts.seed = text_under(recipe, {"seed"});
  facts.seed_json = json_under(recipe, {"seed"});
  facts.is_fixed = node_under(recipe, {"fix"}) != nullptr;
  facts.of_agent = node_under(recipe, {"environment"}) != nullptr;
  facts.task = text_under(recipe, {"environment", "task"});
  read_training(recipe, facts);
  read_data_sections(recipe, facts);
  read_evaluate(recipe, facts);
  read_expectations(recipe, facts);
  return facts;
}

}  // namespace debias
