// Linear probes: a linear classifier on the frozen encoder's pooled output (not normalised).
//
// linear_dcl: Adam, 100 epochs, batch 512, on the recipe's training views; reported is the last epoch. Source: Chuang et al. 2020,
// linear.py. Their script leaves the encoder in train mode, so that BatchNorm normalises by the batch, keeps updating its running averages
// during the probe, and is tested with the altered ones: `bn: train` does that, `bn: eval` (default) leaves the encoder alone.
// linear_supcon: SGD with momentum, learning rate x 0.2 after 60, 75 and 90 % of the epochs or after those of `milestones`, crops and
// flips; reported is the best epoch.
// Source: Khosla et al. 2020, main_linear.py. The best epoch is chosen on the valid set where there is one, else, as in their script, on
// the test set itself: an optimistic figure, said so by `selected_on` in the record.
//
// linear_features: Adam with weight decay 1e-4 on stored training features under the evaluation views, batch 2048 without the last partial
// one (a smaller set is one batch), at most 500 epochs, until the training loss has not fallen for 50; reported is the last epoch. Source:
// the separate linear classifier of Barbano et al. 2023 (section 5), with their code's constants; which loss its patience watches is our
// reading. `normalize` evaluates L2-normalised features, as their runs without a head train on.
//
// views: eval extracts the features once and trains on them; the others pass every epoch's views through the encoder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/protocols/softmax_regression.h"
#include "debias/optim/chosen.h"

namespace debias {

enum class ProbeViews { kTrain, kCropFlip, kEval };
template <>
struct EnumNames<ProbeViews> {
  static constexpr std::array<std::pair<std::string_view, ProbeViews>, 3> values = {
      {{"train", ProbeViews::kTrain}, {"crop_flip", ProbeViews::kCropFlip}, {"eval", ProbeViews::kEval}}};
};

enum class ProbeBatchNorm { kEval, kTrain };
template <>
struct EnumNames<ProbeBatchNorm> {
  static constexpr std::array<std::pair<std::string_view, ProbeBatchNorm>, 2> values = {
      {{"eval", ProbeBatchNorm::kEval}, {"train", ProbeBatchNorm::kTrain}}};
};

class LinearProbeOptions {
 public:
  DEBIAS_OPTION(LinearProbeOptions, int64_t, epochs, 100)
  DEBIAS_OPTION(LinearProbeOptions, int64_t, batch_size, 512)
  DEBIAS_OPTION(LinearProbeOptions, double, learning_rate, 1e-3)
  DEBIAS_OPTION(LinearProbeOptions, double, weight_decay, 1e-6)
  DEBIAS_OPTION(LinearProbeOptions, ProbeViews, views, ProbeViews::kTrain)
  DEBIAS_OPTION(LinearProbeOptions, bool, gives_views, false)  // whether they are written
  DEBIAS_OPTION(LinearProbeOptions, Auto<int64_t>, seed, {})
  static const OptionTable<LinearProbeOptions>& table();
};

class LinearDclOptions : public LinearProbeOptions {
 public:
  DEBIAS_OPTION(LinearDclOptions, ProbeBatchNorm, bn, ProbeBatchNorm::kEval)
  static const OptionTable<LinearDclOptions>& table();
};

class LinearSupconOptions : public LinearProbeOptions {
 public:
  LinearSupconOptions();
  DEBIAS_OPTION(LinearSupconOptions, double, momentum, 0.9)
  DEBIAS_OPTION(LinearSupconOptions, double, gamma, 0.2)
  DEBIAS_OPTION(LinearSupconOptions, Auto<std::vector<int64_t>>, milestones, {})
  static const OptionTable<LinearSupconOptions>& table();
};

class LinearFeaturesOptions {
 public:
  LinearFeaturesOptions();
  DEBIAS_OPTION(LinearFeaturesOptions, int64_t, epochs, 500)
  DEBIAS_OPTION(LinearFeaturesOptions, int64_t, batch_size, 2048)
  DEBIAS_OPTION(LinearFeaturesOptions, double, learning_rate, 1e-3)
  DEBIAS_OPTION(LinearFeaturesOptions, double, weight_decay, 1e-4)
  DEBIAS_OPTION(LinearFeaturesOptions, int64_t, patience, 50)
  DEBIAS_OPTION(LinearFeaturesOptions, bool, normalize, false)
  DEBIAS_OPTION(LinearFeaturesOptions, Auto<int64_t>, seed, {})
  static const OptionTable<LinearFeaturesOptions>& table();
};

// One epoch's batches in order: calls back with features [B, D] and labels [B].
using ProbeStep = std::function<void(const at::Tensor& x, const at::Tensor& y)>;
using ProbeBatches = std::function<void(int64_t epoch, const ProbeStep& step)>;

// Batches of stored features, in the order that a shuffled loader of the same seed has: a last smaller batch is kept unless dropped
// (the only batch never is). Rows without a label are left out. `features` must outlive the result.
enum class LastBatch { kKeep, kDrop };
ProbeBatches stored_batches(const Features& features, int64_t batch_size, uint64_t seed, LastBatch last = LastBatch::kKeep);
// The same from views made anew each epoch and passed through the encoder in the mode it is in. Numeric error naming the first sample whose
// feature is not finite; `on_error` is that of the loader (loader.h). The encoder must outlive the result.
ProbeBatches encoded_batches(Encoder& encoder, std::shared_ptr<const Dataset> train, const ViewPipeline& views, int64_t batch_size,
                             int64_t workers, Precision precision, uint64_t seed, OnError on_error = OnError::kStop);

struct ProbeTraining {
  std::string name;  // of the protocol, for messages and progress
  ChosenOptimizer optimizer;
  ChosenSchedule schedule;
  int64_t epochs = 100;
  int64_t patience = 0;  // stop after so many epochs without a lower mean loss; 0: never
};

// Trains `model`; `after_epoch` (may be empty) sees it after each epoch, counted from 1. Returns the mean loss of the last epoch. Numeric
// error when a loss is not finite.
double train_probe(SoftmaxRegression& model, const ProbeBatches& batches, const ProbeTraining& training,
                   const std::function<void(int64_t epoch)>& after_epoch, Progress& progress);

std::vector<Metric> linear_dcl_metrics();
std::vector<Metric> linear_features_metrics();
std::vector<Metric> linear_supcon_metrics();
EvaluationResult run_linear_dcl(const EvaluationInput& input, EvaluationCache& features, const LinearDclOptions& options,
                                Progress& progress);
EvaluationResult run_linear_features(const EvaluationInput& input, EvaluationCache& features, const LinearFeaturesOptions& options,
                                     Progress& progress);
EvaluationResult run_linear_supcon(const EvaluationInput& input, EvaluationCache& features, const LinearSupconOptions& options,
                                   Progress& progress);

}  // namespace debias
