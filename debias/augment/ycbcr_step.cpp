#include "debias/augment/view_steps.h"
#include "debias/image/ycbcr.h"

namespace debias {
namespace {

class RgbToYcbcr : public StepWithOptions<NoOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::optional<Normalisation> normalisation() const override {
    return Normalisation{{kYcbcrMean.begin(), kYcbcrMean.end()}, {kYcbcrStd.begin(), kYcbcrStd.end()}};
  }
  void act(ViewFrame& frame, const StepPlan&) const override { convert_to_ycbcr(frame); }
};

}  // namespace

ViewStepEntry rgb_to_ycbcr_entry() {
  return step_entry<RgbToYcbcr, NoOptions>("rgb_to_ycbcr", {},
                                           "converts sRGB to YCbCr (BT.601), normalised by the range of each coordinate");
}

}  // namespace debias
