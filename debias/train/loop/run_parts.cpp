#include "debias/train/loop/run_parts.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "debias/augment/view_pipeline.h"
#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/encoders/folded_convolution.h"
#include "debias/loader/batch_source.h"
#include "debias/loader/loader.h"
#include "debias/optim/optimizer.h"
#include "debias/runtime/device.h"
#include "debias/train/methods/image_batches.h"
#include "debias/train/methods/sampling.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

// torchrun sets OMP_NUM_THREADS to 1 where nobody has set it, and says so; what a user means by `auto` are the cores.
std::optional<int64_t> thread_count(const Recipe& recipe, const Ranks& ranks) {
  if (recipe.train.threads || ranks.is_alone()) return recipe.train.threads;
  const bool is_default = getenv("TORCHELASTIC_RUN_ID") != nullptr && at::get_num_threads() == 1;
  return is_default ? ranks.cpus() : std::min<int64_t>(at::get_num_threads(), ranks.cpus());
}

int64_t class_count(const Recipe& recipe, const SampleTable& dataset) {
  if (!recipe.classifier) return 0;
  const auto classes = static_cast<int64_t>(dataset.info().class_names.size());
  if (classes == 0) throw usage_error("classifier: data set '{}' has no labels; leave the classifier out", dataset.info().name);
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const int64_t label = dataset.label(i);
    if (label >= -1 && label < classes) continue;
    throw data_error("classifier: label {} of sample {} of data set '{}' is outside 0..{} (-1 = unknown); correct it", label, i,
                     dataset.info().name, classes - 1);
  }
  return classes;
}

ViewPipeline pipeline_of(const Recipe& recipe, const SampleTable& samples) {
  return recipe.view_steps.make(samples.info().mean, samples.info().std);
}

// Views of training, of images of the set's size or of two others where it has none.
void require_view_size(const Recipe& recipe, const SampleTable& samples, const Encoder& encoder, const std::string& where) {
  const auto side = encoder.image_side();
  if (!side) return;
  const ViewPipeline views = pipeline_of(recipe, samples);
  const auto [height, width] = std::pair{samples.info().height, samples.info().width};
  const std::vector<std::pair<int, int>> sizes =
      height > 0 ? std::vector{views.output_size(height, width)} : std::vector{views.output_size(307, 211), views.output_size(211, 307)};
  for (const auto& [rows, columns] : sizes) {
    if (rows == *side && columns == *side) continue;
    throw usage_error("{} '{}': the views have {}x{} pixels and it takes {}x{}; end the views' steps with that size", where,
                      encoder.registry_name(), rows, columns, *side, *side);
  }
}

Config resolved_views(const Recipe& recipe, const SampleTable& samples) {
  Config views = pipeline_of(recipe, samples).config();
  views.overlay(config_of(recipe.views));
  if (recipe.view_steps.eval != nullptr) views.set("eval", recipe.view_steps.eval->section);
  return views;
}

}  // namespace

RunParts make_run_parts(const Recipe& recipe, const std::shared_ptr<const SampleTable>& dataset, const Ranks& ranks) {
  RunParts parts;
  const MethodEntry& method = method_of(recipe);
  parts.device = choose_device(recipe.train.device, ranks.place().local_rank);
  const c10::Device device = parts.device.device;
  if (!device.is_cpu()) set_arithmetic({recipe.train.tf32, recipe.train.deterministic});
  ranks.require_own_devices(parts.device.uuid);
  ranks.join_devices(device);
  use_threads(thread_count(recipe, ranks));
  check_method(recipe, *dataset);
  parts.model = make_model(recipe, dataset->info().inputs(), class_count(recipe, *dataset));
  require_view_size(recipe, *dataset, *parts.model.encoder, recipe.encoder.where + "encoder");
  parts.model.side = method.side_networks(recipe, dataset->info(), parts.model);
  for (const auto& network : parts.model.side) {
    if (network.encoder == nullptr) continue;
    require_view_size(recipe, *dataset, *network.encoder, fmt::format("{}{} encoder", network.chosen_encoder.where, network.name));
  }
  parts.model.to(device);
  parts.optimizers = std::make_unique<Optimizers>(make_optimizers(recipe, parts.model));
  parts.schedule = recipe.schedule.make(recipe.optimizer.learning_rate, recipe.train.epochs);
  std::vector<Term> terms = make_terms(recipe, *dataset);
  const std::vector<double> weights = make_sampler(recipe, *dataset)->weights();
  for (auto& term : terms) term.load(*dataset, recipe.views.count, method.gives_keys, weights);
  if (recipe.must_link) parts.linked = linked_groups(*recipe.must_link, *dataset);
  const ForwardOptions forward = {recipe.views.forward, recipe.train.precision, recipe.train.channels_last, device};
  parts.method = method.make(recipe, *dataset,
                             {.model = parts.model,
                              .terms = std::move(terms),
                              .optimizers = *parts.optimizers,
                              .forward = forward,
                              .micro_batch = recipe.train.micro_batch ? std::optional(*recipe.train.micro_batch) : std::nullopt,
                              .loss_precision = recipe.train.loss_precision,
                              .ranks = &ranks,
                              .joins_norm = recipe.train.joins_norm(),
                              .loss_rows = recipe.train.loss_rows,
                              .linked = joined_groups(parts.linked, left_out_mates(recipe, *dataset))});
  parts.source = method.batches(recipe, dataset, ranks);
  const bool host_reads = dataset->sentences() != nullptr;  // how many words each has decides what is launched
  if (copies_ahead(device) && parts.source->state().empty() && !host_reads) {
    parts.source = std::make_unique<AheadBatches>(std::move(parts.source), transfer_to(device));
  }
  return parts;
}

Config resolve_recipe(const Recipe& recipe, const SampleTable& dataset) {
  Config root = Config::map();
  root.set("name", Config::string(recipe.name));
  root.set("seed", Config::integer(static_cast<int64_t>(recipe.seed)));
  Config data = Config::map();
  data.set("train", recipe.train_data.resolved());
  if (recipe.valid_data) data.set("valid", recipe.valid_data->resolved());
  if (recipe.test_data) data.set("test", recipe.test_data->resolved());
  data.set("on_error", write_value<OnError>(recipe.on_error));
  data.set("decode", write_value<Decode>(recipe.decode));
  if (recipe.must_link) data.set("must_link", config_of(with_digest(*recipe.must_link)));
  if (!dataset.info().group_names.empty() || recipe.groups != GroupMates::kExclude)
    data.set("groups", write_value<GroupMates>(recipe.groups));
  data.set("verify", write_value<Verify>(recipe.verify));
  root.set("data", std::move(data));
  if (dataset.info().words == 0) root.set("views", resolved_views(recipe, dataset));
  root.set("encoder", recipe.encoder.section);
  root.set("head", recipe.head.section);
  Config objective = Config::sequence();
  require_terms(recipe, dataset.info());
  for (const auto& term : recipe.objective) objective.items().push_back(term.config());
  root.set("objective", std::move(objective));
  if (class_count(recipe, dataset) > 0) {
    Config classifier = Config::map({{"name", Config::string("linear")}});
    classifier.overlay(config_of(*recipe.classifier));
    root.set("classifier", std::move(classifier));
  }
  if (recipe.method.is_written) root.set("method", recipe.method.section());
  if (recipe.sampler) root.set("sampler", recipe.sampler->section);
  root.set("optimizer", recipe.optimizer.section);
  recipe.schedule.make(recipe.optimizer.learning_rate, recipe.train.epochs);  // refuses what this learning rate excludes
  root.set("schedule", recipe.schedule.section);
  root.set("train", config_of(recipe.train));
  Config evaluate = config_of(recipe.evaluate);
  evaluate.overlay(recipe.protocol_options.section());
  root.set("evaluate", std::move(evaluate));
  root.set("output", Config::string(recipe.output));
  if (!recipe.expected.is_null()) root.set("expected", recipe.expected);
  return root;
}

namespace {

constexpr int64_t kImagesOfPass = 256;

// float32 [N, D] on the CPU, in passes of consecutive images: the same bytes in a resumed run.
at::Tensor features_of_images(const SampleTable& samples, Loader& images, Encoder& encoder, const ForwardOptions& options,
                              Progress& progress) {
  const at::NoGradGuard no_grad;
  const KeptWeights kept_weights;
  at::Tensor features = at::empty({samples.size(), encoder.feature_dim()}, at::kFloat);
  progress.begin("features", samples.size());
  int64_t done = 0;
  images.start(0);
  while (const Batch* batch = images.next()) {
    at::Tensor input = batch->images()[0].to(options.device);
    if (options.channels_last) input = input.contiguous(at::MemoryFormat::ChannelsLast);
    const Autocast autocast(options.device.type(), options.precision);
    const int64_t rows = input.size(0);
    features.narrow(0, done, rows).copy_(encoder.forward(input));
    progress.advance(done += rows, "");
  }
  progress.end();
  return features;
}

}  // namespace

bool has_fixed_features(const Recipe& recipe, const SampleTable& samples, const Encoder& encoder, const Ranks& ranks) {
  if (!method_of(recipe).trains_on_features || !encoder.is_frozen() || !ranks.is_alone() || samples.images() == nullptr) return false;
  if (recipe.on_error != OnError::kStop || recipe.views.noise > 0 || recipe.must_link || recipe.groups == GroupMates::kPositive)
    return false;
  if (samples.size() > kMostFeatureBytes / static_cast<int64_t>(sizeof(float)) / encoder.feature_dim()) return false;
  return !recipe.view_steps.is_random();
}

std::unique_ptr<BatchSource> fixed_features(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples, Encoder& encoder,
                                            c10::Device device, Progress& progress) {
  Loader images(images_of(samples), recipe.view_steps.make(samples->info().mean, samples->info().std),
                std::make_shared<SequentialSampler>(samples->size()),
                LoaderOptions{.batch_size = kImagesOfPass,
                              .workers = worker_count(recipe, Ranks::alone()),
                              .prefetch = recipe.train.prefetch,
                              .seed = recipe.seed,
                              .decode = recipe.decode});
  const ForwardOptions options = {recipe.views.forward, recipe.train.precision, recipe.train.channels_last, device};
  return std::make_unique<FeatureBatches>(
      samples, features_of_images(*samples, images, encoder, options, progress), make_sampler(recipe, *samples),
      FeatureBatchOptions{
          .batch_size = recipe.train.batch_size, .views = recipe.views.count, .drop_last = recipe.train.drop_last, .seed = recipe.seed});
}

}  // namespace debias
