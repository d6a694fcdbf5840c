#include <fmt/format.h>

#include <optional>
#include <set>

#include "apps/debias/bias_features.h"
#include "apps/debias/embedded_layer.h"
#include "apps/debias/judged_run.h"
#include "apps/debias/output_path.h"
#include "apps/debias/results.h"
#include "apps/debias/sentence_verbs.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/data_folder.h"
#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/data/data_roots.h"
#include "debias/data/dataset_registry.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/features.h"
#include "debias/evaluate/name_file.h"
#include "debias/runtime/device.h"
#include "debias/train/recipe.h"

namespace debias {
namespace {

struct EmbedArguments {
  std::string run, out, text, expand, encoding = "utf8";
  DataWords data;
  std::string layer = "encoder", which = "last", device = "auto";
  bool bias_features = false, accept_data_change = false, raw = false, json = false;

  DataChange data_change() const { return accept_data_change ? DataChange::kAccept : DataChange::kRefuse; }
  CsvCells cells() const { return raw ? CsvCells::kRaw : CsvCells::kGuarded; }
};

// The data set that --data names, else the run's test set with the words laid over it.
Config embedded_section(const LoadedRun& run, const DataWords& data) {
  if (!data.name.empty()) return named_section(data, "");
  Config section = judged_data(run, data).test;
  for (const auto& word : data.words) section.assign(word);
  return section;
}

// What the encoder was trained with: the resolved recipe says it; one that does not means the constants of its own training set.
ViewPipeline views_of(const Recipe& recipe, const Dataset& embedded, bool is_own) {
  Config views = recipe.views_section;
  if (!recipe.eval_views.is_null()) views.set("eval", recipe.eval_views);
  if (views.find("normalize") != nullptr || !is_own) return eval_views(views, embedded.info());
  return eval_views(views, make_dataset(recipe.train_data)->info());
}

// `views.eval=...`, `data.test.root=DIR` and `evaluate.unknown_classes=...` change the recipe; the other words are the data set's.
DataWords take_recipe_words(DataWords data, Config& recipe) {
  const auto is_recipes = [](const std::string& word) {
    return word.starts_with("views.") || word.starts_with("data.") || word.starts_with("evaluate.");
  };
  for (const auto& word : data.words) {
    if (is_recipes(word)) recipe.assign(word);
  }
  std::erase_if(data.words, is_recipes);
  return data;
}

constexpr const char* kLayerWords[] = {"pooled encoder output", "head output"};

int print_bias_features(const EmbedArguments& arguments, const Features& features, const Dataset& dataset, const std::string& path) {
  const BiasFeatureFile file = write_bias_features(path, features, dataset);
  const int64_t F = features.values.size(1);
  if (arguments.json) {
    const nlohmann::ordered_json result = {{"count", file.rows},
                                           {"dimensions", F},
                                           {"files", std::vector<std::string>{file.path}},
                                           {"layer", arguments.layer},
                                           {"empty_rows", file.empty_rows}};
    print_json(result, -1);
    return 0;
  }
  const std::string shown = without_control_characters(file.path);
  fmt::print("{}\n{} rows by sample id, {} dimensions{}\n", shown, file.rows, F,
             file.empty_rows == 0 ? "" : fmt::format("; {} rows of images that are not in the set are zero", file.empty_rows));
  fmt::print("next: bias_features: {} in an objective of the debiased recipe\n", shown);
  return 0;
}

std::vector<std::string> outputs_of(const EmbedArguments& arguments, const std::string& bias_path) {
  if (arguments.bias_features) return {bias_path};
  std::vector<std::string> paths = embedding_paths(arguments.out);
  paths.push_back(name_path(arguments.out));
  return paths;
}

// What the data are read from, and all that the run consists of.
std::vector<std::string> inputs_of(const LoadedRun& run, const Config& section) {
  std::vector<std::string> inputs = files_named_in(section);
  const std::vector<std::string> kept = run_files(run);
  inputs.insert(inputs.end(), kept.begin(), kept.end());
  return inputs;
}

// What is for images is not passed over in silence.
void refuse_beside_text(const CLI::App& verb) {
  const std::set<std::string> taken = {"run", "--text", "--out", "--expand", "--encoding", "--checkpoint", "--json", "--help"};
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0 || taken.contains(option->get_name())) continue;
    throw usage_error("embed: --text does not take {}; it goes with --out, --expand, --encoding, --checkpoint and --json alone",
                      option->get_name());
  }
}

int run_text_embed(const EmbedArguments& arguments) {
  return embed_text({.run = arguments.run,
                     .text = arguments.text,
                     .out = arguments.out,
                     .which = arguments.which,
                     .expand = arguments.expand,
                     .encoding = arguments.encoding,
                     .json = arguments.json});
}

int run_embed(const EmbedArguments& arguments) {
  if (!arguments.text.empty()) return run_text_embed(arguments);
  if (!arguments.expand.empty()) throw usage_error("embed: --expand is for the words of --text FILE; add it");
  const Layer layer = layer_named(arguments.layer);
  const std::string bias_path = arguments.bias_features ? bias_feature_path(arguments.out) : "";
  const c10::Device device = resolve_device(arguments.device);
  LoadedRun run = load_run(arguments.run, arguments.which);
  require_image_run(run);
  const DataWords data = take_recipe_words(arguments.data, run.recipe);
  const Recipe recipe = read_recipe(run.recipe);
  const auto network = embedded_layer(run, layer);
  const Config section = arguments.bias_features ? training_section(run, data) : embedded_section(run, data);
  const std::vector<std::string> roots = roots_of(section);
  for (const auto& path : embedding_paths(arguments.out)) refuse_inside_data(path, roots);
  refuse_overwriting("embed", outputs_of(arguments, bias_path), inputs_of(run, section));
  const auto log = terminal_log();
  const auto progress = terminal_progress();
  DataWatch watch(recipe.verify, *progress, *log);
  std::shared_ptr<const Dataset> dataset = watch.open(arguments.bias_features ? "train" : "test", section);
  const bool is_own = data.name.empty() && data.words.empty();
  if (is_own) require_unchanged(run, watch, arguments.data.words, arguments.data_change(), *log);
  dataset = in_numbers_of(run, std::move(dataset), *log);
  const ViewPipeline views = views_of(recipe, *dataset, data.name.empty());
  network->to(device);
  const ExtractOptions options = ExtractOptions().workers(recipe.train.workers().value_or(1));
  const Features features = extract_features(*network, dataset, views, options, *progress);
  if (arguments.bias_features) return print_bias_features(arguments, features, *dataset, bias_path);
  const std::vector<std::string> files = write_embeddings(arguments.out, features, *dataset, arguments.cells());
  const std::optional<std::string> names = write_names(arguments.out, features, *dataset, arguments.cells());

  const int64_t N = features.values.size(0), D = features.values.size(1);
  if (arguments.json) {
    nlohmann::ordered_json result = {{"count", N}, {"dimensions", D}, {"files", files}, {"layer", arguments.layer}};
    if (names) result["names"] = *names;
    print_json(result, -1);
    return 0;
  }
  for (const auto& path : files) fmt::print("{}\n", without_control_characters(path));
  if (names) fmt::print("{}\n", without_control_characters(*names));
  fmt::print("{} images, {} dimensions, {}, not normalised\n", N, D, kLayerWords[static_cast<size_t>(layer)]);
  return 0;
}

}  // namespace

void add_embed_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("embed", "writes what the network makes of images, or of the lines of a text");
  auto arguments = std::make_shared<EmbedArguments>();
  verb->add_option("run", arguments->run, "a run folder or a checkpoint")->required();
  verb->add_option("words", arguments->data.words, "key=value of the data set, such as split=train; views.eval=...");
  verb->add_option("--data", arguments->data.name, "embed this data set; without it, the run's test set");
  verb->add_option("--root", arguments->data.root, "its folder");
  verb->add_option("--out", arguments->out, "F or F.npy (labels in F.csv, names in F.names.csv), or F.csv for one table")->required();
  verb->add_option("--text", arguments->text, "of a run on sentences: a file with a sentence on every line");
  verb->add_option("--expand", arguments->expand, "with --text: file of word vectors, for words that the run does not know");
  verb->add_option("--encoding", arguments->encoding, "of --text: utf8 or latin1")
      ->check(CLI::IsMember({"utf8", "latin1"}))
      ->option_text("NAME");
  verb->add_option("--layer", arguments->layer, "encoder (its pooled output) or projection (the head's output)");
  verb->add_flag("--bias-features", arguments->bias_features, "of the training set, row = sample id: for `bias_features` of an objective");
  verb->add_option("--checkpoint", arguments->which, "last, best or previous")
      ->check(CLI::IsMember({"last", "best", "previous"}))
      ->option_text("NAME");
  verb->add_option("--device", arguments->device, "auto, cpu or cuda");
  verb->add_flag("--accept-data-change", arguments->accept_data_change, "embed data that are not what they were in training");
  verb->add_flag("--raw", arguments->raw, "CSV: names as they are, also those that a spreadsheet would run (=1+1)");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias embed runs/first --out embeddings.npy");
  verb->callback([arguments, verb, &action] {
    if (!arguments->text.empty()) refuse_beside_text(*verb);
    action = [arguments] { return run_embed(*arguments); };
  });
}

}  // namespace debias
