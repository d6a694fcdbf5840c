#include <fmt/format.h>

#include <functional>

#include "apps/debias/judged_run.h"
#include "apps/debias/loss_input.h"
#include "apps/debias/results.h"
#include "apps/debias/run_prior.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

struct PriorArguments {
  std::string run, root, which = "last", device = "auto";
  int64_t images = kPriorImages;
  LossFiles files;
  bool json = false;
};

std::vector<int64_t> integers(const at::Tensor& keys) {
  const auto* first = keys.const_data_ptr<int64_t>();
  return {first, first + keys.numel()};
}

// A second estimate that cannot be made takes nothing from the first.
void add_by_views(std::vector<PriorEstimate>& found, Log& log, const std::function<PriorEstimate()>& estimate) {
  try {
    found.push_back(estimate());
  } catch (const Error& error) {
    if (found.empty()) throw;
    log.warn(error.what());
    return;
  }
  if (found.size() == 1 || found.front().method == PriorMethod::kDraws || found.back().high >= found.front().low) return;
  log.warn("prior: the bound by views is below what the labels say: here views are more alike than images of one class");
}

// Labels first: they know more.
std::vector<PriorEstimate> priors_of_files(const LossFiles& files, Log& log) {
  const ObjectiveInput input = read_loss_input(files, InputKind::kPairs).input;
  std::vector<PriorEstimate> found;
  if (input.labels.defined()) found.push_back(class_prior_from_labels(integers(input.labels)));
  if (input.z.size(1) >= 2) {
    add_by_views(found, log, [&] { return class_prior_from_views(input.z); });
  } else if (found.empty()) {
    throw data_error("{}: one view of each image and no labels; give --labels y.npy, or embeddings [B, V, D] of two views",
                     files.embeddings);
  }
  return found;
}

std::vector<PriorEstimate> priors_of_run(const PriorArguments& arguments, Progress& progress, Log& log) {
  const c10::Device device = resolve_device(arguments.device);
  const LoadedRun run = load_run(arguments.run, arguments.which);
  require_image_run(run);
  JudgedData data;
  const Recipe recipe = read_recipe(run.recipe);
  data.train = recipe.train_data;
  if (!arguments.root.empty()) data.train.set("root", Config::string(arguments.root));
  run.encoder->to(device);
  DataWatch watch(recipe.verify, progress, log);
  const EvaluationInput input = open_for_evaluation(run, data, watch, log);
  std::vector<PriorEstimate> found;
  if (const auto by_labels = prior_by_labels(*input.train, recipe)) found.push_back(*by_labels);
  add_by_views(found, log, [&] { return prior_by_views(input, arguments.images, progress); });
  return found;
}

void print_estimate(const PriorEstimate& estimate) {
  if (estimate.method == PriorMethod::kDraws) {
    fmt::print("tau_plus {:.4f}  from {} labels of {} classes, as the run's sampler draws them\n", estimate.tau_plus, estimate.images,
               estimate.classes);
  } else if (estimate.method == PriorMethod::kLabels) {
    fmt::print("tau_plus {:.4f}  [{:.4f}, {:.4f}]  from {} labels of {} classes\n", estimate.tau_plus, estimate.low, estimate.high,
               estimate.images, estimate.classes);
  } else {
    fmt::print("tau_plus {:.4f}  at most {:.4f}  from two views of {} images, at cosine {:.3f}\n", estimate.tau_plus, estimate.high,
               estimate.images, estimate.threshold);
  }
  for (const auto& assumption : assumptions(estimate.method)) fmt::print("  assumes: {}\n", assumption);
}

int run_prior(const PriorArguments& arguments) {
  if (arguments.run.empty() == arguments.files.embeddings.empty()) {
    throw usage_error("prior: give a run folder or --embeddings z.npy, one of the two");
  }
  if (arguments.files.embeddings.empty() && !arguments.files.labels.empty()) {
    throw usage_error("prior: --labels goes with --embeddings; a run has the labels of its data set");
  }
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  const std::vector<PriorEstimate> found =
      arguments.run.empty() ? priors_of_files(arguments.files, *log) : priors_of_run(arguments, *progress, *log);
  if (arguments.json) {
    nlohmann::ordered_json out = to_json(found.front());
    if (found.size() > 1) out["other"] = to_json(found.back());
    print_json(out);
    return 0;
  }
  for (const auto& estimate : found) print_estimate(estimate);
  return 0;
}

std::string footer() {
  std::string text =
      "tau_plus is the chance that a random negative shares the anchor's class. From labels: the share of pairs that agree, with a 95 %\n"
      "interval. Without labels: the smallest ratio of random pairs to pairs of views above a cosine, with a bound that holds with 95 %.\n";
  for (const auto& [name, method] : EnumNames<PriorMethod>::values) {
    for (const auto& assumption : assumptions(method)) text += fmt::format("By {} it is assumed: {}.\n", name, assumption);
  }
  return text + "Example: debias prior runs/first --json";
}

}  // namespace

void add_prior_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("prior", "estimates tau_plus, the chance that a negative shares the anchor's class");
  auto arguments = std::make_shared<PriorArguments>();
  verb->add_option("run", arguments->run, "a run folder or a checkpoint: labels of its training set, and its encoder's view of it");
  verb->add_option("--embeddings", arguments->files.embeddings, "z.npy [B, V, D] (views, V >= 2), or [N, D] with --labels");
  verb->add_option("--labels", arguments->files.labels, "y.npy [B], integers, -1 unknown");
  verb->add_option("--images", arguments->images, "of a run, at most so many images whose two views are compared (4096)")
      ->check(CLI::Range(kLeastImagesOfViews, int64_t{1} << 20));
  verb->add_option("--root", arguments->root, "where the run's training set lies now");
  verb->add_option("--checkpoint", arguments->which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  verb->add_option("--device", arguments->device, "auto, cpu or cuda");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer(footer());
  verb->callback([arguments, &action] { action = [arguments] { return run_prior(*arguments); }; });
}

}  // namespace debias
