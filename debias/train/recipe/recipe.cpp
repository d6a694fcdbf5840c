#include "debias/train/recipe/recipe.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "debias/augment/view_pipeline.h"
#include "debias/core/error.h"
#include "debias/core/option_mistakes.h"
#include "debias/core/recipe_keys.h"
#include "debias/core/registry.h"
#include "debias/data/dataset_registry.h"
#include "debias/encoders/encoder.h"
#include "debias/train/methods/method.h"
#include "debias/train/recipe/recipe_sections.h"

namespace debias {
namespace {

const Config& required(const Config& root, const std::string& key) {
  const Config* node = root.find(key);
  if (node == nullptr || node->is_null()) throw usage_error("{}recipe: no '{}' section is given; add one", root.prefix(), key);
  return *node;
}

Config optional(const Config& root, const std::string& key) {
  const Config* node = root.find(key);
  return node == nullptr ? Config() : *node;
}

std::string text_of(const Config& section, const char* key, const char* otherwise = "") {
  const Config* value = section.find(key);
  return value == nullptr || !value->is_scalar() ? otherwise : value->text();
}

// Images that another seed holds out of the same set are images that are trained on.
void require_held_out_seed(const Config& section, const Config& train) {
  const auto is_same = [&](const char* key) { return text_of(section, key) == text_of(train, key); };
  const std::string seed = text_of(section, "seed", "0"), of_train = text_of(train, "seed", "0");
  if (text_of(section, "split") != "held_out" || !is_same("name") || !is_same("root") || seed == of_train) return;
  throw usage_error("{}data: split held_out with seed {} has images that data.train, with seed {}, trains on; leave its seed out",
                    section.prefix(), seed, of_train);
}

struct DataSections {
  Config train, valid, test;  // null where absent
};

void read_data_key(const std::string& key, const Config& value, DataSections& sections, Recipe& recipe) {
  if (key == "train") {
    sections.train = section_map(value);
  } else if (key == "valid") {
    sections.valid = section_map(value);
  } else if (key == "test") {
    sections.test = section_map(value);
  } else if (key == "on_error") {
    recipe.on_error = read_value<OnError>(value, "data: on_error");
  } else if (key == "decode") {
    recipe.decode = read_value<Decode>(value, "data: decode");
  } else if (key == "verify") {
    recipe.verify = read_value<Verify>(value, "data: verify");
  } else if (key == "must_link") {
    recipe.must_link = MustLink::from_config(value);
  } else if (key == "groups") {
    recipe.groups = read_value<GroupMates>(value, "data: groups");
  } else {
    throw usage_error("{}data: unknown key '{}'{}", value.prefix(), key,
                      suggestion(key, {"train", "valid", "test", "must_link", "groups", "on_error", "decode", "verify"}));
  }
}

// Held-out images are those that the train entry left out: what says which, and where they are, need not be written twice.
void take_held_out_keys(const Config& train, Config& section) {
  const Config *split = section.find("split"), *name = section.find("name"), *own = train.find("name");
  if (split == nullptr || split->text() != "held_out") return;
  if (name != nullptr && own != nullptr && *name != *own) return;
  for (const char* key : {"name", "root", "labels", "hold_out", "seed"}) {
    const Config* from = train.find(key);
    if (section.find(key) == nullptr && from != nullptr) section.set(key, *from);
  }
}

bool reads_texts(const Config& section) {
  const DatasetEntry* entry = find_dataset(text_of(section, "name"));
  return entry != nullptr && entry->samples == SampleKind::kSentences;
}

// Texts are read as those of training, unless their section says otherwise.
void take_text_options(const Config& train, Config& section) {
  if (!reads_texts(train) || !reads_texts(section)) return;
  for (const char* key : {"vocabulary", "lowercase", "max_tokens", "format", "encoding"}) {
    const Config* from = train.find(key);
    if (section.find(key) == nullptr && from != nullptr) section.set(key, *from);
  }
}

void read_data_sets(const Config& data, Recipe& recipe) {
  if (!data.is_map()) throw usage_error("{}data: expected a map with `train` (and `valid`, `test`)", data.prefix());
  Mistakes mistakes;
  DataSections sections;
  for (const auto& [key, value] : data.entries()) {
    mistakes.collect([&, &key = key, &value = value] { read_data_key(key, value, sections, recipe); });
  }
  if (sections.train.is_null()) {
    mistakes.throw_if_any();
    throw usage_error("{}data: no `train` is given; add one", data.prefix());
  }
  for (Config* section : {&sections.valid, &sections.test}) {
    take_held_out_keys(sections.train, *section);
    take_text_options(sections.train, *section);
  }
  for (const Config* section : {&sections.valid, &sections.test}) {
    mistakes.collect([&] { require_held_out_seed(*section, sections.train); });
  }
  const DataSections written = sections;
  const bool have_seeds = mistakes.collect([&] {
    sections.train = with_run_seed(written.train, recipe.seed, "data.train");
    sections.valid = with_run_seed(written.valid, recipe.seed, "data.valid");
    sections.test = with_run_seed(written.test, recipe.seed, "data.test");
  });
  const auto read = [&](Config section, const Config& as_written) {
    ChosenData chosen;
    if (!have_seeds) section.erase("seed");
    mistakes.collect([&] { chosen = read_data(section); });
    chosen.follows_seed = follows_run_seed(as_written);
    return chosen;
  };
  recipe.train_data = read(sections.train, written.train);
  if (!sections.valid.is_null()) recipe.valid_data = read(sections.valid, written.valid);
  if (!sections.test.is_null()) recipe.test_data = read(sections.test, written.test);
  mistakes.throw_if_any();
}

void read_views_section(const Config& views, Recipe& recipe) {
  Config section = views.is_scalar() ? Config::map({{"preset", views}}) : views;
  if (section.is_null()) section = Config::map({{"preset", Config::string("none")}});
  section.set_where(views.where());
  Config own = Config::map();
  const std::vector<std::string> names = option_names<ViewsOptions>();
  for (const auto& key : names) {
    if (const Config* value = section.find(key)) own.set(key, *value);
  }
  Mistakes mistakes;
  mistakes.collect([&] {
    recipe.views = read_options<ViewsOptions>(own, "views");
    if (recipe.views.noise == 0 || recipe.views.count >= 2) return;
    throw usage_error("{}views: noise replaces second views, but count is {}; set count: 2", views.prefix(), recipe.views.count);
  });
  mistakes.collect([&] { recipe.view_steps = read_views(section, names); });
  mistakes.throw_if_any();
}

// Of weights from a file the encoder says how images are normalised, unless the views do, or change colours to other coordinates.
void take_normalisation(Recipe& recipe) {
  const auto asked = recipe.encoder.normalisation();
  if (!asked) return;
  if (!recipe.view_steps.normalize) {
    if (!recipe.view_steps.leaves_rgb() || asked->asked) recipe.view_steps.set_normalisation({asked->mean, asked->std});
  } else if (asked->asked) {
    const ViewPipeline views = recipe.view_steps.make({0}, {1});
    if (views.mean() == asked->mean && views.std() == asked->std) return;
    throw usage_error("{}encoder: mean and std differ from those of views.normalize; leave one of the two out", recipe.encoder.where);
  }
}

// Linked pairs leave the negatives as pairs of one class do, by the objectives that can drop some.
void drop_linked_pairs(Config& section, const ObjectiveEntry& entry, const Recipe& recipe) {
  if (!recipe.must_link || entry.kind != InputKind::kPairs) return;
  const auto drops = [](const ObjectiveEntry& of) {
    return std::ranges::find(of.options, "drop_false_negatives", &OptionSpec::name) != of.options.end();
  };
  std::string able;
  for (const auto& other : objective_registry()) {
    if (drops(other)) able += (able.empty() ? "" : ", ") + other.name;
  }
  if (!drops(entry))
    throw usage_error("{}objective '{}' cannot leave out linked pairs (data.must_link); use one of {}", section.prefix(), entry.name, able);
  if (const auto& method = recipe.method.entry; method != nullptr && !method->drops_linked_pairs)
    throw usage_error("{}data: must_link works with method {}, not '{}'; leave one out", section.prefix(),
                      fmt::join(methods_with(&MethodEntry::drops_linked_pairs), " or "), method->name);
  const Config* written = section.find("drop_false_negatives");
  if (written != nullptr && written->text() == "false")
    throw usage_error("{}drop_false_negatives: false contradicts data.must_link, which drops linked pairs; leave one out",
                      section.prefix());
  const bool is_resolved = !recipe.must_link->sha256.empty();  // a resolved recipe has the digest, and says that pairs are dropped
  if (written != nullptr && !is_resolved)
    throw usage_error("{}drop_false_negatives: true drops pairs of one label, data.must_link linked pairs instead; leave one out",
                      section.prefix());
  section.set("drop_false_negatives", write_value<bool>(true));
}

// The numbers that change, and in `first` their values at epoch 0 in place of what says how they change.
void read_changing_numbers(const Config& section, int64_t epochs, TermRecipe& term, Config& first) {
  Mistakes mistakes;
  const auto begin_with = [&first](const TermNumber& number, double value) {
    Config start = Config::number(value);
    start.set_where(number.where);
    first.set(number.name, std::move(start));
  };
  const auto read = [&](const std::string& key, const Config& value) {
    if (is_option_source(value)) {
      term.sources.push_back(read_option_source(key, *term.entry, section));
      begin_with(term.sources.back().number, term.sources.back().start);
      return;
    }
    const TermNumber number = term_number(key, *term.entry, value.where());
    term.schedules.push_back({number, read_value_schedule(value, fmt::format("objective '{}': {}", term.entry->name, key), epochs)});
    begin_with(number, term.schedules.back().schedule->value(0));
  };
  for (const auto& [key, value] : section.entries()) {
    if (value.is_map()) mistakes.collect([&, &key = key, &value = value] { read(key, value); });
  }
  mistakes.throw_if_any();
}

void require_logits(const TermRecipe& term, const std::optional<ClassifierOptions>& classifier) {
  if (term.options.on != TermInput::kLogits || (classifier && classifier->gradient == ClassifierGradient::kFlow)) return;
  throw usage_error("{}objective '{}' reads logits; add classifier: {{name: linear, gradient: flow}}{}", term.where, term.entry->name,
                    classifier ? " (it is gradient: stop)" : "");
}

void read_own_options(const Config& first, TermRecipe& term) {
  Config own = Config::map();
  for (const auto& key : option_names<TermOptions>()) {
    if (const Config* value = first.find(key)) own.set(key, *value);
  }
  term.options = read_options<TermOptions>(own, fmt::format("objective '{}'", term.entry->name));
  if (term.entry->kind != InputKind::kLogits) return;
  if (own.find("on") == nullptr) term.options.on = TermInput::kLogits;
  if (term.options.on == TermInput::kLogits) return;
  throw usage_error("{}objective '{}' works on logits; write on: logits, or leave `on` out", term.where, term.entry->name);
}

// knows_classifier: its section has been read.
void read_term_options(const Config& first, const Recipe& recipe, bool knows_classifier, TermRecipe& term) {
  std::vector<std::string> others = option_names<TermOptions>();
  others.emplace_back("name");
  Mistakes mistakes;
  const bool has_own = mistakes.collect([&] { read_own_options(first, term); });
  if (has_own && knows_classifier) mistakes.collect([&] { require_logits(term, recipe.classifier); });
  mistakes.collect([&] { term.objective = term.entry->read(first, others); });
  mistakes.throw_if_any();
}

void check_every_epoch(const TermRecipe& term, int64_t epochs) {
  for (int64_t epoch = 1; epoch < epochs && !term.schedules.empty(); ++epoch) {
    try {
      term.with(term.numbers_at(epoch));
    } catch (const Error& error) {
      throw usage_error("{} (in epoch {} of the schedules, counted from 0)", error.what(), epoch);
    }
  }
}

void check_ends_of_sources(const TermRecipe& term) {
  for (const bool high : {false, true}) {
    std::map<std::string, double> ends;
    for (const auto& sourced : term.sources) ends[sourced.number.name] = high ? sourced.source->high : sourced.source->low;
    try {
      term.with(term.numbers_at(0, ends));
    } catch (const Error& error) {
      throw usage_error("{} (at the {} end of what `from` may give)", error.what(), high ? "upper" : "lower");
    }
  }
}

TermRecipe read_term(const Config& item, const Recipe& recipe, int64_t epochs, bool knows_classifier) {
  Config section = section_map(item);
  TermRecipe term;
  term.where = section.prefix();
  term.entry = &named_entry(objective_registry(), section, "objective");
  if (const Config* variant = section.find("variant"); variant != nullptr && variant->is_scalar())
    term.variant = variant_key(variant->text());
  if (recipe.method.entry != nullptr && recipe.method.entry->scores_products) set_product_defaults(section, *term.entry);
  drop_linked_pairs(section, *term.entry, recipe);
  Config first = section;
  read_changing_numbers(section, epochs, term, first);
  read_term_options(first, recipe, knows_classifier, term);
  check_every_epoch(term, epochs);
  check_ends_of_sources(term);
  return term;
}

void read_objective(const Config& node, int64_t epochs, bool knows_classifier, Recipe& recipe) {
  const std::vector<Config> terms = node.is_sequence() ? node.items() : std::vector<Config>{node};
  if (terms.empty()) throw usage_error("{}objective: the list is empty; give at least one term", node.prefix());
  Mistakes mistakes;
  for (const auto& item : terms) mistakes.collect([&] { recipe.objective.push_back(read_term(item, recipe, epochs, knows_classifier)); });
  mistakes.throw_if_any();
}

void read_classifier(const Config& node, Recipe& recipe) {
  if (node.is_null()) return;
  const Config section = section_map(node);
  const std::string name = section_name(section, "classifier");
  if (name != "linear") throw usage_error("{}unknown classifier '{}'{}", section.prefix(), name, suggestion(name, {"linear"}));
  ClassifierOptions options = options_from<ClassifierOptions>(section, "classifier 'linear'", {"name"});
  if (!options.normalize) options.normalize = !recipe.head.projects();
  if (!options.learning_rate && options.gradient == ClassifierGradient::kStop) options.learning_rate = 1e-3;
  recipe.classifier = options;
}

void read_evaluate(const Config& node, Recipe& recipe) {
  if (node.is_null()) return;
  if (!node.is_map()) throw usage_error("{}evaluate: expected a map such as {{every: 5, protocols: [knn]}}", node.prefix());
  Config own = Config::map(), of_protocols = Config::map();
  for (const auto& [key, value] : node.entries()) (value.is_map() ? of_protocols : own).set(key, value);
  own.set_where(node.where());
  recipe.evaluate = options_from<EvaluateOptions>(own, "evaluate");
  if (recipe.train_data.entry == nullptr) return;  // a mistake: nothing says which protocols read such samples
  recipe.protocol_options = read_protocols(recipe.train_data.entry->samples, recipe.evaluate.protocols, of_protocols);
}

void read_seed(const Config& root, Recipe& recipe) {
  const Config* seed = root.find("seed");
  if (seed == nullptr) return;
  recipe.seed = static_cast<uint64_t>(read_value<int64_t>(*seed, "recipe: seed", Range::at_least(0)));
}

void check_micro_batch(const TrainOptions& train) {
  if (!train.micro_batch || *train.micro_batch <= train.batch_size) return;
  throw usage_error("train: micro_batch: {} is larger than batch_size {}", *train.micro_batch, train.batch_size);
}

}  // namespace

Recipe read_recipe(const Config& root) {
  if (!root.is_map()) throw usage_error("{}recipe: expected sections such as data, encoder, objective", root.prefix());
  Mistakes mistakes;
  const std::vector<std::string> sections = recipe_section_names();
  for (const auto& [key, value] : root.entries()) {
    if (std::ranges::find(sections, key) != sections.end()) continue;
    mistakes.collect([&, &key = key, &value = value] {
      throw usage_error("{}recipe: unknown section '{}'{}", value.prefix(), key, suggestion(key, sections));
    });
  }
  Recipe recipe;
  recipe.name = optional(root, "name").text();
  mistakes.collect([&] { read_seed(root, recipe); });
  mistakes.collect([&] { read_data_sets(required(root, "data"), recipe); });
  mistakes.collect([&] { read_views_section(optional(root, "views"), recipe); });
  mistakes.collect([&] {
    recipe.encoder = read_encoder(required(root, "encoder"));
    take_normalisation(recipe);
  });
  mistakes.collect([&] { recipe.head = read_head(optional(root, "head")); });
  const bool has_train = mistakes.collect([&] { recipe.train = read_options<TrainOptions>(optional(root, "train"), "train"); });
  const bool has_classifier = mistakes.collect([&] { read_classifier(optional(root, "classifier"), recipe); });
  mistakes.collect([&] { recipe.method = read_method(optional(root, "method")); });
  const int64_t epochs = has_train ? recipe.train.epochs : 1;  // of schedules
  mistakes.collect([&] { read_objective(required(root, "objective"), epochs, has_classifier, recipe); });
  mistakes.collect([&] {
    if (const Config sampler = optional(root, "sampler"); !sampler.is_null()) recipe.sampler = read_sampler(sampler);
  });
  mistakes.collect([&] { recipe.optimizer = read_optimizer(optional(root, "optimizer")); });
  mistakes.collect([&] { recipe.schedule = read_schedule(optional(root, "schedule")); });
  mistakes.collect([&] { read_evaluate(optional(root, "evaluate"), recipe); });
  recipe.output = optional(root, "output").text();
  recipe.expected = optional(root, "expected");
  mistakes.collect([&] { check_micro_batch(recipe.train); });
  mistakes.throw_if_any();
  return recipe;
}

std::string rounding(const TrainOptions& options) {
  const bool network = options.precision == Precision::kBf16, losses = options.loss_precision == Precision::kBf16;
  return fmt::format(
      "network {}; losses {}",
      network        ? "bfloat16 (inputs and results of its convolutions and products; weights and their updates stay float32)"
      : options.tf32 ? "float32, with TF32 for products and convolutions on a GPU"
                     : "float32",
      losses ? "float32, with products of embeddings and pair weights in bfloat16 on machines that gain from it" : "float32");
}

}  // namespace debias
