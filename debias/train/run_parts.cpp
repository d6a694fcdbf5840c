#include "debias/train/run_parts.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>

#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/core/thread_check.h"
#include "debias/encoders/device.h"
#include "debias/optim/optimizer.h"

namespace debias {
namespace {

// Of this process, where several share the machine.
int cpus_of(const Ranks& ranks) { return std::max(1, available_cpus() / static_cast<int>(ranks.place().local_size)); }

int64_t worker_count(const Recipe& recipe, const Ranks& ranks) {
  if (recipe.train.workers()) return *recipe.train.workers();
  return std::clamp<int64_t>(cpus_of(ranks) / 2, 1, 16);
}

// torchrun sets OMP_NUM_THREADS to 1 where nobody has set it, and says so; what a user means by `auto` are the cores.
int thread_count(const Recipe& recipe, const Ranks& ranks) {
  if (recipe.train.threads()) return static_cast<int>(*recipe.train.threads());
  if (!ranks.is_alone() && getenv("TORCHELASTIC_RUN_ID") != nullptr && at::get_num_threads() == 1) return cpus_of(ranks);
  return std::min(at::get_num_threads(), cpus_of(ranks));
}

constexpr int64_t kCacheMegabytes = 1024;  // of decoded images, on a machine

int64_t class_count(const Recipe& recipe, const Dataset& dataset) {
  if (!recipe.classifier) return 0;
  const auto classes = static_cast<int64_t>(dataset.info().class_names.size());
  if (classes == 0) throw usage_error("classifier: data set '{}' has no labels; leave the classifier out", dataset.info().name);
  return classes;
}

// The same of the share of a batch that each of several ranks has.
void require_shares(const Recipe& recipe, int64_t images, int64_t views, const Ranks& ranks) {
  const int64_t batch = recipe.train.batch_size(), W = ranks.size();
  const int64_t last = recipe.train.drop_last() || images % batch == 0 ? batch : images % batch;
  if (batch < W) throw usage_error("train: {} ranks share batches of {} images; start at most {}, or raise batch_size", W, batch, batch);
  for (const int64_t share : {batch / W, (batch + W - 1) / W, last / W, (last + W - 1) / W}) {
    const int64_t part = recipe.train.micro_batch() ? std::min(share, *recipe.train.micro_batch()) : share;
    const int64_t pass = part > 0 && share % part != 0 ? share % part : part;
    if (pass * views >= 2) continue;
    throw usage_error(
        "train: {} ranks share a batch of {}{}: one sees {} image{} in a pass, which batch normalisation cannot take; start fewer, or "
        "raise "
        "batch_size",
        W, last < batch && share <= (last + W - 1) / W ? last : batch,
        recipe.train.micro_batch() ? fmt::format(" in parts of {}", *recipe.train.micro_batch()) : "", pass == 0 ? "no" : "one",
        pass == 0 ? "" : " alone");
  }
}

// Batch normalisation in training mode has nothing to normalise one row over.
void require_two_rows_a_pass(const Recipe& recipe, int64_t images, const Ranks& ranks) {
  const int64_t batch = recipe.train.batch_size(), views = recipe.views.forward() == Forward::kJoint ? recipe.views.count() : 1;
  if (!ranks.is_alone()) return require_shares(recipe, images, views, ranks);
  const auto smallest_part = [](int64_t whole, int64_t part) { return whole % part == 0 ? std::min(whole, part) : whole % part; };
  const int64_t last = recipe.train.drop_last() ? batch : smallest_part(images, batch);
  int64_t pass = std::min(batch, last);
  if (recipe.train.micro_batch()) {
    pass = std::min(smallest_part(batch, *recipe.train.micro_batch()), smallest_part(last, *recipe.train.micro_batch()));
  }
  if (pass * views >= 2) return;
  throw usage_error("train: batch_size {}{}{} makes the network see one image alone, which batch normalisation cannot take; change one",
                    batch, recipe.train.micro_batch() ? fmt::format(" with micro_batch {}", *recipe.train.micro_batch()) : "",
                    last < batch ? fmt::format(" and drop_last: false ({} images)", images) : "");
}

}  // namespace

RunParts make_run_parts(const Recipe& recipe, std::shared_ptr<const Dataset> dataset, const Ranks& ranks) {
  const c10::Device device = resolve_device(recipe.train.device());
  const int threads = thread_count(recipe, ranks);
  require_threads(threads);  // torch would wait for ever for one that cannot be started
  at::set_num_threads(threads);
  const MethodEntry& method = method_of(recipe);
  method.check(recipe, *dataset);
  RunParts parts;
  parts.model = make_model(recipe, dataset->info().channels, class_count(recipe, *dataset));
  parts.model.to(device);
  parts.optimizers = std::make_unique<Optimizers>(make_optimizers(recipe, parts.model));
  parts.schedule = make_schedule(recipe.schedule, base_learning_rate(recipe.optimizer), recipe.train.epochs());
  std::vector<Term> terms = make_terms(recipe, *dataset);
  for (auto& term : terms) term.load(*dataset, recipe.views.count(), method.gives_keys);
  const ForwardOptions forward = {recipe.views.forward(), recipe.train.precision(), recipe.train.channels_last(), device};
  parts.method = method.make(recipe, *dataset,
                             {.model = parts.model,
                              .terms = std::move(terms),
                              .optimizers = *parts.optimizers,
                              .forward = forward,
                              .micro_batch = recipe.train.micro_batch() ? std::optional(*recipe.train.micro_batch()) : std::nullopt,
                              .loss_precision = recipe.train.loss_precision(),
                              .ranks = &ranks});
  const auto& info = dataset->info();
  parts.loader = std::make_unique<Loader>(dataset, ViewPipeline::from_config(recipe.views_section, info.mean, info.std, views_keys()),
                                          std::make_shared<ShuffledSampler>(dataset->size()),
                                          LoaderOptions()
                                              .batch_size(recipe.train.batch_size())
                                              .views(recipe.views.count())
                                              .drop_last(recipe.train.drop_last())
                                              .workers(worker_count(recipe, ranks))
                                              .prefetch(recipe.train.prefetch())
                                              .seed(recipe.seed)
                                              .noise(recipe.views.noise())
                                              .on_error(recipe.on_error)
                                              .decode(recipe.decode)
                                              .cache_megabytes(kCacheMegabytes / ranks.place().local_size)
                                              .rank(ranks.rank())
                                              .ranks(ranks.size()));
  if (parts.loader->batches_per_epoch() == 0) {
    throw usage_error("train: batch_size {} with drop_last leaves no batch of the {} images; lower batch_size or set drop_last: false",
                      recipe.train.batch_size(), dataset->size());
  }
  require_two_rows_a_pass(recipe, dataset->size(), ranks);
  return parts;
}

Config resolve_recipe(const Recipe& recipe, const Dataset& dataset) {
  const auto resolved_data = [](const Config& section) {
    const auto& entry = find_entry(dataset_registry(), section_name(section, "data set"), "data set", section.prefix());
    return with_defaults(section, entry.options);
  };
  Config root = Config::map();
  root.set("name", Config::string(recipe.name));
  root.set("seed", Config::integer(static_cast<int64_t>(recipe.seed)));
  Config data = Config::map();
  data.set("train", resolved_data(recipe.train_data));
  if (!recipe.valid_data.is_null()) data.set("valid", resolved_data(recipe.valid_data));
  if (!recipe.test_data.is_null()) data.set("test", resolved_data(recipe.test_data));
  data.set("on_error", options_detail::Field<OnError>::emit(recipe.on_error));
  data.set("decode", options_detail::Field<Decode>::emit(recipe.decode));
  data.set("verify", options_detail::Field<Verify>::emit(recipe.verify));
  root.set("data", std::move(data));
  Config views = ViewPipeline::from_config(recipe.views_section, dataset.info().mean, dataset.info().std, views_keys()).config();
  views.overlay(ViewsOptions::table().write(recipe.views));
  if (!recipe.eval_views.is_null()) views.set("eval", recipe.eval_views);
  root.set("views", std::move(views));
  const auto& encoder = find_entry(encoder_registry(), section_name(recipe.encoder, "encoder"), "encoder", recipe.encoder.prefix());
  root.set("encoder", with_defaults(recipe.encoder, encoder.options));
  const Config head_section = recipe.head.is_null() ? Config::map({{"name", Config::string("none")}}) : recipe.head;
  const auto& head = find_entry(head_registry(), section_name(head_section, "head"), "head", head_section.prefix());
  Config resolved_head = with_defaults(head_section, head.options);
  if (head.name == "none") resolved_head.set("name", Config::scalar("none"));
  root.set("head", std::move(resolved_head));
  Config objective = Config::sequence();
  for (const auto& term : make_terms(recipe, dataset)) objective.items().push_back(term.config());
  root.set("objective", std::move(objective));
  if (class_count(recipe, dataset) > 0) {
    Config classifier = Config::map({{"name", Config::string("linear")}});
    classifier.overlay(ClassifierOptions::table().write(*recipe.classifier));
    root.set("classifier", std::move(classifier));
  }
  if (!recipe.method.is_null()) root.set("method", method_of(recipe).resolved(recipe.method));
  root.set("optimizer", resolved_optimizer(recipe.optimizer));
  root.set("schedule", make_schedule(recipe.schedule, base_learning_rate(recipe.optimizer), recipe.train.epochs())->config());
  root.set("train", TrainOptions::table().write(recipe.train));
  Config evaluate = EvaluateOptions::table().write(recipe.evaluate);
  if (recipe.protocol_options.is_map()) evaluate.overlay(recipe.protocol_options);
  root.set("evaluate", std::move(evaluate));
  root.set("output", Config::string(recipe.output));
  if (!recipe.expected.is_null()) root.set("expected", recipe.expected);
  return root;
}

}  // namespace debias
