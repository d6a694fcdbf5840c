// Optimizers by name: `optimizer: {name: adamw, learning_rate: 1e-3, weight_decay: 0.05, no_decay: [norm, bias], clip_norm: 1}`.
//
// An entry is in one file (sgd.cpp, fused_rules.cpp): its options, the rule that updates parameters, and what the rule remembers
// of each of them, which goes into checkpoints. The options of every entry are in optimizer_entry.h.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"

namespace debias {

// The optimizer and the schedule of a recipe: their options are read and checked, and they can be made from them.

struct MomentumOptions;
class Optimizer;
class Schedule;
struct OptimizedParameter;

struct ChosenOptimizer {
  Config section;            // every option written out, with `name`; reads as the same
  double learning_rate = 0;  // before the schedule
  std::function<std::unique_ptr<Optimizer>(std::vector<OptimizedParameter> parameters)> make;
};
ChosenOptimizer read_optimizer(const Config& section);                          // of none: the first entry
ChosenOptimizer adam_optimizer(double learning_rate, double weight_decay = 0);  // usage errors as of a section
ChosenOptimizer sgd_optimizer(const MomentumOptions& options);

struct ChosenSchedule {
  Config section;  // likewise
  int64_t warmup_epochs = 0;
  // Usage errors: a warm-up from above the learning rate, a run without epochs.
  std::function<std::unique_ptr<Schedule>(double base_learning_rate, int64_t epochs)> make;
};
ChosenSchedule read_schedule(const Config& section);  // of none: the first entry
ChosenSchedule multistep_schedule(const std::vector<int64_t>& milestones, double gamma);

// Input of an optimizer: parameters with a name and a kind, so that options can name "norms" and "biases".

// `norm` means both of a normalisation layer's parameters, `bias` every bias: a norm's bias is meant by either.
enum class ParameterKind { kWeight, kBias, kNormWeight, kNormBias };

struct OptimizedParameter {
  std::string name;  // for messages: "encoder.layer1.0.bn1.weight"
  torch::Tensor tensor;
  ParameterKind kind = ParameterKind::kWeight;
  double rate = 1;  // factor of the learning rate
};

// The parameters of `module`, in the order of module.parameters(). The kind follows from the type of the layer that holds a parameter,
// whatever its name: torch's batch, instance, group and layer normalisation; the biases of linear, bilinear, convolution and recurrent
// layers. A parameter that a module of another type holds itself is a weight.
std::vector<OptimizedParameter> optimized_parameters(const torch::nn::Module& module, const std::string& prefix = "");

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// Gradients whose Euclidean norm is above the bound are multiplied by bound / (norm + 1e-6), as torch.nn.utils.clip_grad_norm_ does.
struct Clipping {
  std::optional<double> norm;             // of all gradients together
  std::optional<double> norm_per_tensor;  // of each tensor's, before that
};

class StateReader;

// Checkpoint format of a rule's state for one parameter.
struct StateFormat {
  NamedTensors (*write)(const torch::optim::OptimizerParamState& state);
  std::unique_ptr<torch::optim::OptimizerParamState> (*read)(StateReader& reader);
};

// A rule over parameters, in the order in which they were given, whatever groups the rule has made of them.
class Optimizer {
 public:
  Optimizer(std::unique_ptr<torch::optim::Optimizer> rule, std::vector<OptimizedParameter> parameters, Clipping clipping,
            StateFormat format);

  void zero_grad() { rule_->zero_grad(); }
  // Clips the gradients, then updates the parameters. Numeric error where a factor of the rule does not fit into their type; parameters
  // before the one in question are then updated.
  void step();
  void set_learning_rate(double learning_rate);

  torch::optim::Optimizer& rule() { return *rule_; }
  const torch::optim::Optimizer& rule() const { return *rule_; }
  const std::vector<OptimizedParameter>& parameters() const { return parameters_; }
  const StateFormat& state_format() const { return format_; }

 private:
  std::unique_ptr<torch::optim::Optimizer> rule_;
  std::vector<OptimizedParameter> parameters_;
  std::vector<double> factors_;  // of the learning rate, by group
  Clipping clipping_;
  StateFormat format_;
};

struct OptimizerEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<ChosenOptimizer(const Config& section)> read;
};
const std::vector<OptimizerEntry>& optimizer_registry();
void set_learning_rate(Optimizer& optimizer, double learning_rate);  // of every group, times its factor (OptimizedParameter::rate)

// The optimizer's state as named tensors ("0.exp_avg", "0.exp_avg_sq", "0.step" as 0-d int64, "0.momentum_buffer"), in parameter order, and
// back. A state that was never stepped has no tensors. load throws a data error on a missing or misshapen tensor and then changes nothing.
NamedTensors optimizer_state(const Optimizer& optimizer);
void load_optimizer_state(Optimizer& optimizer, const NamedTensors& state);

}  // namespace debias
