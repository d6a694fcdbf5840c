#include "debias/agent/agent_recipe.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "debias/agent/networks.h"
#include "debias/control/task.h"
#include "debias/core/error.h"
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
    recipe.positives = read_value<int64_t>(*positives, "objective: positives", Range::closed(1, 16));
  }
  recipe.objective_options = entry.read(own, {"name", "positives"});
  require_agents_input(*recipe.make_objective(), entry.name, recipe.positives, term);
  recipe.objective = Config::map({{"name", Config::string(entry.name)}});
  recipe.objective.overlay(recipe.objective_options->config());
  recipe.objective.set("positives", Config::integer(recipe.positives));
}

void check_sizes(const AgentRecipe& recipe, const Config& root) {
  if (recipe.agent.crop > recipe.environment.pixels) {
    throw usage_error("{}agent: crop {} is larger than the frames of {} pixels; lower crop or raise environment.pixels", root.prefix(),
                      recipe.agent.crop, recipe.environment.pixels);
  }
  const int64_t steps = recipe.train.epochs * recipe.train.control_steps / recipe.action_repeat();
  if (steps <= recipe.agent.random_steps) {
    throw usage_error(
        "{}train: {} epochs of {} control steps are {} steps of the agent, no more than its {} random ones; raise epochs or lower "
        "agent.random_steps",
        root.prefix(), recipe.train.epochs, recipe.train.control_steps, steps, recipe.agent.random_steps);
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
  return find_entry(task_registry(), environment.task, "task");
}

int64_t AgentRecipe::action_repeat() const { return environment.action_repeat.value_or(task().action_repeat); }

const std::vector<RecipeSection>& agent_sections() {
  static const std::vector<RecipeSection> sections = {
      {"name", "name of the run, for logs, tables and reports", {}},
      {"seed", "seed of initialisation, episodes and crops; a non-negative integer (default 1)", {}},
      {"environment", "control task and the images that the agent sees; required", option_specs<EnvironmentSection>()},
      {"agent", "networks and updates of the agent", option_specs<AgentOptions>()},
      {"objective", "contrastive objective of the encoder: `name`, its options and `positives`, or `none` (default infonce)", {}},
      {"replay", "replay buffer", option_specs<ReplayOptions>()},
      {"train", "length, threads and checkpoints of training", option_specs<AgentTrainOptions>()},
      {"evaluate", "evaluation episodes during training", option_specs<AgentEvaluateOptions>()},
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
  if (const Config* name = root.find("name")) recipe.name = read_value<std::string>(*name, "name");
  if (const Config* seed = root.find("seed")) recipe.seed = static_cast<uint64_t>(read_value<int64_t>(*seed, "seed", Range::at_least(0)));
  if (const Config* output = root.find("output")) recipe.output = read_value<std::string>(*output, "output");
  recipe.expected = section(root, "expected");
  const Config environment = section_map(section(root, "environment"));
  if (!environment.is_map() || environment.find("task") == nullptr) {
    throw usage_error("{}environment: no task is given; write `environment: {{task: cartpole_swingup}}`", root.prefix());
  }
  recipe.environment = options_from<EnvironmentSection>(environment, "environment");
  find_entry(task_registry(), recipe.environment.task, "task", environment.find("task")->prefix());
  recipe.agent = options_from<AgentOptions>(section(root, "agent"), "agent");
  recipe.replay = options_from<ReplayOptions>(section(root, "replay"), "replay");
  recipe.train = options_from<AgentTrainOptions>(section(root, "train"), "train");
  recipe.evaluate = options_from<AgentEvaluateOptions>(section(root, "evaluate"), "evaluate");
  read_objective(section(root, "objective"), recipe);
  check_sizes(recipe, root);
  return recipe;
}

Config resolved(const AgentRecipe& recipe) {
  Config root = Config::map({{"name", Config::string(recipe.name)}, {"seed", Config::integer(static_cast<int64_t>(recipe.seed))}});
  EnvironmentSection environment = recipe.environment;
  environment.action_repeat = recipe.action_repeat();
  root.set("environment", config_of(environment));
  root.set("agent", config_of(recipe.agent));
  root.set("objective", recipe.objective);
  root.set("replay", config_of(recipe.replay));
  root.set("train", config_of(recipe.train));
  root.set("evaluate", config_of(recipe.evaluate));
  root.set("output", Config::string(recipe.output));
  if (!recipe.expected.is_null()) root.set("expected", recipe.expected);
  return root;
}

namespace {

constexpr double kMostPixels = 1024;

}  // namespace

void EnvironmentSection::describe(OptionVisitor& o) {
  o("task", task, "task to learn: finger_spin, cartpole_swingup, reacher_easy, cheetah_run, walker_walk, ball_in_cup_catch");
  o("action_repeat", action_repeat, Range::closed(1, kControlSteps), "number of control steps for each action; auto: the task's (CURL's)");
  o("pixels", pixels, Range::closed(kLeastCrop, kMostPixels), "side of a frame in pixels");
  o("stack", stack, Range::closed(1, 16), "number of consecutive frames that the agent sees, the newest last");
  o("look", look, "rendering: full has shadows and reflections; plain has none and takes half the time");
}

void AgentOptions::describe(OptionVisitor& o) {
  o("crop", crop, Range::closed(kLeastCrop, kMostPixels), "side of the random crops of a frame that the agent learns from");
  o("filters", filters, Range::at_least(1), "number of filters of each of the four convolutions");
  o("features", features, Range::at_least(1), "dimensions of the encoder's output");
  o("hidden", hidden, Range::at_least(1), "number of units of each hidden layer of actor and critic");
  o("batch_size", batch_size, Range::at_least(2), "batch size: transitions of an update");
  o("discount", discount, Range::half_open(0, 1), "discount factor");
  o("learning_rate", learning_rate, Range::above(0), "learning rate of Adam, for critic, actor and contrastive step");
  o("temperature", temperature, Range::above(0), "initial entropy temperature: reward for one nat of the policy's entropy");
  o("temperature_learning_rate", temperature_learning_rate, Range::at_least(0),
    "learning rate of the temperature's logarithm (Adam, betas 0.5, 0.999)");
  o("head_rate", head_rate, Range::open_closed(0, 1), "soft update rate of the target's heads: share of the way to the critic's");
  o("encoder_rate", encoder_rate, Range::open_closed(0, 1), "soft update rate of the target's encoder");
  o("actor_every", actor_every, Range::at_least(1), "number of updates between two updates of the actor");
  o("target_every", target_every, Range::at_least(1), "number of updates between two updates of the target");
  o("random_steps", random_steps, Range::at_least(1), "number of first steps of the agent with random actions and no updates");
}

// Only one metric of an evaluation is better the higher it is.
void AgentEvaluateOptions::describe(OptionVisitor& o) {
  o("every", every, Range::at_least(1), "epochs between two evaluations (and after the last)");
  o("episodes", episodes, Range::at_least(1), "episodes of an evaluation, with the policy's mean action");
  o("select", select, "test.return_mean: the epoch with the highest value is stored as `best`");
  o.check([this](const std::string& what) {
    if (select.empty() || select == kReturnMean) return;
    throw usage_error("{}: select '{}' does not say which epoch of an agent is the best; write {}, or leave it out", what, select,
                      kReturnMean);
  });
}

}  // namespace debias
