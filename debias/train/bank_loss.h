// What an anchor pays for its scores against a memory bank: one of score_losses.h by its options, with the constant that NCE keeps.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/core/safetensors.h"
#include "debias/scores/score_losses.h"

namespace debias {

enum class BankLossKind { kSoftmax, kNce };

template <>
struct EnumNames<BankLossKind> {
  static constexpr std::array<std::pair<std::string_view, BankLossKind>, 2> values = {
      {{"softmax", BankLossKind::kSoftmax}, {"nce", BankLossKind::kNce}}};
};

class BankLossOptions {
 public:
  DEBIAS_OPTION(BankLossOptions, BankLossKind, loss, BankLossKind::kSoftmax)
  DEBIAS_OPTION(BankLossOptions, double, tau_plus, 0)
  DEBIAS_OPTION(BankLossOptions, double, temperature, 0.07)
  static const OptionTable<BankLossOptions>& table();  // refuses `nce` with tau_plus above 0, for which no loss is known
};

// One for each bank: the normaliser of NCE is a bank's own.
class BankLoss {
 public:
  BankLoss(const BankLossOptions& options, int64_t samples);

  void set(const BankLossOptions& options);  // in force from now on

  // scores [B, 1 + K], already divided by the temperature. The first batch sets the normaliser of NCE.
  ScoreLosses operator()(const at::Tensor& scores);

  std::optional<double> normaliser() const { return normaliser_; }
  // The state of a checkpoint: float64 [1], 0 where nothing is set. load(): a data error where the tensor is missing or no normaliser.
  at::Tensor state() const;
  void load(const SafetensorsFile& file, const std::string& name);

 private:
  BankLossOptions options_;
  int64_t samples_;
  std::optional<double> normaliser_;
};

}  // namespace debias
