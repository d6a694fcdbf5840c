#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/debias/agent_runs.h"
#include "apps/debias/command_list.h"
#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/losses/objective.h"
#include "debias/optim/optimizer.h"
#include "debias/optim/schedule.h"
#include "debias/runs/listed_metrics.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/train/methods/method.h"
#include "debias/train/recipe/recipe_sections.h"

namespace debias {
namespace {

struct Listed {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();  // for --json
};

template <class Entry>
std::vector<Listed> listed(const std::vector<Entry>& registry) {
  std::vector<Listed> result;
  for (const auto& entry : registry) result.push_back({entry.name, entry.aliases, entry.summary, entry.options});
  return result;
}

std::string_view kind_name(InputKind kind) {
  if (kind == InputKind::kLogits) return "logits";
  return kind == InputKind::kRegulariser ? "regulariser" : "pairs";
}

std::vector<Listed> listed_objectives() {
  std::vector<Listed> result = listed(objective_registry());
  for (size_t i = 0; i < result.size(); ++i) {
    const ObjectiveEntry& entry = objective_registry()[i];
    result[i].facts = {{"kind", kind_name(entry.kind)},      {"min_views", entry.min_views},
                       {"needs_labels", entry.needs_labels}, {"needs_bias", entry.needs_bias},
                       {"takes_keys", entry.takes_keys},     {"takes_bias_features", entry.takes_bias_features},
                       {"takes_prior", entry.takes_prior},   {"fused", has_fused_engine(entry)}};
  }
  return result;
}

const std::vector<std::string> kKinds = {"objectives", "encoders",  "heads",     "datasets",       "views",    "steps",
                                         "optimizers", "schedules", "protocols", "methods",        "samplers", "sections",
                                         "metrics",    "commands",  "recipes",   "agent_sections", "tasks",    "agent_metrics"};

std::vector<Listed> listed_sections(const std::vector<RecipeSection>& sections) {
  std::vector<Listed> result;
  for (const auto& section : sections) result.push_back({section.name, {}, section.summary, section.options});
  return result;
}

std::vector<ListedMetric> agent_metrics_listed() {
  std::vector<ListedMetric> result;
  for (const auto& metric : listed_agents().metrics) result.push_back({metric, {}});
  return result;
}

std::vector<Listed> of_kind(const std::string& kind) {
  if (kind == "objectives") return listed_objectives();
  if (kind == "encoders") return listed(encoder_registry());
  if (kind == "heads") return listed(head_registry());
  if (kind == "datasets") return listed(dataset_registry());
  if (kind == "views") return listed(view_preset_registry());
  if (kind == "steps") return listed(view_step_registry());
  if (kind == "optimizers") return listed(optimizer_registry());
  if (kind == "schedules") return listed(schedule_registry());
  if (kind == "protocols") return listed(protocol_registry());
  if (kind == "methods") return listed(method_registry());
  if (kind == "samplers") return listed(sampler_registry());
  if (kind == "sections") return listed_sections(recipe_sections());
  if (kind == "agent_sections") return listed_sections(listed_agents().sections);
  if (kind == "tasks") return listed_sections(listed_agents().tasks);
  throw usage_error("list: unknown kind '{}'{}", kind, suggestion(kind, kKinds));
}

void keep_only(const std::string& only, std::vector<ListedRecipe>& recipes) {
  std::vector<std::string> names;
  for (const auto& recipe : recipes) names.push_back(recipe.name);
  std::erase_if(recipes, [&](const ListedRecipe& recipe) { return recipe.name != only; });
  if (recipes.empty()) throw usage_error("list recipes: unknown name '{}'{}", only, suggestion(only, names));
}

int run_list_recipes(const std::string& only, bool json) {
  std::vector<ListedRecipe> recipes = list_recipes();
  if (recipes.empty() && (!json || !only.empty())) throw data_error("list recipes: {}", no_recipes());
  if (!only.empty()) keep_only(only, recipes);
  if (json) {
    nlohmann::ordered_json out = {{"recipes", nlohmann::ordered_json::array()}};
    for (const auto& recipe : recipes) {
      out["recipes"].push_back(
          {{"name", recipe.name}, {"path", recipe.path}, {"summary", recipe.summary}, {"data", recipe.data}, {"time", recipe.time}});
    }
    print_json(out);
    return 0;
  }
  for (const auto& recipe : recipes) {
    print_lines(fmt::format("{}: {}\n    data: {}{}\n", recipe.name, recipe.summary, recipe.data,
                            recipe.time.empty() ? "" : "; time: " + recipe.time));
  }
  return 0;
}

// Entries that have a name, each as JSON or as lines of text; of that name alone unless `only` is empty.
template <class Entry>
int print_entries(const std::string& kind, std::vector<Entry> entries, const std::string& only, bool json,
                  nlohmann::ordered_json (*as_json)(const Entry&), std::string (*as_text)(const Entry&)) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (!entry.name.empty()) names.push_back(entry.name);  // the program itself has none
  }
  if (!only.empty()) std::erase_if(entries, [&](const Entry& entry) { return entry.name != only; });
  if (entries.empty()) throw usage_error("list {}: unknown name '{}'{}", kind, only, suggestion(only, names));
  nlohmann::ordered_json out;
  out[kind] = nlohmann::ordered_json::array();
  for (const auto& entry : entries) {
    if (json) {
      out[kind].push_back(as_json(entry));
    } else {
      print_lines(as_text(entry));
    }
  }
  if (json) print_json(out);
  return 0;
}

int run_list(const CLI::App& root, const std::string& kind, const std::string& only, bool json) {
  if (kind == "recipes") return run_list_recipes(only, json);
  if (kind == "commands") return print_entries(kind, listed_commands(root), only, json, command_json, command_text);
  if (kind == "metrics") return print_entries(kind, listed_metrics(), only, json, metric_json, metric_text);
  if (kind == "agent_metrics") return print_entries(kind, agent_metrics_listed(), only, json, metric_json, metric_text);
  std::vector<Listed> entries = of_kind(kind);
  if (!only.empty()) {
    std::vector<std::string> names;
    for (const auto& entry : entries) names.push_back(entry.name);
    std::erase_if(entries, [&](const Listed& entry) {
      return entry.name != only && std::find(entry.aliases.begin(), entry.aliases.end(), only) == entry.aliases.end();
    });
    if (entries.empty()) throw usage_error("list {}: unknown name '{}'{}", kind, only, suggestion(only, names));
  }
  if (json) {
    nlohmann::ordered_json out;
    out[kind] = nlohmann::ordered_json::array();
    for (const auto& entry : entries) {
      nlohmann::ordered_json item = {{"name", entry.name}, {"aliases", entry.aliases}, {"summary", entry.summary}};
      item.update(entry.facts);
      item["options"] = nlohmann::ordered_json::array();
      for (const auto& spec : entry.options) item["options"].push_back(option_json(spec));
      out[kind].push_back(std::move(item));
    }
    print_json(out);
    return 0;
  }
  for (const auto& entry : entries) {
    const std::string aliases = entry.aliases.empty() ? "" : fmt::format(" (also {})", fmt::join(entry.aliases, ", "));
    const std::string_view keys = entry.facts.value("takes_keys", false) ? "; takes keys" : "";
    fmt::print("{}{}{}{}{}\n", entry.name, aliases, entry.summary.empty() ? "" : ": ", entry.summary, keys);
    for (const auto& spec : entry.options) fmt::print("    {}\n", option_line(spec));
  }
  return 0;
}

}  // namespace

void add_list_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("list", "lists names, options, defaults and ranges");
  auto kind = std::make_shared<std::string>(), only = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  verb->add_option("kind", *kind, fmt::format("{}", fmt::join(kKinds, "|")))->required();
  verb->add_option("name", *only, "name of a single entry to list");
  verb->add_flag("--json", *json, "one JSON object on standard output");
  verb->footer("Example: debias list objectives debiased_negatives");
  verb->callback([=, &root, &action] { action = [=, &root] { return run_list(root, *kind, *only, *json); }; });
}

}  // namespace debias
