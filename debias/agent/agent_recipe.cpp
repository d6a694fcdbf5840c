#include "debias/agent/agent_recipe.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "debias/control/task.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

constexpr const char* kNoObjective = "none";

Config section(const Config& root, const char* key) {
  const Config* node = root.find(key);
  return node == nullptr ? Config() : *node;
}

// An agent's positives are among its keys; those that an objective joins to the keys would count twice.
bool takes_keys_without_labels(const ObjectiveEntry& entry) {
  return entry.takes_keys && entry.kind == InputKind::kPairs && !entry.needs_labels && !entry.joins_positives;
}

// Why an update would fail that gives each anchor so many positives among the keys; empty where it would not.
std::string refusal(const Objective& objective, int64_t positives) {
  constexpr int64_t kRows = 4;
  const at::NoGradGuard no_grad;
  ObjectiveInput input{.z = at::eye(kRows, at::kFloat).unsqueeze(1)};
  input.keys = at::eye(kRows, at::kFloat);
  input.key_samples = at::arange(kRows, at::kLong);
  input.positives = input.z.repeat({1, positives, 1});
  try {
    objective(input);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// An objective says only when it is called what its options need; the first update would be late.
void require_agents_input(const Objective& objective, const std::string& name, int64_t positives, const Config& term) {
  const std::string why = refusal(objective, positives);
  if (why.empty()) return;
  if (refusal(objective, 1).empty()) {
    throw usage_error(
        "{}objective '{}': positives: it takes one, found {}; set positives: 1, or choose one that takes several, such as "
        "debiased_negatives",
        term.find("positives")->prefix(), name, positives);
  }
  throw usage_error("{}objective: {}; set that option otherwise: an agent's frames have no labels", term.prefix(), why);
}

void read_objective(const Config& given, AgentRecipe& recipe) {
  const Config term = section_map(given.is_null() ? Config::map({{"name", Config::string("infonce")}}) : given);
  if (section_name(term, "objective") == kNoObjective) {
    recipe.objective = Config::string(kNoObjective);
    return;
  }
  const auto& entry = named_entry(objective_registry(), term, "objective");
  if (!takes_keys_without_labels(entry)) {
    throw usage_error("{}objective '{}' does not compare an anchor with keys without labels; choose {}, or none", term.prefix(), entry.name,
                      fmt::join(agent_objectives(), ", "));
  }
  Config own = term;
  set_product_defaults(own, entry);
  recipe.positives = 1;
  if (const Config* positives = term.find("positives")) {
    recipe.positives = options_detail::Field<int64_t>::parse(*positives, Range::closed(1, 16), "objective: positives");
  }
  recipe.objective_options = entry.read(own, {"name", "positives"});
  require_agents_input(*recipe.make_objective(), entry.name, recipe.positives, term);
  recipe.objective = Config::map({{"name", Config::string(entry.name)}});
  recipe.objective.overlay(recipe.objective_options->config());
  recipe.objective.set("positives", Config::integer(recipe.positives));
}

void check_sizes(const AgentRecipe& recipe, const Config& root) {
  if (recipe.agent.crop() > recipe.environment.pixels()) {
    throw usage_error("{}agent: crop {} is larger than the frames of {} pixels; lower crop or raise environment.pixels", root.prefix(),
                      recipe.agent.crop(), recipe.environment.pixels());
  }
  const int64_t steps = recipe.train.epochs() * recipe.train.control_steps() / recipe.action_repeat();
  if (steps <= recipe.agent.random_steps()) {
    throw usage_error(
        "{}train: {} epochs of {} control steps are {} steps of the agent, no more than its {} random ones; raise epochs or lower "
        "agent.random_steps",
        root.prefix(), recipe.train.epochs(), recipe.train.control_steps(), steps, recipe.agent.random_steps());
  }
}

}  // namespace

std::vector<std::string> agent_objectives() {
  std::vector<std::string> names;
  for (const auto& entry : objective_registry()) {
    if (takes_keys_without_labels(entry)) names.push_back(entry.name);
  }
  return names;
}

const Task& AgentRecipe::task() const {
  if (own_task != nullptr) return *own_task;
  return find_entry(task_registry(), environment.task(), "task");
}

int64_t AgentRecipe::action_repeat() const { return environment.action_repeat().value_or(task().action_repeat); }

const std::vector<RecipeSection>& agent_sections() {
  static const std::vector<RecipeSection> sections = {
      {"name", "name of the run, for logs, tables and reports", {}},
      {"seed", "seed of initialisation, episodes and crops; a non-negative integer (default 1)", {}},
      {"environment", "control task and the images that the agent sees; required", EnvironmentSection::table().specs()},
      {"agent", "networks and updates of the agent", AgentOptions::table().specs()},
      {"objective", "contrastive objective of the encoder: `name`, its options and `positives`, or `none` (default infonce)", {}},
      {"replay", "replay buffer", ReplayOptions::table().specs()},
      {"train", "length, threads and checkpoints of training", AgentTrainOptions::table().specs()},
      {"evaluate", "evaluation episodes during training", AgentEvaluateOptions::table().specs()},
      {"output", "run folder", {}},
      {"expected", "published numbers, for tables", {}}};
  return sections;
}

AgentRecipe read_agent_recipe(const Config& root) {
  if (!root.is_map()) throw usage_error("{}recipe: expected a map of sections, such as environment and agent", root.prefix());
  std::vector<std::string> known;
  for (const auto& section : agent_sections()) known.push_back(section.name);
  for (const auto& [key, value] : root.entries()) {
    if (std::ranges::find(known, key) == known.end())
      throw usage_error("{}recipe: unknown section '{}'{}", value.prefix(), key, suggestion(key, known));
  }
  AgentRecipe recipe;
  using options_detail::Field;
  if (const Config* name = root.find("name")) recipe.name = Field<std::string>::parse(*name, Range::any(), "name");
  if (const Config* seed = root.find("seed")) recipe.seed = static_cast<uint64_t>(Field<int64_t>::parse(*seed, Range::at_least(0), "seed"));
  if (const Config* output = root.find("output")) recipe.output = Field<std::string>::parse(*output, Range::any(), "output");
  recipe.expected = section(root, "expected");
  const Config environment = section_map(section(root, "environment"));
  if (!environment.is_map() || environment.find("task") == nullptr) {
    throw usage_error("{}environment: no task is given; write `environment: {{task: cartpole_swingup}}`", root.prefix());
  }
  recipe.environment = EnvironmentSection::table().read(environment, "environment");
  find_entry(task_registry(), recipe.environment.task(), "task", environment.find("task")->prefix());
  recipe.agent = AgentOptions::table().read(section(root, "agent"), "agent");
  recipe.replay = ReplayOptions::table().read(section(root, "replay"), "replay");
  recipe.train = AgentTrainOptions::table().read(section(root, "train"), "train");
  recipe.evaluate = AgentEvaluateOptions::table().read(section(root, "evaluate"), "evaluate");
  read_objective(section(root, "objective"), recipe);
  check_sizes(recipe, root);
  return recipe;
}

Config resolved(const AgentRecipe& recipe) {
  Config root = Config::map({{"name", Config::string(recipe.name)}, {"seed", Config::integer(static_cast<int64_t>(recipe.seed))}});
  root.set("environment", EnvironmentSection::table().write(EnvironmentSection(recipe.environment).action_repeat(recipe.action_repeat())));
  root.set("agent", AgentOptions::table().write(recipe.agent));
  root.set("objective", recipe.objective);
  root.set("replay", ReplayOptions::table().write(recipe.replay));
  root.set("train", AgentTrainOptions::table().write(recipe.train));
  root.set("evaluate", AgentEvaluateOptions::table().write(recipe.evaluate));
  root.set("output", Config::string(recipe.output));
  if (!recipe.expected.is_null()) root.set("expected", recipe.expected);
  return root;
}

}  // namespace debias
