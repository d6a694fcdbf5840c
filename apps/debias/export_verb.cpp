#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "apps/debias/judged_run.h"
#include "apps/debias/preprocess.h"
#include "apps/debias/results.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/atomic_file.h"
#include "debias/core/data_folder.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/encoders/onnx_resnet.h"
#include "debias/encoders/state.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSafetensors = "encoder.safetensors";
constexpr const char* kOnnx = "encoder.onnx";
constexpr const char* kPreprocess = "preprocess.json";

struct ExportArguments {
  std::string run, out, format, which = "last";
  bool json = false;
};

std::string folder_of(const ExportArguments& arguments, const LoadedRun& run) {
  if (!arguments.out.empty()) return arguments.out;
  if (run.folder.empty()) throw usage_error("export: checkpoint '{}' lies in no run folder; give --out DIR", run.checkpoint);
  return run.folder + "/exported";
}

// Without --format, all that the encoder has.
std::vector<std::string> files_of(const std::string& format, const Encoder& encoder) {
  const bool has_onnx = dynamic_cast<const ResNet*>(&encoder) != nullptr;
  if (format == "onnx" && !has_onnx) {
    throw usage_error(
        "export: --format onnx: the encoder ('{}') is no single ResNet, and resnet18, resnet34 and resnet50 alone have an ONNX "
        "form here; give --format safetensors",
        encoder.config().find("name")->text());
  }
  if (format == "onnx") return {kOnnx, kPreprocess};
  if (format == "safetensors" || !has_onnx) return {kSafetensors, kPreprocess};
  return {kSafetensors, kOnnx, kPreprocess};
}

void require_known(const std::string& format) {
  const std::vector<std::string> known = {"safetensors", "onnx"};
  if (format.empty() || std::find(known.begin(), known.end(), format) != known.end()) return;
  throw usage_error("export: --format: unknown value '{}'{}", format, suggestion(format, known));
}

// The folder is replaced as a whole, so it may hold nothing but what is written again: nothing of anybody else's, and no file that would
// be gone, or stay beside weights that it does not go with.
void require_earlier_export(const std::string& folder, const std::vector<std::string>& written) {
  if (!fs::is_directory(folder)) return;
  const bool ours = fs::exists(fs::path(folder) / kPreprocess);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool known = name == kSafetensors || name == kOnnx || name == kPreprocess;
    if (!known || !ours) throw usage_error("export: '{}' holds '{}', which no export wrote; give another --out", folder, name);
    if (std::find(written.begin(), written.end(), name) == written.end()) {
      throw usage_error(
          "export: '{}' holds {} of an earlier export, which this one would not write anew; leave out --format, or give another --out",
          folder, name);
    }
  }
}

void write_weights(const std::string& path, const Encoder& encoder) {
  const auto state = named_state(encoder);
  std::vector<torch::Tensor> held;  // what bytes_of() looks at
  std::vector<TensorBytes> tensors;
  for (const auto& [name, tensor] : state) {
    held.push_back(tensor.detach().contiguous());
    tensors.push_back(bytes_of(name, held.back()));
  }
  write_safetensors(path, tensors, {{"format", "pt"}});
}

int run_export_verb(const ExportArguments& arguments) {
  require_known(arguments.format);
  const LoadedRun run = load_run(arguments.run, arguments.which);
  require_image_run(run);
  const std::string folder = folder_of(arguments, run);
  const std::vector<std::string> files = files_of(arguments.format, *run.encoder);
  refuse_inside_data(folder, roots_of(data_of(read_recipe(run.recipe))));
  require_earlier_export(folder, files);

  const Preprocess described = preprocess(run);
  AtomicFolder out(folder, AtomicFolder::Present::kReplace);
  for (const auto& name : files) {
    const std::string path = out.building() + "/" + name;
    if (name == kSafetensors) write_weights(path, *run.encoder);
    if (name == kOnnx) write_file_atomically(path, onnx_model(dynamic_cast<const ResNet&>(*run.encoder)));
    if (name == kPreprocess) write_file_atomically(path, described.json.dump(2) + "\n");
  }
  out.commit();

  for (const auto& remark : described.remarks) terminal_log()->warn(remark);
  std::vector<std::string> paths;
  for (const auto& name : files) paths.push_back((fs::path(folder) / name).string());
  if (arguments.json) {
    print_json({{"folder", folder}, {"files", paths}, {"checkpoint", run.checkpoint}, {"epoch", run.epoch}}, -1);
    return 0;
  }
  for (const auto& path : paths) fmt::print("{}\n", without_control_characters(path));
  fmt::print("the encoder after {} epochs, {} features\n", run.epoch, run.encoder->feature_dim());
  return 0;
}

}  // namespace

void add_export_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("export", "writes an encoder for other programs");
  auto arguments = std::make_shared<ExportArguments>();
  verb->add_option("run", arguments->run, "a run folder or a checkpoint")->required();
  verb->add_option("--format", arguments->format,
                   "safetensors (torchvision's keys) or onnx (ResNets); without it, all that the encoder has");
  verb->add_option("--out", arguments->out, "a folder, new or of an earlier export; RUN/exported without it");
  verb->add_option("--checkpoint", arguments->which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias export runs/first");
  verb->callback([arguments, &action] { action = [arguments] { return run_export_verb(*arguments); }; });
}

}  // namespace debias
