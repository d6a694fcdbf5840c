#include "debias/train/methods/method.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"
#include "debias/losses/logits.h"
#include "debias/runtime/device.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/cmc.h"
#include "debias/train/methods/moco.h"
#include "debias/train/methods/quick_thoughts.h"
#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/ensembles.h"
#include "debias/train/methods/rivals/hex.h"
#include "debias/train/methods/rivals/independence.h"
#include "debias/train/methods/rivals/relative_difficulty.h"
#include "debias/train/methods/rivals/worst_groups.h"
#include "debias/train/methods/simclr.h"

namespace debias {
namespace {

// "Same sample" means the same visit: a sampler with replacement may bring an image twice into a batch.
std::vector<int64_t> sample_keys(const Batch& batch) {
  std::vector<int64_t> keys(batch.ids.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = batch.ids[i] * kMaxOccurrences + batch.occurrences[i];
  return keys;
}

std::vector<int64_t> at_indices(const std::vector<int64_t>& values, const std::vector<int64_t>& indices) {
  std::vector<int64_t> taken;
  taken.reserve(indices.size());
  for (const int64_t index : indices) taken.push_back(values[static_cast<size_t>(index)]);
  return taken;
}

std::string bad_samples(const at::Tensor& rows, const std::vector<int64_t>& ids) {  // rows: [B, ...]
  const at::Tensor bad = at::logical_not(at::isfinite(rows.detach()).flatten(1).all(1)).nonzero().flatten().cpu();
  std::vector<int64_t> names;
  for (int64_t i = 0; i < std::min<int64_t>(bad.numel(), 8); ++i) names.push_back(ids[bad[i].item<int64_t>()]);
  return fmt::format("{}{}", fmt::join(names, ", "), bad.numel() > 8 ? fmt::format(", ... ({} in all)", bad.numel()) : "");
}

// A concatenation for each type, and views of it: fewer launches than a copy of each.
std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors) {
  std::map<at::ScalarType, std::vector<size_t>> by_type;
  for (size_t i = 0; i < tensors.size(); ++i) by_type[tensors[i].scalar_type()].push_back(i);
  std::vector<at::Tensor> copies(tensors.size());
  for (const auto& [type, members] : by_type) {
    std::vector<at::Tensor> flat;
    std::vector<int64_t> sizes;
    for (const size_t i : members) {
      flat.push_back(tensors[i].detach().reshape({-1}));
      sizes.push_back(flat.back().numel());
    }
    const std::vector<at::Tensor> pieces = at::cat(flat).split_with_sizes(sizes);
    for (size_t k = 0; k < members.size(); ++k) copies[members[k]] = pieces[k].view(tensors[members[k]].sizes());
  }
  return copies;
}

std::string first_samples(const std::vector<int64_t>& ids) {
  return fmt::format("{}{}", fmt::join(ids.begin(), ids.begin() + std::min<size_t>(ids.size(), 8), ", "), ids.size() > 8 ? ", ..." : "");
}

}  // namespace

Method::BufferGuard::BufferGuard(const std::vector<const torch::nn::Module*>& networks) {
  for (const torch::nn::Module* module : networks) {
    for (const auto& buffer : module->buffers()) {
      buffers_.push_back(buffer);
    }
  }
  saved_ = copies_of(buffers_);
}

Method::BufferGuard::~BufferGuard() {
  if (!kept_) restore();
}

void Method::BufferGuard::restore() {
  const at::NoGradGuard no_grad;
  if (!buffers_.empty()) at::_foreach_copy_(buffers_, saved_);
}

Method::Method(MethodParts parts) : parts_(std::move(parts)), terms_(std::move(parts_.terms)) {
  if (parts_.ranks->is_alone()) return;
  if (parts_.joins_norm) norm_peers_ = norm_peers(*parts_.ranks);
  if (parts_.loss_rows == LossRows::kOwn) row_share_ = row_share(*parts_.ranks);
}

std::vector<const torch::nn::Module*> Method::networks() const {
  std::vector<const torch::nn::Module*> all = {model().encoder.get(), model().head.get()};
  if (model().predictor != nullptr) all.push_back(model().predictor.get());
  for (const auto& network : model().side) all.push_back(network.module.get());
  return all;
}

void Method::hold_encoders(bool on) {
  for (Encoder* encoder : encoders()) encoder->hold(on);
}

at::Tensor Method::on_device(const std::vector<int64_t>& values) const {
  return upload(at::tensor(values, at::TensorOptions().dtype(at::kLong)), parts_.forward.device);
}

at::Tensor Method::of_all_ranks(const at::Tensor& own, const Batch& batch) const {
  return gather_rows(own, static_cast<int64_t>(batch.ids.size()), *parts_.ranks);
}

ModelOutput Method::of_all_ranks(const ModelOutput& own, const Batch& batch) const {
  if (parts_.ranks->is_alone()) return own;
  const bool read = model().classifier != nullptr ||
                    std::any_of(terms_.begin(), terms_.end(), [](const Term& term) { return term.on() == TermInput::kEncoder; });
  // Features that nothing reads stay where they are; their sums tell whether they are finite.
  const at::Tensor features = read ? own.features : own.features.detach().sum(-1, /*keepdim=*/true);
  return {of_all_ranks(features, batch), of_all_ranks(own.projection, batch)};
}

void Method::join_gradients() const {
  if (parts_.ranks->is_alone()) return;
  std::vector<at::Tensor> parts, wholes;  // of the own rows; of all rows already
  for (const auto& parameter : model().parameters()) {
    if (parameter.grad().defined()) parts.push_back(parameter.grad());
  }
  if (model().classifier != nullptr) {
    for (const auto& parameter : model().classifier->linear()->parameters()) {
      if (parameter.grad().defined()) wholes.push_back(parameter.grad());
    }
  }
  parts_.ranks->sum_ordered(parts);
  parts_.ranks->take_from_leader(wholes);  // the same already, unless the machines round differently
}

void Method::backward(Evaluated& evaluated, const ModelOutput& output, const std::pair<const char*, at::Tensor>& more) {
  evaluated.watched = {{"features", output.features}, {"projection", output.projection}};
  if (more.second.defined()) evaluated.watched.emplace_back(more);
  if (evaluated.logits.defined()) {
    evaluated.watched.emplace_back("logits", evaluated.logits.unflatten(0, {output.features.size(1), -1}).transpose(0, 1));
  }
  if (evaluated.total.requires_grad()) evaluated.total.backward();  // a batch without a pair to compare can leave a constant
}

ObjectiveInput Method::input_of(const Term& term, const Batch& batch, const ModelOutput& output, const at::Tensor& logits) const {
  const int64_t B = output.features.size(0), V = output.features.size(1);
  const int64_t repeats = term.on_logits_as_they_are() ? V : 1;  // every view is a row of its own there
  ObjectiveInput input;
  if (term.has_labels()) input.labels = on_device(batch.labels).repeat({repeats});
  if (!parts_.linked.empty() && term.takes_links()) input.labels = on_device(at_indices(parts_.linked, batch.indices));
  if (term.has_bias()) input.bias = on_device(batch.biases).repeat({repeats});
  if (term.on_logits_as_they_are()) {
    input.z = logits;
    if (term.takes_norms()) input.norms = model().classifier->norms(output.features);
  } else {
    input.z = unit_rows(term.on() == TermInput::kProjection ? output.projection
                        : term.on() == TermInput::kEncoder  ? output.features
                                                            : logits.view({V, B, -1}).transpose(0, 1));
    input.samples = on_device(sample_keys(batch));
  }
  if (term.bias_features().defined()) {
    input.weights =
        upload(term.bias_features().index_select(0, at::tensor(batch.ids, at::TensorOptions().dtype(at::kLong))), parts_.forward.device);
  }
  input.prior = term.prior();
  input.bfloat16_products = parts_.loss_precision == Precision::kBf16;
  input.row_share = row_share_.get();
  input.vouched = true;  // by sample_keys(), unit_rows() and the data set
  if (term.kind() == InputKind::kPairs) input.engine = parts_.pair_engine;
  return input;
}

Method::Evaluated Method::evaluate(const ModelOutput& output, const Batch& batch,
                                   const std::function<ObjectiveResult(const Term&, const at::Tensor& logits)>& loss_of) const {
  Evaluated evaluated;
  if (model().classifier != nullptr) evaluated.logits = model().classifier->logits(output.features);
  for (const auto& term : terms_) {
    evaluated.terms.push_back(loss_of(term, evaluated.logits));
    evaluated.values.emplace_back(evaluated.terms.back().value);
    evaluated.add(evaluated.terms.back().value * term.weight());
  }
  evaluated.loss = LateNumber(evaluated.total);
  if (model().classifier != nullptr) train_classifier(on_device(batch.labels).repeat({output.features.size(1)}), evaluated);
  return evaluated;
}

void Method::train_classifier(const torch::Tensor& labels, Evaluated& evaluated) const {
  const at::Tensor known = labels.ge(0);
  evaluated.classifier.rows = LateNumber(known.sum());
  evaluated.classifier.correct = LateNumber(evaluated.logits.detach().argmax(1).eq(labels).logical_and(known).sum());
  const bool has_term = std::any_of(terms_.begin(), terms_.end(), [](const Term& term) { return term.on() == TermInput::kLogits; });
  if (has_term) return;
  const at::Tensor loss =
      cross_entropy(ObjectiveInput{.z = evaluated.logits, .labels = labels, .vouched = true}, CrossEntropyOptions()).value;
  evaluated.classifier.loss = LateNumber(loss);
  evaluated.add(loss);
}

std::vector<const LateNumber*> Method::numbers_of(const Evaluated& evaluated) {
  std::vector<const LateNumber*> numbers = {&evaluated.loss, &evaluated.classifier.rows, &evaluated.classifier.correct};
  for (const auto& metric : evaluated.metrics) numbers.insert(numbers.end(), {&metric.sum, &metric.count});
  if (evaluated.classifier.loss) numbers.push_back(&*evaluated.classifier.loss);
  for (const auto& value : evaluated.values) numbers.push_back(&value);
  for (const auto& found : evaluated.terms) {
    numbers.push_back(&found.clamped);
    if (found.min_estimate) numbers.push_back(&*found.min_estimate);
    if (found.effective_sample_size) numbers.push_back(&*found.effective_sample_size);
  }
  return numbers;
}

Diagnostics Method::diagnostics_of(const Evaluated& evaluated) {
  Diagnostics diagnostics;
  for (size_t i = 0; i < evaluated.terms.size(); ++i) {
    const ObjectiveResult& found = evaluated.terms[i];
    const auto& size = found.effective_sample_size;
    diagnostics.terms.push_back({.steps = 1,
                                 .loss_sum = evaluated.values[i],
                                 .anchors = found.anchors,
                                 .clamped = static_cast<int64_t>(found.clamped),
                                 .clampable = found.clamped_of(),
                                 .min_estimate = found.min_estimate,
                                 .sample_size_steps = size ? 1 : 0,
                                 .sample_size_sum = size ? size->value() : 0});
  }
  const auto& classifier = evaluated.classifier;
  diagnostics.classifier.rows = static_cast<int64_t>(classifier.rows);
  diagnostics.classifier.correct = static_cast<int64_t>(classifier.correct);
  if (classifier.loss) {
    diagnostics.classifier.loss_steps = 1;
    diagnostics.classifier.loss_sum = *classifier.loss;
  }
  for (const auto& metric : evaluated.metrics) diagnostics.of_method.push_back({metric.name, metric.sum, metric.count});
  return diagnostics;
}

StepReport Method::read(const Evaluated& evaluated, const Batch& batch) const {
  std::vector<at::Tensor> gradients;
  for (const auto& [name, parameter] : model().named_parameters()) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  const LateNumber norm = gradients.empty() ? LateNumber() : LateNumber(at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients))));
  // An objective need not carry a NaN of its rows into its value, so the rows are looked at too.
  const LateNumber total(evaluated.total), features(at::isfinite(evaluated.watched[0].second).all()),
      projection(at::isfinite(evaluated.watched[1].second).all());
  std::vector<const LateNumber*> late = numbers_of(evaluated);
  late.insert(late.end(), {&norm, &total, &features, &projection});
  LateNumber::read(late);

  if (!std::isfinite(total) || features == 0 || projection == 0) refuse(evaluated, batch, total);
  StepReport report;
  report.loss = evaluated.loss;
  if (model().classifier != nullptr && model().classifier->flows() && evaluated.classifier.loss) report.loss += *evaluated.classifier.loss;
  if (!std::isfinite(norm)) refuse_gradient(batch, report.loss);
  report.grad_norm = norm;
  report.diagnostics = diagnostics_of(evaluated);
  return report;
}

void Method::refuse(const Evaluated& evaluated, const Batch& batch, double loss) {
  const auto own_begin = batch.ids.begin() + batch.first_row;
  for (const auto& [name, input] : batch.inputs) {
    if (at::isfinite(input).all().item<bool>()) continue;
    const std::vector<int64_t> own(own_begin, own_begin + input.size(1));
    throw numeric_error("the loss is {}: tensor '{}' is not finite for samples {}", loss, name, bad_samples(input.transpose(0, 1), own));
  }
  for (const auto& [name, rows] : evaluated.watched) {
    if (at::isfinite(rows).all().item<bool>()) continue;
    throw numeric_error("the loss is {}: tensor '{}' is not finite for samples {}", loss, name, bad_samples(rows, batch.ids));
  }
  throw numeric_error("the loss is {}: tensor 'loss' is not finite though the projection is, for samples {}", loss,
                      first_samples(batch.ids));
}

void Method::refuse_gradient(const Batch& batch, double loss) const {
  for (const auto& [name, parameter] : model().named_parameters()) {
    if (!parameter.grad().defined() || at::isfinite(parameter.grad()).all().item<bool>()) continue;
    throw numeric_error("the loss is {}, but the gradient of tensor '{}' is not finite for samples {}", loss, name,
                        first_samples(batch.ids));
  }
  throw numeric_error("the loss is {}, but the norm of the gradient overflows", loss);
}

StepReport Method::run(const Batch& batch, int64_t step, const std::function<void()>& meanwhile) {
  StepReport report;
  BufferGuard buffers(networks());
  RunningStatistics statistics(networks(), norm_peers_ != nullptr ? Ranks::alone() : *parts_.ranks);
  try {
    const SharedNorm shared(norm_peers_.get());
    parts_.optimizers.zero_grad();
    const Evaluated evaluated = differentiate(batch, step);
    join_gradients();
    statistics.join();
    meanwhile();
    report = read(evaluated, batch);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNumeric) throw;
    throw numeric_error(
        "training stopped at step {} (epoch {}, batch {}): {}; no parameter was changed; lower the learning rate or raise the "
        "temperature",
        step, batch.epoch + 1, batch.number, error.what());
  }
  buffers.keep();
  try {
    parts_.optimizers.step();
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("training stopped at step {} (epoch {}, batch {}): {}", step, batch.epoch + 1, batch.number, error.what()));
  }
  after_update(batch);
  return report;
}

const std::vector<MethodEntry>& method_registry() {
  static const std::vector<MethodEntry> registry = {
      simclr_entry(),
      moco_entry(),
      cmc_entry(),
      quick_thoughts_entry(),
      // classifiers of biased data
      lff_entry(),
      jtt_entry(),
      dfa_entry(),
      rebias_entry(),
      hex_entry(),
      group_dro_entry(),
      lnl_entry(),
      rubi_entry(),
      learned_mixin_entry(),
  };
  return registry;
}

const MethodEntry& method_of(const Recipe& recipe) { return *recipe.method.entry; }

std::vector<std::string> methods_with(bool MethodEntry::*property) {
  std::vector<std::string> names;
  for (const MethodEntry& entry : method_registry()) {
    if (entry.*property) names.push_back(entry.name);
  }
  return names;
}

void check_method(const Recipe& recipe, const SampleTable& dataset) {
  const MethodEntry& entry = method_of(recipe);
  entry.check(recipe, dataset);
  if (!recipe.train.micro_batch || entry.takes_micro_batch) return;
  throw usage_error("{}method '{}' takes no train.micro_batch{}", recipe.method.where, entry.name, entry.micro_batch_advice);
}

ChosenMethod read_method(const Config& written) {
  Config section = section_map(written);
  const MethodEntry& entry = named_or_first(method_registry(), section, "method");
  ChosenMethod chosen{std::shared_ptr<const MethodEntry>(std::shared_ptr<void>(), &entry)};  // the registry's own
  chosen.where = section.prefix();
  chosen.is_written = !section.is_null();
  if (const Config* encoder = entry.takes_bias_encoder ? section.find(kBiasEncoder) : nullptr) {
    chosen.bias_encoder = read_encoder(*encoder);
    section.erase(kBiasEncoder);
  }
  chosen.options = entry.read(section);
  return chosen;
}

Config ChosenMethod::section() const {
  Config section = Config::map({{"name", Config::string(entry->name)}});
  section.overlay(entry->write(options));
  if (bias_encoder) section.set(kBiasEncoder, bias_encoder->section);
  return section;
}

std::vector<Term> require_keyed_terms(const Recipe& recipe, const SampleTable& dataset, const std::string& method) {
  const std::string& where = recipe.method.where;
  std::vector<Term> pairwise;
  for (auto& term : make_terms(recipe, dataset)) {
    if (term.kind() != InputKind::kPairs) continue;
    if (!term.takes_keys()) {
      throw usage_error(
          "{}method '{}': objective '{}' compares rows of a batch with each other and takes no keys; choose one that does, or "
          "method {}",
          where, method, term.label(), fmt::join(methods_with(&MethodEntry::takes_any_terms), " or "));
    }
    if (term.on() != TermInput::kProjection) {
      throw usage_error("{}method '{}': objective '{}' must read the projection, of which the keys are; leave its `on` out", where, method,
                        term.label());
    }
    pairwise.push_back(std::move(term));
  }
  return pairwise;
}

Metric false_negative_metric() {
  return {kFalseNegativeShare, "share of false negatives", Unit::kShare, Better::kNeither, Standing::kTraining};
}

}  // namespace debias
