#include <ATen/ATen.h>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/human_units.h"
#include "debias/core/paths.h"
#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "debias/process/terminal.h"
#include "debias/runs/loss_evaluation.h"
#include "debias/runtime/device.h"

namespace debias {

namespace {

struct LossArguments {
  std::string objective;
  LossFiles files;
  std::vector<std::string> words;  // of --set
  std::string normalize = "true", engine = "auto", device = "cpu";
  std::string precision, variant, memory_budget, gradient_out, per_anchor_out;
  int64_t repeat = 0, threads = 0;
  bool json = false;
};

template <class E>
E parsed(const std::string& flag, const std::string& word) {
  return read_value<E>(Config::scalar(word), "loss: " + flag);
}

std::unique_ptr<Objective> configured(const ObjectiveEntry& entry, const LossArguments& arguments) {
  Config term = Config::map();
  for (const auto& word : arguments.words) term.assign(word);
  if (!arguments.variant.empty()) term.set("variant", Config::scalar(arguments.variant));
  return entry.make(term, {});
}

void check_flags(const ObjectiveEntry& entry, const LossArguments& arguments) {
  if (parsed<Engine>("--engine", arguments.engine) == Engine::kFused && !has_fused_engine(entry)) {
    throw usage_error("loss: '{}' has no fused backend, only the dense one; give --engine dense or auto", entry.name);
  }
  require_loss_files(entry, arguments.files);
}

c10::Device device_of(const std::string& name) {
  if (name != "cpu" && name != "cuda") throw usage_error("loss: --device: unknown value '{}'; give cpu or cuda", name);
  return resolve_device(name);
}

void check_dense_memory(const ObjectiveInput& input, InputKind kind, const std::optional<int64_t>& budget) {
  const double needed = dense_bytes(input, kind);
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > machine) {
    throw resource_error("loss: the dense backend for {} samples needs about {:.3g} GB, this machine has {:.3g} GB; give fewer samples",
                         input.z.size(0), needed / 1e9, machine / 1e9);
  }
  if (budget && needed > static_cast<double>(*budget)) {
    terminal_log()->warn(fmt::format("loss: the dense backend needs about {:.3g} MB, more than the --memory-budget of {:.3g} MB",
                                     needed / 1e6, static_cast<double>(*budget) / 1e6));
  }
}

int run_loss(const LossArguments& arguments) {
  const c10::Device device = device_of(arguments.device);
  const ObjectiveEntry& entry = find_entry(objective_registry(), arguments.objective, "objective", "loss: ");
  check_flags(entry, arguments);
  const LossFiles& files = arguments.files;
  refuse_overwriting(
      "loss", {arguments.gradient_out, arguments.per_anchor_out},
      {files.embeddings, files.labels, files.bias, files.weights, files.prior, files.ids, files.keys, files.key_labels, files.key_ids});
  const auto normalize = parsed<Normalize>("--normalize", arguments.normalize);
  std::optional<int64_t> budget;
  if (!arguments.memory_budget.empty()) budget = parse_byte_size(arguments.memory_budget, "loss: --memory-budget");
  const auto objective = configured(entry, arguments);

  auto [input, file_shape] = read_loss_input(arguments.files, entry.kind);
  if (normalize == Normalize::kAssert && entry.kind != InputKind::kLogits) assert_unit_rows(input.z, arguments.files.embeddings);
  LossEvaluationOptions options;
  options.precision = input.z.scalar_type() == at::kDouble ? LossPrecision::kFp64 : LossPrecision::kFp32;
  if (!arguments.precision.empty()) options.precision = parsed<LossPrecision>("--precision", arguments.precision);
  options.normalize = normalize == Normalize::kTrue && entry.kind != InputKind::kLogits;
  options.repeat = arguments.repeat;
  input.z = input.z.to(device, options.precision == LossPrecision::kFp64 ? at::kDouble : at::kFloat);
  input.engine = parsed<Engine>("--engine", arguments.engine);
  if (budget) input.memory_budget = *budget;
  if (input.keys.defined()) {
    input.keys = input.keys.to(input.z.options());
    if (options.normalize) input.keys = normalized_rows(input.keys);
    if (normalize == Normalize::kAssert) assert_unit_rows(input.keys.unsqueeze(1), arguments.files.keys);
  }
  // Regularisers by group moments take any dtype.
  const bool rows = input.z.is_cpu() && options.precision != LossPrecision::kFp64 && !input.keys.defined();
  if (input.engine == Engine::kFused && entry.kind == InputKind::kPairs && !rows) {
    throw usage_error(
        "loss: the fused backend takes float32 on the CPU without keys, found {} on {}{}; give --precision fp32, --engine auto, blocked or "
        "dense",
        enum_name(options.precision), arguments.device, input.keys.defined() ? " with keys" : "");
  }
  check_dense_memory(input, entry.kind, budget);
  if (arguments.threads > 0) use_threads(arguments.threads);

  const LossEvaluation evaluation = evaluate_loss(*objective, input, options);
  write_loss_outputs(evaluation, {arguments.gradient_out, arguments.per_anchor_out}, file_shape);
  const LossRun run = {entry.name, std::string(enum_name(evaluation.result.engine)), arguments.device, options.precision};
  arguments.json ? print_json(loss_json(evaluation, run)) : print_lines(loss_text(evaluation, run));
  return 0;
}

}  // namespace

void add_loss_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("loss", "computes the value and the gradient of an objective on embeddings from a file");
  auto arguments = std::make_shared<LossArguments>();
  const auto text = [&](const char* flag, std::string& target, const char* meaning, const char* type) {
    return verb->add_option(flag, target, meaning)->option_text(type);
  };
  text("--objective", arguments->objective, "name of the objective (debias list objectives)", "NAME")->required();
  text("--embeddings", arguments->files.embeddings, "embeddings: float [B,V,D], or [N,D] for one view", "NPY")->required();
  text("--labels", arguments->files.labels, "labels: integers [B], -1 = unknown", "NPY");
  text("--bias", arguments->files.bias, "bias labels: integers [B]", "NPY");
  text("--weights", arguments->files.weights, "bias features [B,F]", "NPY");
  text("--ids", arguments->files.ids, "sample ids [B]; embeddings with the same id are not negatives", "NPY");
  text("--keys", arguments->files.keys, "keys [K,D]: embeddings are compared with them, not with each other", "NPY");
  text("--key-labels", arguments->files.key_labels, "labels of the keys: integers [K], -1 = unknown", "NPY");
  text("--key-ids", arguments->files.key_ids, "sample ids of the keys [K], -1 = no sample", "NPY");
  text("--prior", arguments->files.prior, "prior P(y|b), [C,G]", "NPY");
  verb->add_option("--set", arguments->words, "an option of the objective")->option_text("KEY=VALUE")->allow_extra_args(false);
  text("--variant", arguments->variant,
       "set of defaults: stable (alias: default), the paper's text, or its released code: authors (alias: original_code)",
       "stable|paper|authors");
  text("--normalize", arguments->normalize, "L2-normalise embeddings and keys", "true|assert|false");
  text("--engine", arguments->engine, "backend of the sums over pairs", "auto|fused|blocked|dense");
  text("--precision", arguments->precision, "precision of the sums; default: the file's", "fp32|bf16|fp64");
  text("--device", arguments->device, "device of the computation", "cpu|cuda");
  text("--memory-budget", arguments->memory_budget, "memory budget of the fused backend (256MB)", "SIZE");
  text("--grad-out", arguments->gradient_out, "file for the gradient, with the shape of the embeddings", "NPY");
  text("--per-anchor-out", arguments->per_anchor_out, "file for the loss of each anchor", "NPY");
  verb->add_option("--repeat", arguments->repeat, "time R more runs and report the medians")
      ->option_text("R")
      ->check(CLI::Range(0, 1000000));
  verb->add_option("--threads", arguments->threads, "number of CPU threads")->option_text("T")->check(CLI::Range(1, 4096));
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias loss --objective debiased_negatives --embeddings z.npy --set tau_plus=0.1 --json");
  verb->callback([arguments, &action] { action = [arguments] { return run_loss(*arguments); }; });
}

}  // namespace debias
