#include "debias/train/recipe.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "debias/train/method.h"

namespace debias {
namespace {

const std::vector<std::string> kSections = {"name",   "seed",    "data",      "views",    "encoder", "head",     "objective", "classifier",
                                            "method", "sampler", "optimizer", "schedule", "train",   "evaluate", "output",    "expected"};

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
    } else if (key == "on_error") {
      recipe.on_error = options_detail::Field<OnError>::parse(value, Range::any(), "data: on_error");
    } else if (key == "decode") {
      recipe.decode = options_detail::Field<Decode>::parse(value, Range::any(), "data: decode");
    } else if (key == "verify") {
      recipe.verify = options_detail::Field<Verify>::parse(value, Range::any(), "data: verify");
    } else {
      throw usage_error("{}data: unknown key '{}'{}", value.prefix(), key,
                        suggestion(key, {"train", "valid", "test", "on_error", "decode", "verify"}));
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

// Of a registered method; one of the caller's own is not known yet.
bool scores_products(const Recipe& recipe) {
  const std::string name = section_name(recipe.method, "method", "simclr");
  return std::ranges::any_of(method_registry(), [&](const MethodEntry& entry) {
    return entry.scores_products && (entry.name == name || std::ranges::find(entry.aliases, name) != entry.aliases.end());
  });
}

TermRecipe read_term(const Config& item, const Recipe& recipe) {
  TermRecipe term;
  term.section = section_map(item);
  term.name = section_name(term.section, "objective");
  const auto& entry = find_entry(objective_registry(), term.name, "objective", term.section.prefix());
  if (scores_products(recipe)) set_product_defaults(term.section, entry);
  for (const auto& [key, value] : term.section.entries()) {
    if (!value.is_map()) continue;
    if (is_option_source(value)) {
      term.sources.push_back(read_option_source(key, entry, term.section));
      continue;
    }
    term.schedules.push_back({key, make_value_schedule(value, fmt::format("objective '{}': {}", entry.name, key), recipe.train.epochs())});
  }
  const bool reads_logits = entry.kind == InputKind::kLogits;
  if (reads_logits && term.section.find("on") == nullptr)
    term.section.set("on", options_detail::Field<TermInput>::emit(TermInput::kLogits));
  term.options = term.options_at(0);
  const std::string prefix = term.section.prefix();
  if (reads_logits && term.options.on() != TermInput::kLogits) {
    throw usage_error("{}objective '{}' works on logits; write on: logits, or leave `on` out", prefix, entry.name);
  }
  if (term.options.on() == TermInput::kLogits && (!recipe.classifier || recipe.classifier->gradient() != ClassifierGradient::kFlow)) {
    throw usage_error("{}objective '{}' reads logits; add classifier: {{name: linear, gradient: flow}}{}", prefix, entry.name,
                      recipe.classifier ? " (it is gradient: stop)" : "");
  }
  return term;
}

void read_objective(const Config& node, Recipe& recipe) {
  const std::vector<Config> terms = node.is_sequence() ? node.items() : std::vector<Config>{node};
  if (terms.empty()) throw usage_error("{}objective: the list is empty; give at least one term", node.prefix());
  for (const auto& item : terms) recipe.objective.push_back(read_term(item, recipe));
}

void read_classifier(const Config& node, Recipe& recipe) {
  if (node.is_null()) return;
  const Config section = section_map(node);
  const std::string name = section_name(section, "classifier");
  if (name != "linear") throw usage_error("{}unknown classifier '{}'{}", section.prefix(), name, suggestion(name, {"linear"}));
  ClassifierOptions options = ClassifierOptions::table().read(section, "classifier 'linear'", {"name"});
  const bool headless = recipe.head.is_null() || section_name(recipe.head, "head") == "none";
  if (!options.normalize()) options.normalize(headless);
  if (!options.learning_rate() && options.gradient() == ClassifierGradient::kStop) options.learning_rate(1e-3);
  recipe.classifier = options;
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
  recipe.train = TrainOptions::table().read(optional(root, "train"), "train");
  read_classifier(optional(root, "classifier"), recipe);
  recipe.method = section_map(optional(root, "method"));
  read_objective(required(root, "objective"), recipe);
  recipe.sampler = section_map(optional(root, "sampler"));
  recipe.optimizer = section_map(optional(root, "optimizer"));
  if (recipe.optimizer.is_null()) recipe.optimizer = Config::map({{"name", Config::string("adam")}});
  recipe.schedule = section_map(optional(root, "schedule"));
  read_evaluate(optional(root, "evaluate"), recipe);
  recipe.output = optional(root, "output").text();
  recipe.expected = optional(root, "expected");
  if (recipe.train.micro_batch() && *recipe.train.micro_batch() > recipe.train.batch_size()) {
    throw usage_error("train: micro_batch: {} is larger than batch_size {}", *recipe.train.micro_batch(), recipe.train.batch_size());
  }
  return recipe;
}

Config TermRecipe::section_at(int64_t epoch, const std::map<std::string, double>& estimates) const {
  Config at_epoch = section;
  const auto set = [&](const std::string& option, double number) {
    Config value = Config::number(number);
    value.set_where(section.find(option)->where());
    at_epoch.set(option, std::move(value));
  };
  for (const auto& [option, schedule] : schedules) set(option, schedule->value(epoch));
  for (const auto& sourced : sources) {
    const auto estimate = estimates.find(sourced.option);
    set(sourced.option, estimate == estimates.end() ? sourced.start : estimate->second);
  }
  return at_epoch;
}

TermOptions TermRecipe::options_at(int64_t epoch) const {
  const Config at_epoch = section_at(epoch);
  Config own = Config::map();
  for (const auto& key : TermOptions::table().names()) {
    if (const Config* value = at_epoch.find(key)) own.set(key, *value);
  }
  return TermOptions::table().read(own, "objective '" + name + "'");
}

std::string rounding(const TrainOptions& options) {
  const bool network = options.precision() == Precision::kBf16, losses = options.loss_precision() == Precision::kBf16;
  return fmt::format(
      "network {}; losses {}",
      network ? "bfloat16 (inputs and results of its convolutions and products; weights and their updates stay float32)" : "float32",
      losses ? "float32, but rows and pair weights rounded to bfloat16 where they are multiplied, on machines that gain by it" : "float32");
}

Config with_defaults(const Config& section, const std::vector<OptionSpec>& specs) {
  Config result = section_map(section);
  const Config* variant = result.find("variant");
  for (const auto& spec : specs) {
    if (result.find(spec.name) != nullptr || spec.default_value.is_null()) continue;  // without a default: left out
    const auto value = variant == nullptr ? spec.variants.end() : spec.variants.find(variant->text());
    result.set(spec.name, value == spec.variants.end() ? spec.default_value : value->second);
  }
  return result;
}

}  // namespace debias
