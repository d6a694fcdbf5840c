#include "debias/train/methods/cmc.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/data/dataset.h"
#include "debias/encoders/state.h"
#include "debias/loader/batch_source.h"
#include "debias/losses/comparison.h"
#include "debias/losses/objective.h"
#include "debias/runtime/device.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/method.h"

namespace debias {
namespace {

class ChannelHalves final : public Encoder {
 public:
  ChannelHalves(std::shared_ptr<Encoder> first, std::shared_ptr<Encoder> second, int64_t channels)
      : first_(register_module("first", std::move(first))), second_(register_module("second", std::move(second))), channels_(channels) {}

  torch::Tensor forward(const torch::Tensor& images) override {
    const auto part = [&](int64_t begin, int64_t end) {
      const torch::Tensor own = images.slice(1, begin, end);
      return images.is_contiguous(at::MemoryFormat::ChannelsLast) ? own.contiguous(at::MemoryFormat::ChannelsLast) : own.contiguous();
    };
    return at::cat({first_->forward(part(0, channels_)), second_->forward(part(channels_, images.size(1)))}, 1);
  }
  int64_t feature_dim() const override { return first_->feature_dim() + second_->feature_dim(); }
  std::string registry_name() const override { return first_->registry_name(); }

 private:
  std::shared_ptr<Encoder> first_, second_;
  int64_t channels_;
};

class HeadHalves final : public Head {
 public:
  HeadHalves(std::shared_ptr<Head> first, std::shared_ptr<Head> second, int64_t features)
      : Head(first->output_dim() + second->output_dim()),
        first_(register_module("first", std::move(first))),
        second_(register_module("second", std::move(second))),
        features_(features) {}

  torch::Tensor forward(const torch::Tensor& features) override {
    return at::cat({first_->forward(features.slice(1, 0, features_)), second_->forward(features.slice(1, features_))}, 1);
  }

 private:
  std::shared_ptr<Head> first_, second_;
  int64_t features_;
};

}  // namespace

std::shared_ptr<Encoder> channel_halves(std::shared_ptr<Encoder> first, std::shared_ptr<Encoder> second, int64_t channels) {
  return std::make_shared<ChannelHalves>(std::move(first), std::move(second), channels);
}

std::shared_ptr<Head> head_halves(std::shared_ptr<Head> first, std::shared_ptr<Head> second, int64_t features) {
  return std::make_shared<HeadHalves>(std::move(first), std::move(second), features);
}

namespace {

enum class BankStream : uint16_t { kDraws = 0, kFirstRows = 1 };

Random bank_random(BankStream stream, uint64_t seed, uint64_t step, int64_t row, uint16_t number) {
  RngKey key = {.domain = RngDomain::kBank,
                .seed = seed,
                .epoch = step,
                .sample = static_cast<uint64_t>(row),
                .view = number,
                .step = static_cast<uint16_t>(stream)};
  return Random(key);
}

// Lemire's method (philox.cpp) on 32 bits, of which a batch's draws need half as many.
int32_t below(Random& random, uint32_t n) {
  const uint32_t biased = (0 - n) % n;
  while (true) {
    const uint64_t product = uint64_t{random.bits()} * n;
    if (static_cast<uint32_t>(product) >= biased) return static_cast<int32_t>(product >> 32);
  }
}

void require_samples(const at::Tensor& ids, int64_t samples) {
  if (ids.scalar_type() != at::kLong || ids.dim() != 1) throw std::logic_error("memory bank: ids are int64 [B]");
  if (ids.numel() == 0) return;
  const auto [low, high] = at::aminmax(ids);
  if (low.item<int64_t>() >= 0 && high.item<int64_t>() < samples) return;
  throw data_error("memory bank: samples {} to {} in the batch, and the bank has rows 0 to {}", low.item<int64_t>(), high.item<int64_t>(),
                   samples - 1);
}

}  // namespace

MemoryBank::MemoryBank(int64_t samples, int64_t dim, uint64_t seed, uint16_t number, c10::Device device) {
  if (samples < 1 || dim < 1 || samples > std::numeric_limits<int32_t>::max()) {
    throw data_error("memory bank: expected 1 to 2147483647 samples of at least 1 dimension, found {} of {}", samples, dim);
  }
  rows_ = at::empty({samples, dim}, at::kFloat);
  const double bound = 1 / std::sqrt(static_cast<double>(dim) / 3);
  float* const values = rows_.mutable_data_ptr<float>();
  at::parallel_for(0, samples, 256, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      Random random = bank_random(BankStream::kFirstRows, seed, 0, row, number);
      for (int64_t d = 0; d < dim; ++d) values[row * dim + d] = static_cast<float>(random.uniform(-bound, bound));
    }
  });
  rows_ = upload(rows_, device);
}

void MemoryBank::update(const at::Tensor& ids, const at::Tensor& features, double momentum) {
  require_samples(ids, samples());
  const at::NoGradGuard no_grad;
  // Of a sample's features the last: index_copy_ has no order among equal rows.
  std::map<int64_t, int64_t> last;
  const auto row = ids.accessor<int64_t, 1>();
  for (int64_t i = 0; i < ids.size(0); ++i) last[row[i]] = i;
  std::vector<int64_t> rows, sources;
  for (const auto& [id, source] : last) {
    rows.push_back(id);
    sources.push_back(source);
  }
  const at::Tensor into = upload(at::tensor(rows, at::kLong), rows_.device());
  const at::Tensor given = features.detach().to(rows_.options()).index_select(0, upload(at::tensor(sources, at::kLong), rows_.device()));
  rows_.index_copy_(0, into, unit_rows(rows_.index_select(0, into).mul_(momentum).add_(given, 1 - momentum)));
}

void MemoryBank::load(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr) throw data_error("{}: no memory bank '{}' in it; resume a run of this method", file.path(), name);
  if (entry->dtype != DType::kFloat32 || rows_.sizes() != entry->shape) {
    throw data_error(
        "{}: memory bank '{}' is [{}], and the data and the head ask for [{}]; resume with the data and the head it began with",
        file.path(), name, fmt::join(entry->shape, ", "), fmt::join(rows_.sizes(), ", "));
  }
  const at::Tensor stored = read_tensor(file, *entry);
  if (!at::isfinite(stored).all().item<bool>()) throw data_error("{}: memory bank '{}' has numbers that are not finite", file.path(), name);
  rows_.copy_(stored);
}

at::Tensor normaliser_state(const BankNce& nce) { return at::full({1}, nce.normaliser().value_or(0), at::kDouble); }

void load_normaliser(BankNce& nce, const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr || entry->dtype != DType::kFloat64 || entry->shape != std::vector<int64_t>{1}) {
    throw data_error("{}: no normaliser '{}' of a memory bank in it; resume a run of this method", file.path(), name);
  }
  const double stored = read_tensor(file, *entry).item<double>();
  if (!(stored >= 0) || !std::isfinite(stored)) {
    throw data_error("{}: normaliser '{}' of a memory bank is {}, where 0 or more was expected", file.path(), name, stored);
  }
  nce.set_normaliser(stored > 0 ? std::optional<double>(stored) : std::nullopt);
}

at::Tensor draw_bank_ids(const at::Tensor& own, int64_t negatives, int64_t samples, uint64_t seed, uint64_t step) {
  require_samples(own, samples);
  const int64_t batch = own.size(0), each = 1 + negatives;
  const at::Tensor ids = at::empty({batch, each}, at::kInt);
  int32_t* const drawn = ids.mutable_data_ptr<int32_t>();
  const auto first_of = own.accessor<int64_t, 1>();
  at::parallel_for(0, batch, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      Random random = bank_random(BankStream::kDraws, seed, step, i, 0);
      drawn[i * each] = static_cast<int32_t>(first_of[i]);
      for (int64_t k = 1; k < each; ++k) drawn[i * each + k] = below(random, static_cast<uint32_t>(samples));
    }
  });
  return ids;
}

namespace {

constexpr int64_t kFirstChannels = 1;                 // L, or Y
constexpr uint64_t kSecondHalf = 0x9e3779b97f4a7c15;  // keeps the two networks' first weights apart
constexpr std::array<const char*, 2> kBankNames = {"bank.first", "bank.second"};
constexpr std::array<const char*, 2> kNormaliserNames = {"bank.first.normaliser", "bank.second.normaliser"};

class Cmc final : public Method {
 public:
  Cmc(const Recipe& recipe, const SampleTable& dataset, const CmcOptions& options, MethodParts parts)
      : Method(std::move(parts)), options_(options), seed_(recipe.seed), labels_(at::empty({dataset.size()}, at::kLong)) {
    const int64_t dim = model().head->output_dim() / 2;
    for (uint16_t half = 0; half < 2; ++half) {
      banks_.emplace_back(dataset.size(), dim, recipe.seed, half, this->parts().forward.device);
      nce_.emplace_back(dataset.size());
    }
    for (int64_t i = 0; i < dataset.size(); ++i) labels_.data_ptr<int64_t>()[i] = dataset.label(i);
  }

  std::vector<std::pair<std::string, at::Tensor>> state() const override {
    std::vector<std::pair<std::string, at::Tensor>> all;
    for (size_t half = 0; half < 2; ++half) {
      all.emplace_back(kBankNames[half], banks_[half].rows());
      all.emplace_back(kNormaliserNames[half], normaliser_state(nce_[half]));
    }
    return all;
  }

  void load(const SafetensorsFile& file) override {
    for (size_t half = 0; half < 2; ++half) {
      banks_[half].load(file, kBankNames[half]);
      load_normaliser(nce_[half], file, kNormaliserNames[half]);
    }
  }

 protected:
  Evaluated differentiate(const Batch& batch, int64_t step) override {
    const ModelOutput output = of_all_ranks(forward(model(), batch.images(), parts().forward), batch);
    const at::Tensor halves = output.projection.select(1, 0).unflatten(1, {2, -1});
    features_ = unit_rows(halves);  // [B, 2, D]
    own_ = at::tensor(batch.indices, at::kLong);
    shared_ = draws(own_.slice(0, 0, 1), step).slice(1, 1).flatten().to(at::kLong);
    Evaluated evaluated = evaluate(output, batch, [&](const Term& term, const at::Tensor& logits) {
      const ObjectiveInput input = input_of(term, batch, output, logits);
      if (term.kind() != InputKind::kPairs) return term.objective()(input);
      return draws_for_each(term) ? term.objective().on_scores(own_draws(step)) : by_keys(term, input);
    });
    count_false_negatives(batch, evaluated);
    backward(evaluated, output);
    return evaluated;
  }

  void after_update(const Batch&) override {
    for (int64_t half = 0; half < 2; ++half) {
      banks_[static_cast<size_t>(half)].update(own_, features_.select(1, half).detach(), options_.momentum);
    }
  }

 private:
  at::Tensor draws(const at::Tensor& own, int64_t step) const {
    return draw_bank_ids(own, options_.negatives, banks_[0].samples(), seed_, static_cast<uint64_t>(step));
  }

  at::Tensor there(const at::Tensor& host) const { return upload(host, parts().forward.device); }

  bool draws_for_each(const Term& term) const {
    return options_.loss == BankLossKind::kNce || term.objective().refusal(ScoreForm::kDraws).empty();
  }

  Scores own_draws(int64_t step) {
    const at::Tensor ids = draws(own_, step);
    std::vector<BankDraws> directions;
    for (size_t half = 0; half < 2; ++half) {
      directions.push_back({.anchors = features_.select(1, static_cast<int64_t>(half)).contiguous(),
                            .bank = banks_[1 - half].rows(),
                            .ids = ids,
                            .nce = options_.loss == BankLossKind::kNce ? &nce_[half] : nullptr});
    }
    return {std::move(directions)};
  }

  // The same draws for all anchors, so that keys are rows that they share.
  ObjectiveResult by_keys(const Term& term, const ObjectiveInput& all) const {
    std::vector<ObjectiveResult> found;
    for (int64_t half = 0; half < 2; ++half) {
      const at::Tensor& bank = banks_[static_cast<size_t>(1 - half)].rows();
      ObjectiveInput input = all;
      input.z = features_.slice(1, half, half + 1);
      input.vouched = false;  // rows of a young bank are of any length
      input.samples = there(own_);
      input.positives = bank.index_select(0, input.samples).unsqueeze(1);
      input.key_samples = there(shared_);
      input.keys = bank.index_select(0, input.key_samples);
      input.key_labels = there(labels_.index_select(0, shared_));
      found.push_back(term.objective()(input));
    }
    return joined(found, 1);
  }

  // Of a batch's anchors and its draws: what tau_plus is an estimate of. A sample of the draws is enough.
  void count_false_negatives(const Batch& batch, Evaluated& evaluated) const {
    const at::Tensor label = at::tensor(batch.labels, at::kLong).unsqueeze(1), drawn = labels_.index_select(0, shared_);
    const at::Tensor known = label.ge(0).logical_and(drawn.ge(0)).logical_and(own_.unsqueeze(1).ne(shared_));
    const auto count = [](const at::Tensor& marks) { return LateNumber(marks.sum().item<int64_t>()); };  // on the host
    evaluated.metrics.push_back({kFalseNegativeShare, count(known.logical_and(label.eq(drawn))), count(known)});
  }

  CmcOptions options_;
  uint64_t seed_;
  at::Tensor labels_;  // of all samples, on the host
  std::vector<MemoryBank> banks_;
  std::vector<BankNce> nce_;  // in use where loss: nce
  at::Tensor features_;       // of the step under way
  at::Tensor own_, shared_;   // on the host, of the step under way; shared: the draws of its first anchor, which may stand for all
};

void require_terms(const Recipe& recipe, const SampleTable& dataset, const CmcOptions& options) {
  const auto terms = require_keyed_terms(recipe, dataset, "cmc");
  if (options.loss != BankLossKind::kNce) return;
  const std::string& where = recipe.method.where;
  if (terms.size() > 1) {
    throw usage_error("{}method 'cmc': loss: nce has one constant for each bank, and there are several terms; give one, or loss: softmax",
                      where);
  }
  for (const auto& term : terms) {
    const std::string why = term.objective().refusal(ScoreForm::kNceDraws);
    if (!why.empty()) throw usage_error("{}method 'cmc': loss: nce: {}, or write loss: softmax", where, why);
  }
}

void check_cmc(const Recipe& recipe, const SampleTable& dataset) {
  require_images(recipe, dataset, "cmc");
  const auto& options = recipe.method.as<CmcOptions>();
  const std::string& where = recipe.method.where;
  if (recipe.views.count != 1) {
    throw usage_error("{}method 'cmc' splits one view of an image into its channels, views.count is {}; write 1", where,
                      recipe.views.count);
  }
  if (dataset.info().channels != 3) {
    throw usage_error("{}method 'cmc' needs colour images, data set '{}' has {} channel", where, dataset.info().name,
                      dataset.info().channels);
  }
  if (!recipe.view_steps.leaves_rgb()) {
    throw usage_error(
        "{}method 'cmc' splits lightness from colour, and the views stay RGB; add the step rgb_to_lab or rgb_to_ycbcr, or take "
        "the preset cmc_lab or cmc_ycbcr",
        where);
  }
  if (const auto& weights = recipe.encoder.backbone.weights) {
    throw usage_error("{}method 'cmc' begins with networks of its own, encoder.weights is {}; leave it out", where, *weights);
  }
  require_terms(recipe, dataset, options);
}

Model halves_of(const Recipe& recipe, int64_t in_channels) {
  const auto first = recipe.encoder.make(kFirstChannels, recipe.seed);
  const auto second = recipe.encoder.make(in_channels - kFirstChannels, recipe.seed ^ kSecondHalf);
  const int64_t features = first->feature_dim();
  Model model;
  model.encoder = channel_halves(first, second, kFirstChannels);
  model.head = head_halves(recipe.head.make(features, recipe.seed), recipe.head.make(features, recipe.seed ^ kSecondHalf), features);
  return model;
}

}  // namespace

MethodEntry cmc_entry() {
  MethodEntry entry;
  entry.name = "cmc";
  entry.summary = "contrasts lightness with colour, each with its own network and memory bank (Tian, Krishnan and Isola 2020)";
  take_options<CmcOptions>(entry);
  entry.check = check_cmc;
  entry.networks = halves_of;
  entry.gives_keys = true;
  entry.equals_one_process = false;  // its bank draws by occurrence
  entry.metrics = {false_negative_metric()};
  entry.negatives = [](const Recipe&) { return Negatives::kAllSamples; };
  entry.make = [](const Recipe& recipe, const SampleTable& dataset, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Cmc>(recipe, dataset, recipe.method.as<CmcOptions>(), std::move(parts));
  };
  return entry;
}

}  // namespace debias
