#include <fmt/format.h>

#include "apps/debias/judged_run.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/encoders/device.h"
#include "debias/evaluate/embedding_file.h"
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
  bool accept_data_change = false, json = false;

  DataChange data_change() const { return accept_data_change ? DataChange::kAccept : DataChange::kRefuse; }
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

int run_embed(const EmbedArguments& arguments) {
  const c10::Device device = resolve_device(arguments.device);
  LoadedRun run = load_run(arguments.run, arguments.which);
  const DataWords data = take_recipe_words(arguments.data, run.recipe);
  const Recipe recipe = read_recipe(run.recipe);
  const Config section = embedded_section(run, data);
  for (const auto& path : embedding_paths(arguments.out)) refuse_inside_data(path, roots_of({.train = {}, .valid = {}, .test = section}));
  const auto log = terminal_log();
  const auto progress = terminal_progress();
  DataWatch watch(recipe.verify, *progress, *log);
  std::shared_ptr<const Dataset> dataset = watch.open("test", section);
  const bool is_own = data.name.empty() && data.words.empty();
  if (is_own) require_unchanged(run, watch, arguments.data.words, arguments.data_change(), *log);
  dataset = in_numbers_of(run, std::move(dataset), *log);
  const ViewPipeline views = views_of(recipe, *dataset, data.name.empty());
  run.encoder->to(device);
  const ExtractOptions options = ExtractOptions().workers(recipe.train.workers().value_or(1));
  const Features features = extract_features(*run.encoder, dataset, views, options, *progress);
  const std::vector<std::string> files = write_embeddings(arguments.out, features, *dataset);

  const int64_t N = features.values.size(0), D = features.values.size(1);
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::ordered_json({{"count", N}, {"dimensions", D}, {"files", files}}).dump());
    return 0;
  }
  for (const auto& path : files) fmt::print("{}\n", path);
  fmt::print("{} images, {} dimensions, pooled encoder output, not normalised\n", N, D);
  return 0;
}

}  // namespace

void add_embed_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("embed", "writes the encoder's pooled output");
  auto arguments = std::make_shared<EmbedArguments>();
  verb->add_option("run", arguments->run, "a run folder or a checkpoint")->required();
  verb->add_option("words", arguments->data.words, "key=value of the data set, such as split=train; views.eval=...");
  verb->add_option("--data", arguments->data.name, "embed this data set; without it, the run's test set");
  verb->add_option("--root", arguments->data.root, "its folder");
  verb->add_option("--out", arguments->out, "F or F.npy (names and labels in F.csv), or F.csv for one table")->required();
  verb->add_option("--checkpoint", arguments->which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  verb->add_option("--device", arguments->device, "auto, cpu or cuda");
  verb->add_flag("--accept-data-change", arguments->accept_data_change, "embed data that are not what they were in training");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias embed runs/first --out embeddings.npy");
  verb->callback([arguments, &action] { action = [arguments] { return run_embed(*arguments); }; });
}

}  // namespace debias
