#include "debias/train/bank_loss.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/encoders/state.h"

namespace debias {

const OptionTable<BankLossOptions>& BankLossOptions::table() {
  static const auto table =
      OptionTable<BankLossOptions>()
          .add("loss", &BankLossOptions::loss_, "softmax over positive and negatives, or noise-contrastive estimation")
          .add("tau_plus", &BankLossOptions::tau_plus_, Range::half_open(0, 1),
               "probability of a negative to be of the anchor's class; 0: biased")
          // e^{1/t} is formed as it is, in double
          .add("temperature", &BankLossOptions::temperature_, Range::closed(2e-3, 100), "divides scores")
          .check([](const BankLossOptions& options, const std::string& what) {
            if (options.loss() == BankLossKind::kSoftmax || options.tau_plus() == 0) return;
            throw usage_error("{}: tau_plus: {} with loss: nce, for which no debiased form is known; give loss: softmax or tau_plus: 0",
                              what, options.tau_plus());
          });
  return table;
}

BankLoss::BankLoss(const BankLossOptions& options, int64_t samples) : samples_(samples) { set(options); }

void BankLoss::set(const BankLossOptions& options) {
  BankLossOptions::table().verify(options, "bank loss");
  options_ = options;
}

ScoreLosses BankLoss::operator()(const at::Tensor& scores) {
  if (options_.loss() == BankLossKind::kNce) {
    if (!normaliser_) normaliser_ = nce_normaliser(scores, samples_);
    return nce_losses(scores, samples_, *normaliser_);
  }
  if (options_.tau_plus() == 0) return softmax_losses(scores);
  return debiased_softmax_losses(scores, options_.tau_plus(), options_.temperature());
}

at::Tensor BankLoss::state() const { return at::full({1}, normaliser_.value_or(0), at::kDouble); }

void BankLoss::load(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr || entry->dtype != DType::kFloat64 || entry->shape != std::vector<int64_t>{1}) {
    throw data_error("{}: no normaliser '{}' of a memory bank in it; resume a run of this method", file.path(), name);
  }
  const double stored = read_tensor(file, *entry).item<double>();
  if (!(stored >= 0) || !std::isfinite(stored)) {
    throw data_error("{}: normaliser '{}' of a memory bank is {}, where 0 or more was expected", file.path(), name, stored);
  }
  normaliser_ = stored > 0 ? std::optional<double>(stored) : std::nullopt;
}

}  // namespace debias
