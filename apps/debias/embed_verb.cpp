#include <fmt/format.h>

#include <filesystem>

#include "apps/debias/judged_run.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/encoders/device.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/features.h"
#include "debias/train/recipe.h"
#include "debias/train/run_folder.h"

namespace debias {
namespace {

struct EmbedArguments {
  std::string run, out;
  DataWords data;
  std::string which = "last", device = "auto";
  bool json = false;
};

std::string csv_field(const std::string& text) {  // RFC 4180
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string sidecar(const Features& features, const Dataset& dataset) {
  std::string text = "filenames,labels\n";
  for (size_t i = 0; i < features.indices.size(); ++i) {
    text += fmt::format("{},{}\n", csv_field(dataset.source(features.indices[i])), features.labels[i]);
  }
  return text;
}

std::string table(const Features& features, const Dataset& dataset) {
  const int64_t D = features.values.size(1);
  std::string text = "filenames";
  for (int64_t d = 0; d < D; ++d) text += fmt::format(",embedding_{}", d);
  text += ",labels\n";
  const float* values = features.values.const_data_ptr<float>();
  for (size_t i = 0; i < features.indices.size(); ++i) {
    text += csv_field(dataset.source(features.indices[i]));
    for (int64_t d = 0; d < D; ++d) text += fmt::format(",{}", *values++);
    text += fmt::format(",{}\n", features.labels[i]);
  }
  return text;
}

int run_embed(const EmbedArguments& arguments) {
  const c10::Device device = resolve_device(arguments.device);
  const LoadedRun run = load_run(arguments.run, arguments.which);
  const Recipe recipe = read_recipe(run.recipe);
  Config section = recipe.test_data;
  if (!arguments.data.name.empty()) {
    section = data_section(arguments.data, "");
  } else if (!arguments.data.words.empty() || !arguments.data.root.empty()) {
    if (section.is_null()) throw usage_error("embed: '{}' has no data.test; give a data set with --data NAME --root DIR", arguments.run);
    if (!arguments.data.root.empty()) section.set("root", Config::string(arguments.data.root));
    for (const auto& word : arguments.data.words) section.assign(word);
  }
  if (section.is_null()) throw usage_error("embed: '{}' has no data.test; give a data set with --data NAME --root DIR", arguments.run);
  if (const Config* root = section.find("root"); root != nullptr && root->is_scalar() && !root->text().empty()) {
    refuse_inside_data(arguments.out, {root->text()});
  }
  const std::shared_ptr<const Dataset> dataset = make_dataset(section);
  run.encoder->to(device);
  const auto progress = terminal_progress();
  Config views = recipe.views_section;
  if (!recipe.eval_views.is_null()) views.set("eval", recipe.eval_views);
  const Features features = extract_features(*run.encoder, dataset, eval_views(views, dataset->info()), ExtractOptions(), *progress);
  const at::Tensor values = features.values.contiguous();
  std::vector<std::string> written;
  if (arguments.out.ends_with(".csv")) {
    write_file_atomically(arguments.out, table(features, *dataset));
    written = {arguments.out};
  } else {
    const std::string stem = arguments.out.ends_with(".npy") ? arguments.out.substr(0, arguments.out.size() - 4) : arguments.out;
    write_npy(stem + ".npy", DType::kFloat32, {values.size(0), values.size(1)}, values.const_data_ptr<float>());
    write_file_atomically(stem + ".csv", sidecar(features, *dataset));
    written = {stem + ".npy", stem + ".csv"};
  }
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::ordered_json({{"count", values.size(0)}, {"dimensions", values.size(1)}, {"files", written}}).dump());
  } else {
    for (const auto& path : written) fmt::print("{}\n", path);
    fmt::print("{} images, {} dimensions, pooled encoder output, not normalised\n", values.size(0), values.size(1));
  }
  return 0;
}

}  // namespace

void add_embed_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("embed", "writes the encoder's pooled output");
  auto arguments = std::make_shared<EmbedArguments>();
  verb->add_option("run", arguments->run, "a run folder or a checkpoint")->required();
  verb->add_option("words", arguments->data.words, "key=value of the data set, such as split=train");
  verb->add_option("--data", arguments->data.name, "embed this data set; without it, the run's test set");
  verb->add_option("--root", arguments->data.root, "its folder");
  verb->add_option("--out", arguments->out, "F.npy (with labels in F.csv), or F.csv for one table")->required();
  verb->add_option("--checkpoint", arguments->which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  verb->add_option("--device", arguments->device, "auto, cpu or cuda");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias embed runs/demo/infonce-1 --out embeddings.npy");
  verb->callback([arguments, &action] { action = [arguments] { return run_embed(*arguments); }; });
}

}  // namespace debias
