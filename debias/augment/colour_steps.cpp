#include "debias/augment/view_steps.h"
#include "debias/image/colour.h"

namespace debias {
namespace {

// From sRGB to coordinates whose range the normalisation follows.
template <void (*kConvert)(ViewFrame&), const std::array<double, 3>& kMean, const std::array<double, 3>& kStd>
class ColourStep : public StepWithOptions<NoOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::optional<Normalisation> normalisation() const override {
    return Normalisation{{kMean.begin(), kMean.end()}, {kStd.begin(), kStd.end()}};
  }
  void act(ViewFrame& frame, const StepPlan&) const override { kConvert(frame); }
};

}  // namespace

ViewStepEntry rgb_to_lab_entry() {
  return step_entry<ColourStep<convert_to_lab, kLabMean, kLabStd>, NoOptions>(
      "rgb_to_lab", {}, "converts sRGB to L*a*b*, normalised by the range of each coordinate");
}

ViewStepEntry rgb_to_ycbcr_entry() {
  return step_entry<ColourStep<convert_to_ycbcr, kYcbcrMean, kYcbcrStd>, NoOptions>(
      "rgb_to_ycbcr", {}, "converts sRGB to YCbCr (BT.601), normalised by the range of each coordinate");
}

}  // namespace debias
