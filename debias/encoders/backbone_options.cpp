#include "debias/encoders/backbone_options.h"

#include <fmt/ranges.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/encoders/encoder.h"

namespace debias {

void BackboneOptions::describe(OptionVisitor& o) {
  o("weights", weights, "safetensors file to start from; its keys determine the network");
  o("freeze", freeze, "frozen stages: none, all, their number counted from the input, or the name of the last one");
  o("freeze_epochs", freeze_epochs, Range::closed(0, kMostFreezeEpochs), kFreezeEpochsHelp);
  o("learning_rate", learning_rate, Range::above(0), "factor of the optimizer's learning rate for the encoder");
  o("layer_decay", layer_decay, Range::open_closed(0, 1), "factor of the learning rate from each stage to the one before it");
  o("mean", mean, "mean of each channel, subtracted from values in [0, 1]; none: the published weights' mean, else the data set's");
  o("std", std, Range::above(0), "standard deviation of each channel, by which values are divided; none: as for mean");
  o.check([this](const std::string& what) {
    if (mean.has_value() != std.has_value()) throw usage_error("{}: mean and std go together; give both or none", what);
    if (mean && (mean->empty() || mean->size() != std->size())) {
      throw usage_error("{}: mean has {} values and std {}; give one for each channel", what, mean->size(), std->size());
    }
  });
}

namespace {

std::vector<std::string> stage_names(const std::vector<EncoderStage>& stages) {
  std::vector<std::string> names;
  for (const EncoderStage& stage : stages) names.push_back(stage.name);
  return names;
}

int64_t frozen_count(const Freeze& freeze, const std::vector<std::string>& names, const std::string& what) {
  if (names.empty()) throw usage_error("{}: freeze: this encoder has no stages; give none or all", what);
  if (freeze.kind == Freeze::Kind::kFirst) {
    if (freeze.count <= std::ssize(names)) return freeze.count;
    throw usage_error("{}: freeze: {} stages, but it has {} ({})", what, freeze.count, names.size(), fmt::join(names, ", "));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == freeze.stage) return static_cast<int64_t>(i) + 1;
  }
  std::vector<std::string> known = names;
  known.insert(known.end(), {"none", "all"});
  throw usage_error("{}: freeze: unknown stage '{}'{}", what, freeze.stage, suggestion(freeze.stage, known));
}

}  // namespace

Freeze options_detail::Field<Freeze>::parse(const Config& value, const Range&, const std::string& what) {
  if (!value.is_null() && !value.is_scalar()) refuse(value, what, "none, all, a number of stages or the name of a stage");
  const auto given = Field<std::optional<std::string>>::parse(value, Range::any(), what);
  if (!given) return {};
  if (*given == "all") return {Freeze::Kind::kAll, 0, ""};
  int64_t count = 0;
  if (!value.quoted() && parse_integer(*given, &count)) {
    return {Freeze::Kind::kFirst, Field<int64_t>::parse(value, Range::closed(1, 1000), what), ""};
  }
  return {Freeze::Kind::kThrough, 0, *given};
}

Config options_detail::Field<Freeze>::emit(const Freeze& freeze) {
  switch (freeze.kind) {
    case Freeze::Kind::kAll:
      return Config::scalar("all");
    case Freeze::Kind::kFirst:
      return Config::integer(freeze.count);
    case Freeze::Kind::kThrough:
      return Config::string(freeze.stage);
    case Freeze::Kind::kNone:
      break;
  }
  return Config::scalar("none");
}

void apply_freeze(Encoder& encoder, const Freeze& freeze, const std::string& prefix) {
  if (freeze.kind == Freeze::Kind::kNone) return;
  if (freeze.kind == Freeze::Kind::kAll) return encoder.freeze_all();
  const std::string what = fmt::format("{}encoder '{}'", prefix, encoder.registry_name());
  encoder.freeze_stages(frozen_count(freeze, stage_names(encoder.stages()), what));
}

std::vector<double> rate_factors(const Encoder& encoder, const std::vector<std::string>& parameters, double factor, double decay) {
  std::vector<double> factors(parameters.size(), factor);
  if (decay == 1) return factors;
  const std::vector<EncoderStage> stages = encoder.stages();
  if (stages.empty()) {
    throw usage_error("encoder '{}': layer_decay: this encoder has no stages; leave it out", encoder.registry_name());
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      if (stages[stage].holds(parameters[i])) factors[i] = factor * std::pow(decay, static_cast<double>(stages.size() - stage));
    }
  }
  return factors;
}

}  // namespace debias
