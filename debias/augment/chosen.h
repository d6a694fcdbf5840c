// Views as a recipe chooses them: their steps are read and checked, and what is left is the normalisation that a data set may give.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/augment/view_target.h"
#include "debias/core/config.h"

namespace debias {

class ViewPipeline;
class ViewStep;

struct ChosenViews {
  Config section = {};  // as given, without the keys of others and `eval`; reads as the same
  std::vector<std::shared_ptr<const ViewStep>> steps = {};
  std::optional<Normalisation> normalize = {};        // as given: one of its lists may be empty
  std::shared_ptr<const ChosenViews> eval = nullptr;  // `eval`: the views of evaluation; null: none are given

  bool leaves_rgb() const;  // whether a step turns colours into other coordinates
  bool is_random() const;   // false: every view of an image is the same
  void set_normalisation(const Normalisation& of_all);
  // `mean` and `std` are the data set's constants, used unless the section has `normalize: {mean, std}` or a step has its own; one value
  // serves all channels. Usage errors: neither gives them, a number of values that is not 1 or 3.
  ViewPipeline make(const std::vector<double>& mean, const std::vector<double>& std) const;
};

// From a recipe's `views:` section; keys in `others` (count, forward, noise) are the caller's.
ChosenViews read_views(const Config& section, const std::vector<std::string>& others = {});

// From its `eval`: a preset's name, a section of its own, or step names with options, applied in the order written.
ChosenViews read_eval_views(const Config& written);

}  // namespace debias
