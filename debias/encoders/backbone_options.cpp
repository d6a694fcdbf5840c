#include "debias/encoders/backbone_options.h"

#include "debias/core/error.h"

namespace debias {

const OptionTable<BackboneOptions>& BackboneOptions::table() {
  using Self = BackboneOptions;
  static const auto table =
      OptionTable<Self>()
          .add("weights", &Self::weights_, "safetensors file to start from; its keys determine the network")
          .add("freeze", &Self::freeze_, "frozen stages: none, all, their number counted from the input, or the name of the last one")
          .add("freeze_epochs", &Self::freeze_epochs_, Range::closed(0, kMostFreezeEpochs), kFreezeEpochsHelp)
          .add("learning_rate", &Self::learning_rate_, Range::above(0), "factor of the optimizer's learning rate for the encoder")
          .add("layer_decay", &Self::layer_decay_, Range::open_closed(0, 1),
               "factor of the learning rate from each stage to the one before it")
          .add("mean", &Self::mean_,
               "mean of each channel, subtracted from values in [0, 1]; none: the published weights' mean, else the data set's")
          .add("std", &Self::std_, Range::above(0), "standard deviation of each channel, by which values are divided; none: as for mean")
          .check([](const BackboneOptions& options, const std::string& what) {
            const auto &mean = options.mean(), &std = options.std();
            if (mean.has_value() != std.has_value()) throw usage_error("{}: mean and std go together; give both or none", what);
            if (mean && (mean->empty() || mean->size() != std->size())) {
              throw usage_error("{}: mean has {} values and std {}; give one for each channel", what, mean->size(), std->size());
            }
          });
  return table;
}

}  // namespace debias
