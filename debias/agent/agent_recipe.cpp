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

namespace {

constexpr double kMostPixels = 1024;

}  // namespace

const OptionTable<EnvironmentSection>& EnvironmentSection::table() {
  using Self = EnvironmentSection;
  static const auto table =
      OptionTable<Self>()
          .add("task", &Self::task_,
               "task to learn: finger_spin, cartpole_swingup, reacher_easy, cheetah_run, walker_walk, ball_in_cup_catch")
          .add("action_repeat", &Self::action_repeat_, Range::closed(1, kControlSteps),
               "number of control steps for each action; auto: the task's (CURL's)")
          .add("pixels", &Self::pixels_, Range::closed(kLeastCrop, kMostPixels), "side of a frame in pixels")
          .add("stack", &Self::stack_, Range::closed(1, 16), "number of consecutive frames that the agent sees, the newest last")
          .add("look", &Self::look_, "rendering: full has shadows and reflections; plain has none and takes half the time");
  return table;
}

const OptionTable<AgentOptions>& AgentOptions::table() {
  using Self = AgentOptions;
  static const auto table =
      OptionTable<Self>()
          .add("crop", &Self::crop_, Range::closed(kLeastCrop, kMostPixels),
               "side of the random crops of a frame that the agent learns from")
          .add("filters", &Self::filters_, Range::at_least(1), "number of filters of each of the four convolutions")
          .add("features", &Self::features_, Range::at_least(1), "dimensions of the encoder's output")
          .add("hidden", &Self::hidden_, Range::at_least(1), "number of units of each hidden layer of actor and critic")
          .add("batch_size", &Self::batch_size_, Range::at_least(2), "batch size: transitions of an update")
          .add("discount", &Self::discount_, Range::half_open(0, 1), "discount factor")
          .add("learning_rate", &Self::learning_rate_, Range::above(0), "learning rate of Adam, for critic, actor and contrastive step")
          .add("temperature", &Self::temperature_, Range::above(0),
               "initial entropy temperature: reward for one nat of the policy's entropy")
          .add("temperature_learning_rate", &Self::temperature_learning_rate_, Range::at_least(0),
               "learning rate of the temperature's logarithm (Adam, betas 0.5, 0.999)")
          .add("head_rate", &Self::head_rate_, Range::open_closed(0, 1),
               "soft update rate of the target's heads: share of the way to the critic's")
          .add("encoder_rate", &Self::encoder_rate_, Range::open_closed(0, 1), "soft update rate of the target's encoder")
          .add("actor_every", &Self::actor_every_, Range::at_least(1), "number of updates between two updates of the actor")
          .add("target_every", &Self::target_every_, Range::at_least(1), "number of updates between two updates of the target")
          .add("random_steps", &Self::random_steps_, Range::at_least(1),
               "number of first steps of the agent with random actions and no updates");
  return table;
}

const OptionTable<ReplayOptions>& ReplayOptions::table() {
  using Self = ReplayOptions;
  static const auto table =
      OptionTable<Self>()
          .add("capacity", &Self::capacity_, Range::at_least(1), "maximum number of transitions; the oldest are dropped")
          .add("megabytes", &Self::megabytes_, Range::above(0), "maximum size of their frames on disk, which bounds the capacity");
  return table;
}

const OptionTable<AgentTrainOptions>& AgentTrainOptions::table() {
  using Self = AgentTrainOptions;
  static const auto table =
      OptionTable<Self>()
          .add("epochs", &Self::epochs_, Range::at_least(1), "number of epochs of `control_steps` each")
          .add("control_steps", &Self::control_steps_, Range::at_least(1), "environment steps per epoch, including action repeats")
          .add("threads", &Self::threads_, Range::at_least(1), "threads of torch; auto: one for each processor")
          .add("checkpoint_every", &Self::checkpoint_every_, Range::at_least(0), "seconds between checkpoints within an epoch (0: none)")
          .add("log_every", &Self::log_every_, Range::at_least(1), "number of updates between two step lines of metrics.jsonl")
          .add("on_full_disk", &Self::on_full_disk_, "reaction to a full disk: stop the run, or wait for space and retry every minute");
  return table;
}

// Only one metric of an evaluation is better the higher it is.
const OptionTable<AgentEvaluateOptions>& AgentEvaluateOptions::table() {
  using Self = AgentEvaluateOptions;
  static const auto table =
      OptionTable<Self>()
          .add("every", &Self::every_, Range::at_least(1), "epochs between two evaluations (and after the last)")
          .add("episodes", &Self::episodes_, Range::at_least(1), "episodes of an evaluation, with the policy's mean action")
          .add("select", &Self::select_, "test.return_mean: the epoch with the highest value is stored as `best`")
          .check([](const Self& options, const std::string& what) {
            if (options.select().empty() || options.select() == kReturnMean) return;
            throw usage_error("{}: select '{}' does not say which epoch of an agent is the best; write {}, or leave it out", what,
                              options.select(), kReturnMean);
          });
  return table;
}

}  // namespace debias
