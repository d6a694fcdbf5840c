#include "debias/train/recipe.h"

#include "debias/core/error.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

const std::vector<std::string> kSections = {"name",      "seed",     "data",  "views",    "encoder", "head",    "objective",
                                            "optimizer", "schedule", "train", "evaluate", "output",  "expected"};

const Config& required(const Config& root, const std::string& key) {
  const Config* node = root.find(key);
  if (node == nullptr || node->is_null()) throw usage_error("{}recipe: no '{}' section is given; add one", root.prefix(), key);
  return *node;
}

Config optional(const Config& root, const std::string& key) {
  const Config* node = root.find(key);
  return node == nullptr ? Config() : *node;
}

void read_data(const Config& data, Recipe& recipe) {
  if (!data.is_map()) throw usage_error("{}data: expected a map with `train` (and `valid`, `test`)", data.prefix());
  for (const auto& [key, value] : data.entries()) {
    if (key == "train") {
      recipe.train_data = section_map(value);
    } else if (key == "valid") {
      recipe.valid_data = section_map(value);
    } else if (key == "test") {
      recipe.test_data = section_map(value);
    } else {
      throw usage_error("{}data: unknown key '{}'{}", value.prefix(), key, suggestion(key, {"train", "valid", "test"}));
    }
  }
  if (recipe.train_data.is_null()) throw usage_error("{}data: no `train` is given; add one", data.prefix());
  for (Config* section : {&recipe.valid_data, &recipe.test_data}) {  // held-out images are those the train entry left out
    const Config* split = section->find("split");
    if (split == nullptr || split->text() != "held_out") continue;
    for (const char* key : {"hold_out", "seed"}) {
      const Config* from = recipe.train_data.find(key);
      if (section->find(key) == nullptr && from != nullptr) section->set(key, *from);
    }
  }
}

void read_views(const Config& views, Recipe& recipe) {
  recipe.views_section = views.is_scalar() ? Config::map({{"preset", views}}) : views;
  if (recipe.views_section.is_null()) recipe.views_section = Config::map({{"preset", Config::string("none")}});
  recipe.views_section.set_where(views.where());
  Config own = Config::map();
  for (const auto& key : ViewsOptions::table().names()) {
    if (const Config* value = recipe.views_section.find(key)) own.set(key, *value);
    recipe.views_section.erase(key);
  }
  recipe.views = ViewsOptions::table().read(own, "views");
  if (const Config* eval = recipe.views_section.find("eval")) recipe.eval_views = *eval;
  recipe.views_section.erase("eval");
  if (recipe.views.noise() > 0 && recipe.views.count() < 2) {
    throw usage_error("{}views: noise replaces second views, but count is {}; set count: 2", views.prefix(), recipe.views.count());
  }
}

void read_objective(const Config& node, Recipe& recipe) {
  const std::vector<Config> terms = node.is_sequence() ? node.items() : std::vector<Config>{node};
  if (terms.empty()) throw usage_error("{}objective: the list is empty; give at least one term", node.prefix());
  for (const auto& item : terms) {
    TermRecipe term;
    term.section = section_map(item);
    term.name = section_name(term.section, "objective");
    Config own = Config::map();
    for (const auto& key : TermOptions::table().names()) {
      if (const Config* value = term.section.find(key)) own.set(key, *value);
    }
    term.options = TermOptions::table().read(own, "objective '" + term.name + "'");
    recipe.objective.push_back(std::move(term));
  }
}

void read_evaluate(const Config& node, Recipe& recipe) {
  if (node.is_null()) return;
  if (!node.is_map()) throw usage_error("{}evaluate: expected a map such as {{every: 5, protocols: [knn]}}", node.prefix());
  Config own = Config::map();
  recipe.protocol_options = Config::map();
  for (const auto& [key, value] : node.entries()) {
    if (value.is_map()) {
      recipe.protocol_options.set(key, value);
    } else {
      own.set(key, value);
    }
  }
  own.set_where(node.where());
  recipe.evaluate = EvaluateOptions::table().read(own, "evaluate");
}

}  // namespace

const OptionTable<ViewsOptions>& ViewsOptions::table() {
  static const auto table =
      OptionTable<ViewsOptions>()
          .add("count", &ViewsOptions::count_, Range::closed(1, 64), "views of each image in a batch")
          .add("forward", &ViewsOptions::forward_, "views through the network together or one by one (BatchNorm statistics differ)")
          .add("noise", &ViewsOptions::noise_, Range::closed(0, 1), "share of second views taken from an image of another class");
  return table;
}

const OptionTable<TrainOptions>& TrainOptions::table() {
  static const auto table =
      OptionTable<TrainOptions>()
          .add("epochs", &TrainOptions::epochs_, Range::closed(1, 1e6), "passes over the training set")
          .add("batch_size", &TrainOptions::batch_size_, Range::closed(1, 1 << 20), "images of a step, before views")
          .add("drop_last", &TrainOptions::drop_last_, "leave out the last batch when it is short")
          .add("micro_batch", &TrainOptions::micro_batch_, Range::closed(1, 1 << 20),
               "images a forward pass holds; the loss still sees the whole batch, BatchNorm only the part")
          .add("precision", &TrainOptions::precision_, "of the network; losses are computed in fp32")
          .add("device", &TrainOptions::device_, "auto, cpu or cuda")
          .add("threads", &TrainOptions::threads_, Range::closed(1, 4096), "of the tensor library")
          .add("workers", &TrainOptions::workers_, Range::closed(0, 1024), "threads that make views; 0: none of their own")
          .add("prefetch", &TrainOptions::prefetch_, Range::closed(1, 64), "batches ready ahead")
          .add("channels_last", &TrainOptions::channels_last_, "memory format of images in the network")
          .add("checkpoint_every", &TrainOptions::checkpoint_every_, Range::at_least(0),
               "seconds between checkpoints inside an epoch; 0: none")
          .add("log_every", &TrainOptions::log_every_, Range::closed(1, 1e9), "steps between lines of metrics.jsonl")
          .check([](const TrainOptions& options, const std::string& what) {
            const std::string& device = options.device();
            if (device != "auto" && device != "cpu" && device != "cuda") {
              throw usage_error("{}: device: unknown value '{}'{}", what, device, suggestion(device, {"auto", "cpu", "cuda"}));
            }
          });
  return table;
}

const OptionTable<EvaluateOptions>& EvaluateOptions::table() {
  static const auto table =
      OptionTable<EvaluateOptions>()
          .add("every", &EvaluateOptions::every_, Range::closed(1, 1e6), "epochs between evaluations")
          .add("protocols", &EvaluateOptions::protocols_, "what to run, such as [knn]")
          .add("select", &EvaluateOptions::select_, "metric on valid whose best epoch is kept as `best`")
          .check([](const EvaluateOptions& options, const std::string& what) {
            if (!options.select().empty() && !options.select().starts_with("valid.")) {
              throw usage_error("{}: select: '{}' is not a metric on valid; use valid.knn_acc1 or the like", what, options.select());
            }
          });
  return table;
}

const OptionTable<TermOptions>& TermOptions::table() {
  static const auto table = OptionTable<TermOptions>()
                                .add("weight", &TermOptions::weight_, Range::any(), "factor of the term in the sum")
                                .add("on", &TermOptions::on_, "what the term reads");
  return table;
}

const std::vector<std::string>& views_keys() {
  static const std::vector<std::string> keys = {"count", "forward", "noise", "eval"};
  return keys;
}

Recipe read_recipe(const Config& root) {
  if (!root.is_map()) throw usage_error("{}recipe: expected sections such as data, encoder, objective", root.prefix());
  for (const auto& [key, value] : root.entries()) {
    if (std::find(kSections.begin(), kSections.end(), key) == kSections.end()) {
      throw usage_error("{}recipe: unknown section '{}'{}", value.prefix(), key, suggestion(key, kSections));
    }
  }
  Recipe recipe;
  const std::string what = "recipe";
  recipe.name = optional(root, "name").text();
  if (const Config* seed = root.find("seed")) {
    recipe.seed = static_cast<uint64_t>(options_detail::Field<int64_t>::parse(*seed, Range::at_least(0), "recipe: seed"));
  }
  read_data(required(root, "data"), recipe);
  read_views(optional(root, "views"), recipe);
  recipe.encoder = section_map(required(root, "encoder"));
  recipe.head = section_map(optional(root, "head"));
  read_objective(required(root, "objective"), recipe);
  recipe.optimizer = section_map(optional(root, "optimizer"));
  if (recipe.optimizer.is_null()) recipe.optimizer = Config::map({{"name", Config::string("adam")}});
  recipe.schedule = section_map(optional(root, "schedule"));
  recipe.train = TrainOptions::table().read(optional(root, "train"), "train");
  read_evaluate(optional(root, "evaluate"), recipe);
  recipe.output = optional(root, "output").text();
  recipe.expected = optional(root, "expected");
  if (recipe.train.micro_batch() && *recipe.train.micro_batch() > recipe.train.batch_size()) {
    throw usage_error("train: micro_batch: {} is larger than batch_size {}", *recipe.train.micro_batch(), recipe.train.batch_size());
  }
  return recipe;
}

Config with_defaults(const Config& section, const std::vector<OptionSpec>& specs) {
  Config result = section_map(section);
  const Config* variant = result.find("variant");
  for (const auto& spec : specs) {
    if (result.find(spec.name) != nullptr) continue;
    const auto value = variant == nullptr ? spec.variants.end() : spec.variants.find(variant->text());
    result.set(spec.name, value == spec.variants.end() ? spec.default_value : value->second);
  }
  return result;
}

}  // namespace debias
