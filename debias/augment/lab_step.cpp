#include "debias/augment/view_steps.h"
#include "debias/image/lab.h"

namespace debias {
namespace {

class RgbToLab : public StepWithOptions<NoOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::optional<Normalisation> normalisation() const override {
    return Normalisation{{kLabMean.begin(), kLabMean.end()}, {kLabStd.begin(), kLabStd.end()}};
  }
  void act(ViewFrame& frame, const StepPlan&) const override { convert_to_lab(frame); }
};

}  // namespace

ViewStepEntry rgb_to_lab_entry() {
  return step_entry<RgbToLab, NoOptions>("rgb_to_lab", {}, "converts sRGB to L*a*b*, normalised by the range of each coordinate");
}

}  // namespace debias
