#include "debias/optim/optimizer.h"

#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include "debias/core/registry.h"

namespace debias {
namespace {

class AdamOptions {
 public:
  DEBIAS_OPTION(AdamOptions, double, learning_rate, 1e-3)
  DEBIAS_OPTION(AdamOptions, std::vector<double>, betas, {0.9, 0.999})
  DEBIAS_OPTION(AdamOptions, double, eps, 1e-8)
  DEBIAS_OPTION(AdamOptions, double, weight_decay, 0)

  static const OptionTable<AdamOptions>& table() {
    static const auto table =
        OptionTable<AdamOptions>()
            .add("learning_rate", &AdamOptions::learning_rate_, Range::at_least(0), "step size, before the schedule")
            .add("betas", &AdamOptions::betas_, Range::half_open(0, 1), "decay of the running means of the gradient and of its square")
            .add("eps", &AdamOptions::eps_, Range::above(0), "added to the root of the mean square")
            .add("weight_decay", &AdamOptions::weight_decay_, Range::at_least(0), "L2: times the weights, added to the gradient")
            .check([](const AdamOptions& options, const std::string& what) {
              if (options.betas().size() != 2) throw usage_error("{}: betas: expected two numbers, found {}", what, options.betas().size());
            });
    return table;
  }

  std::unique_ptr<torch::optim::Optimizer> make(std::vector<torch::Tensor> parameters) const {
    const auto options = torch::optim::AdamOptions(learning_rate()).betas({betas()[0], betas()[1]}).eps(eps()).weight_decay(weight_decay());
    return std::make_unique<torch::optim::Adam>(std::move(parameters), options);
  }
};

class SgdOptions {
 public:
  DEBIAS_OPTION(SgdOptions, double, learning_rate, 0.1)
  DEBIAS_OPTION(SgdOptions, double, momentum, 0.9)
  DEBIAS_OPTION(SgdOptions, double, weight_decay, 0)

  static const OptionTable<SgdOptions>& table() {
    static const auto table =
        OptionTable<SgdOptions>()
            .add("learning_rate", &SgdOptions::learning_rate_, Range::at_least(0), "step size, before the schedule")
            .add("momentum", &SgdOptions::momentum_, Range::half_open(0, 1), "decay of the running sum of gradients; not Nesterov's")
            .add("weight_decay", &SgdOptions::weight_decay_, Range::at_least(0), "L2: times the weights, added to the gradient");
    return table;
  }

  std::unique_ptr<torch::optim::Optimizer> make(std::vector<torch::Tensor> parameters) const {
    const auto options = torch::optim::SGDOptions(learning_rate()).momentum(momentum()).weight_decay(weight_decay());
    return std::make_unique<torch::optim::SGD>(std::move(parameters), options);
  }
};

template <class Options>
Options read(const Config& section, const std::string& name) {
  return Options::table().read(section_map(section), "optimizer '" + name + "'", {"name"});
}

template <class Options>
OptimizerEntry optimizer_entry(const std::string& name, const std::string& summary) {
  const auto make = [name](const Config& section, std::vector<torch::Tensor> parameters) {
    return read<Options>(section, name).make(std::move(parameters));
  };
  return {name, {}, summary, Options::table().specs(), make};
}

const OptimizerEntry& find(const Config& section) {
  return find_entry(optimizer_registry(), section_name(section, "optimizer"), "optimizer", section.prefix());
}

}  // namespace

const std::vector<OptimizerEntry>& optimizer_registry() {
  static const std::vector<OptimizerEntry> registry = {
      optimizer_entry<AdamOptions>("adam", "Adam (Kingma and Ba 2015); weight decay is L2, not decoupled"),
      optimizer_entry<SgdOptions>("sgd", "stochastic gradient descent with momentum"),
  };
  return registry;
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Config& section, std::vector<torch::Tensor> parameters) {
  return find(section).make(section, std::move(parameters));
}

Config resolved_optimizer(const Config& section) {
  const std::string& name = find(section).name;
  Config config;
  config.set("name", Config::string(name));
  config.overlay(name == "adam" ? AdamOptions::table().write(read<AdamOptions>(section, name))
                                : SgdOptions::table().write(read<SgdOptions>(section, name)));
  return config;
}

double base_learning_rate(const Config& section) {
  double value = 0;
  parse_number(resolved_optimizer(section).find("learning_rate")->text(), &value);
  return value;
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double learning_rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(learning_rate);
}

}  // namespace debias
