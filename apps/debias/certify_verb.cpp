#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/data/dataset_registry.h"
#include "debias/runs/device_certificates.h"
#include "debias/runs/rank_certificates.h"
#include "debias/runs/rank_launcher.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runtime/device.h"

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
    const TrialCost cost = run_trial(recipe, recipe.train_data.make_images(), ranks, arguments.trial);
    const nlohmann::ordered_json json = {{"steps", cost.steps},
                                         {"cpu_seconds", cost.cpu_seconds},
                                         {"rows", to_json(cost.rows)},
                                         {"statistics", to_json(cost.statistics)},
                                         {"sums", to_json(cost.sums)}};
    std::ofstream(fmt::format("{}.cost-{}", arguments.trial.out, ranks.rank())) << json.dump();
    return 0;
  });
}

CertificateObserver printing_observer(bool json) {
  CertificateObserver observer;
  if (json) return observer;
  const auto print = [](const char* what, const std::string& text) {
    print_lines(fmt::format("{}  {}\n", what, text));
    std::fflush(stdout);
  };
  observer.on_claim = [print](const Claim& claim) { print(claim.holds ? "holds " : "FAILS ", claim.text); };
  observer.on_cost = [print](const std::string& line) { print("costs ", line); };
  return observer;
}

int finish(const Certificate& certificate, bool json, nlohmann::ordered_json out) {
  if (json) {
    out["claims"] = nlohmann::ordered_json::array();
    for (const Claim& claim : certificate.claims) out["claims"].push_back({{"claim", claim.text}, {"holds", claim.holds}});
    out["costs"] = certificate.costs;
    out["all_hold"] = certificate.all_hold();
    print_json(out);
  }
  return certificate.all_hold() ? 0 : 1;
}

int run_certify_ranks(const RankSelfTest& test, bool json) {
  StopSignals& signals = watch_stop_signals();
  signals.all_saved = false;  // signals are passed on to the trials, so that they end, and their folder goes
  try {
    return finish(certify_ranks(test, signals, printing_observer(json)), json, nlohmann::ordered_json::object());
  } catch (const TrialEnded& trial) {
    return trial.exit_code;
  }
}

// The first word may be an override: then there is no recipe.
int run_certify_device(DeviceSelfTest test, bool json) {
  if (test.recipe.find('=') != std::string::npos) {
    test.overrides.insert(test.overrides.begin(), test.recipe);
    test.recipe.clear();
  }
  const Certificate certificate = certify_device(test, printing_observer(json));
  return finish(certificate, json, {{"device", resolve_device(test.device).str()}});
}

}  // namespace

void add_certify_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("certify", "checks the documentation's claims on this machine");
  verb->require_subcommand(1);
  const auto json = std::make_shared<bool>(false);
  auto* ranks = verb->add_subcommand("ranks", "compares training in several processes with training in one; exit 1 if a claim fails");
  auto asked = std::make_shared<RankSelfTest>();
  ranks->add_option("recipe", asked->recipe, "a YAML file, or the name of a recipe (debias list recipes)")->required();
  ranks->add_option("overrides", asked->overrides, "key.sub=value: overrides of the recipe");
  ranks->add_option("--ranks", asked->ranks, "numbers of processes, such as 2,3,4")->delimiter(',')->allow_extra_args(false);
  ranks->add_option("--steps", asked->steps, "number of steps of each trial");
  ranks->add_option("--device", asked->device, "cpu, or cuda with one GPU for each process");
  ranks->add_flag("--json", *json, "one JSON object on standard output");
  ranks->callback([asked, json, &action] { action = [asked, json] { return run_certify_ranks(*asked, *json); }; });
  auto* trial = verb->add_subcommand("trial", "")->group("");  // what the processes of `ranks` run
  auto given = std::make_shared<TrialArguments>();
  trial->add_option("recipe", given->recipe)->required();
  trial->add_option("overrides", given->words);
  trial->add_option("--steps", given->trial.steps);
  trial->add_option("--from", given->trial.from);
  trial->add_option("--out", given->trial.out)->required();
  trial->callback([given, &action] { action = [given] { return run_one_trial(*given); }; });
  auto* device =
      verb->add_subcommand("device", "compares a device with the CPU: objectives, a short training run, memory and time per step");
  auto checked = std::make_shared<DeviceSelfTest>();
  device->add_option("recipe", checked->recipe, "a YAML file, or the name of a recipe (default: a small training run on synthetic shapes)");
  device->add_option("overrides", checked->overrides, "key.sub=value: overrides of the recipe");
  device->add_option("--device", checked->device, "cuda, or cpu to try the command");
  device->add_option("--steps", checked->steps, "number of steps of the short training run");
  device->add_flag("--json", *json, "one JSON object on standard output");
  device->callback([checked, json, &action] { action = [checked, json] { return run_certify_device(*checked, *json); }; });
  verb->footer("Example: debias certify ranks mini/cross_entropy train.batch_size=64 --ranks 2,4");
}

}  // namespace debias
