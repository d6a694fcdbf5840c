#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/debias/device_certificates.h"
#include "apps/debias/rank_certificates.h"
#include "apps/debias/rank_environment.h"
#include "apps/debias/rank_launcher.h"
#include "apps/debias/rank_trial.h"
#include "apps/debias/recipe_lookup.h"
#include "apps/debias/verbs.h"
#include "debias/data/dataset_registry.h"

namespace debias {
namespace {

struct TrialArguments {
  std::string recipe;
  std::vector<std::string> words;
  Trial trial;
};

nlohmann::ordered_json to_json(const Traffic& traffic) {
  return {{"calls", traffic.calls}, {"bytes", traffic.bytes}, {"cpu_seconds", traffic.cpu_seconds}, {"seconds", traffic.seconds}};
}

int run_one_trial(const TrialArguments& arguments) {
  end_with_launcher();
  const Recipe recipe = read_recipe(read_recipe_config(arguments.recipe, arguments.words));
  const auto start = rank_start({});
  const Ranks ranks(start ? start->place : Place{}, start ? start->rendezvous : Rendezvous{});
  return tell_failures(ranks, [&] {
    const TrialCost cost = run_trial(recipe, make_dataset(recipe.train_data), ranks, arguments.trial);
    const nlohmann::ordered_json json = {{"steps", cost.steps},
                                         {"cpu_seconds", cost.cpu_seconds},
                                         {"rows", to_json(cost.rows)},
                                         {"statistics", to_json(cost.statistics)},
                                         {"sums", to_json(cost.sums)}};
    std::ofstream(fmt::format("{}.cost-{}", arguments.trial.out, ranks.rank())) << json.dump();
    return 0;
  });
}

}  // namespace

void add_certify_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("certify", "checks on this machine what the documentation claims");
  verb->require_subcommand(1);
  auto* ranks =
      verb->add_subcommand("ranks", "trainings of several processes against those of one: a line a claim, exit 1 where one fails");
  auto asked = std::make_shared<RankCertificate>();
  ranks->add_option("recipe", asked->recipe, "a YAML file, or the name of a recipe (debias list recipes)")->required();
  ranks->add_option("words", asked->words, "key.sub=value: overrides of the recipe");
  ranks->add_option("--ranks", asked->ranks, "numbers of processes, such as 2,3,4")->delimiter(',')->allow_extra_args(false);
  ranks->add_option("--steps", asked->steps, "steps of each trial");
  ranks->add_flag("--json", asked->json, "one JSON object on standard output");
  ranks->callback([asked, &action] { action = [asked] { return certify_ranks(*asked); }; });
  auto* trial = verb->add_subcommand("trial", "")->group("");  // what the processes of `ranks` run
  auto given = std::make_shared<TrialArguments>();
  trial->add_option("recipe", given->recipe)->required();
  trial->add_option("words", given->words);
  trial->add_option("--steps", given->trial.steps);
  trial->add_option("--from", given->trial.from);
  trial->add_option("--out", given->trial.out)->required();
  trial->callback([given, &action] { action = [given] { return run_one_trial(*given); }; });
  auto* device = verb->add_subcommand("device", "a device against the CPU: objectives, a short training, memory and the time of a step");
  auto checked = std::make_shared<DeviceCertificate>();
  device->add_option("recipe", checked->recipe, "a YAML file, or the name of a recipe; without one, a small training on drawn shapes");
  device->add_option("words", checked->words, "key.sub=value: overrides of the recipe");
  device->add_option("--device", checked->device, "cuda, or cpu to try the command");
  device->add_option("--steps", checked->steps, "of the short training");
  device->add_flag("--json", checked->json, "one JSON object on standard output");
  device->callback([checked, &action] { action = [checked] { return certify_device(*checked); }; });
  verb->footer("Example: debias certify ranks mini/cross_entropy train.batch_size=64 --ranks 2,4");
}

}  // namespace debias
