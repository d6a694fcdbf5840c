#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/process/terminal.h"
#include "debias/runs/run_export.h"

namespace debias {
namespace {

struct ExportArguments {
  std::string run, out, format, which = "last";
  bool json = false;
};

ExportFormat format_named(const std::string& word) {
  if (word.empty()) return ExportFormat::kAll;
  if (word == "safetensors") return ExportFormat::kSafetensors;
  if (word == "onnx") return ExportFormat::kOnnx;
  throw usage_error("export: --format: unknown value '{}'{}", word, suggestion(word, {"safetensors", "onnx"}));
}

int run_export_verb(const ExportArguments& arguments) {
  const ExportedFiles files = export_run(
      {.run = arguments.run, .out = arguments.out, .which = arguments.which, .format = format_named(arguments.format)}, *terminal_log());
  const bool is_run = !files.checkpoint.empty();
  if (arguments.json) {
    nlohmann::ordered_json out = {{"folder", files.folder}, {"files", files.paths}};
    if (is_run) out.update({{"checkpoint", files.checkpoint}, {"epoch", files.epoch}});
    print_json(out, -1);
    return 0;
  }
  for (const auto& path : files.paths) fmt::print("{}\n", without_control_characters(path));
  if (is_run) fmt::print("the encoder after {} epochs, {} features\n", files.epoch, files.features);
  return 0;
}

}  // namespace

void add_export_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("export", "writes an encoder for other programs");
  auto arguments = std::make_shared<ExportArguments>();
  verb->add_option("run", arguments->run, "a run folder, a folder of debias fix, or a checkpoint")->required();
  verb->add_option("--format", arguments->format,
                   "safetensors (torchvision's keys) or onnx (ResNets); default: all that the encoder supports");
  verb->add_option("--out", arguments->out, "output folder, new or from an earlier export (RUN/exported)");
  verb->add_option("--checkpoint", arguments->which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias export runs/first");
  verb->callback([arguments, &action] { action = [arguments] { return run_export_verb(*arguments); }; });
}

}  // namespace debias
