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

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"
#include "debias/optim/optimizer.h"

namespace debias {

// Softmax regression: the linear classifier that a probe trains on features.
//
//   logits = x W^T + b,   loss = -mean_i log softmax(logits_i)[y_i],
//   dL/dW = (P - Y)^T x / B,   dL/db = column sums of (P - Y) / B        (P softmax rows, Y one-hot rows)
//
// x float32 [B, D], W [C, D], b [C]. W and b start uniform in +-1/sqrt(D), as torch.nn.Linear does, from `seed` alone.

class SoftmaxRegression {
 public:
  SoftmaxRegression(int64_t features, int64_t classes, uint64_t seed);

  at::Tensor logits(const at::Tensor& x) const;
  // Sets the gradients of the parameters, in closed form, and returns the mean loss. y int64 [B], in [0, C).
  double set_gradients(const at::Tensor& x, const at::Tensor& y);
  std::vector<at::Tensor> parameters() const { return {weight_, bias_}; }

 private:
  at::Tensor weight_, bias_;
};

enum class ProbeViews { kTrain, kCropFlip, kEval };
constexpr auto enum_words(ProbeViews) { return named("train", "crop_flip", "eval"); }

enum class ProbeBatchNorm { kEval, kTrain };
constexpr auto enum_words(ProbeBatchNorm) { return named("eval", "train"); }

struct LinearProbeOptions {
  int64_t epochs = 100;
  int64_t batch_size = 512;
  double learning_rate = 1e-3;
  double weight_decay = 1e-6;
  std::optional<ProbeViews> given_views = {};
  ProbeViews usual_views = ProbeViews::kTrain;
  Auto<int64_t> seed = {};
  void describe(OptionVisitor& o) {
    o("epochs", epochs, Range::closed(1, 100000), "passes over the labelled training images");
    o("batch_size", batch_size, Range::closed(1, 1 << 20), "batch size in images");
    o("learning_rate", learning_rate, Range::closed(0, 1e6), "initial learning rate");
    o("weight_decay", weight_decay, Range::closed(0, 1e6), "L2 penalty: multiplies the weights and is added to the gradient");
    o.dependent("views", given_views, usual_views, "views of the training images: the recipe's, a random crop and flip, or none (fast)");
    o("seed", seed, Range::at_least(0), "seed of initialisation, sample order and views; auto: the run's");
  }
  ProbeViews views() const { return given_views.value_or(usual_views); }
};

struct LinearDclOptions : LinearProbeOptions {
  ProbeBatchNorm bn = ProbeBatchNorm::kEval;
  void describe(OptionVisitor& o) {
    LinearProbeOptions::describe(o);
    o("bn", bn, "mode of the encoder's BatchNorm during the probe; train: batch statistics, running averages are updated (DCL's code)");
  }
};

struct LinearSupconOptions : LinearProbeOptions {
  LinearSupconOptions();
  double momentum = 0.9;
  double gamma = 0.2;
  Auto<std::vector<int64_t>> milestones = {};
  void describe(OptionVisitor& o);
};

struct LinearFeaturesOptions {
  int64_t epochs = 500;
  int64_t batch_size = 2048;
  double learning_rate = 1e-3;
  double weight_decay = 1e-4;
  int64_t patience = 50;
  bool normalize = false;
  Auto<int64_t> seed = {};
  void describe(OptionVisitor& o) {
    o("epochs", epochs, Range::closed(1, 100000), "maximum number of passes over the stored features");
    o("batch_size", batch_size, Range::closed(1, 1 << 20), "batch size in images; a last smaller batch is dropped");
    o("learning_rate", learning_rate, Range::closed(0, 1e6), "learning rate");
    o("weight_decay", weight_decay, Range::closed(0, 1e6), "L2 penalty: multiplies the weights and is added to the gradient");
    o("patience", patience, Range::closed(0, 100000), "number of epochs without a lower loss before training stops; 0: no early stopping");
    o("normalize", normalize, "divide features by their norms first");
    o("seed", seed, Range::at_least(0), "seed of initialisation and sample order; auto: the run's");
  }
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
