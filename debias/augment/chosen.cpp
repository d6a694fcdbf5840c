#include "debias/augment/chosen.h"

#include <algorithm>

#include "debias/augment/view_pipeline.h"
#include "debias/augment/view_steps.h"
#include "debias/core/error.h"

namespace debias {
namespace {

std::vector<double> chosen_constants(const std::vector<double>& given, const std::vector<double>& of_the_data, const char* name,
                                     const std::string& prefix) {
  const std::vector<double>& values = given.empty() ? of_the_data : given;
  if (values.empty())
    throw usage_error("{}views: no {} is known for this data set; give normalize: {{mean: [...], std: [...]}}", prefix, name);
  if (values.size() != 1 && values.size() != 3) {
    throw usage_error("{}views: normalize: {}: expected 1 or 3 values, found {}", prefix, name, values.size());
  }
  return values;
}

}  // namespace

bool ChosenViews::leaves_rgb() const {
  return std::ranges::any_of(steps, [](const auto& step) { return step->normalisation().has_value(); });
}

bool ChosenViews::is_random() const {
  return std::ranges::any_of(steps, [](const auto& step) { return step->is_random(); });
}

void ChosenViews::set_normalisation(const Normalisation& of_all) {
  normalize = of_all;
  section.set("normalize", config_of(NormalizeOptions{.mean = of_all.mean, .std = of_all.std}));
}

ViewPipeline ChosenViews::make(const std::vector<double>& mean, const std::vector<double>& std) const {
  Normalisation own{mean, std};
  for (const auto& step : steps) own = step->normalisation().value_or(own);
  const Normalisation given = normalize.value_or(Normalisation());
  Normalisation all = {chosen_constants(given.mean, own.mean, "mean", section.prefix()),
                       chosen_constants(given.std, own.std, "std", section.prefix())};
  for (const double value : all.std) {
    if (!(value > 0)) throw usage_error("{}views: normalize: std: {} is not above 0", section.prefix(), value);
  }
  return {steps, std::move(all)};
}

}  // namespace debias
