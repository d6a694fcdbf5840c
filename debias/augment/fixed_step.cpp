#include "debias/augment/fixed_step.h"

#include <memory>

#include "debias/augment/step_options.h"
#include "debias/augment/view_pipeline.h"
#include "debias/augment/view_steps.h"
#include "debias/core/error.h"
#include "debias/image/blur.h"
#include "debias/image/colour.h"
#include "debias/image/geometry.h"

namespace debias {
namespace {

using Step = std::function<void(Image&)>;

std::string what_of(const std::string& name) { return "view step '" + name + "'"; }

template <class Options>
FixedStepEntry entry(std::string name, std::vector<std::string> aliases, std::string summary, void (*act)(Image&, const Options&)) {
  auto make = [name, act](const Config& given) -> Step {
    const Options options = options_from<Options>(given, what_of(name));
    return [options, act](Image& image) { act(image, options); };
  };
  return {std::move(name), std::move(aliases), std::move(summary), option_specs<Options>(), std::move(make)};
}

// A step of a recipe that draws nothing.
FixedStepEntry from_view_step(const ViewStepEntry& step) {
  auto make = [make_step = step.make](const Config& given) -> Step {
    return [made = std::shared_ptr<const ViewStep>(make_step(given))](Image& image) { made->apply(image, RngKey()); };
  };
  return {step.name, step.aliases, step.summary, step.options, std::move(make)};
}

struct BoxOptions {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 1;
  int64_t width = 1;
  Box box() const { return {static_cast<int>(top), static_cast<int>(left), static_cast<int>(height), static_cast<int>(width)}; }
  void describe(OptionVisitor& o) {
    o("top", top, Range::closed(0, 1e6), "first row");
    o("left", left, Range::closed(0, 1e6), "first column");
    o("height", height, Range::closed(1, 1e6), "rows");
    o("width", width, Range::closed(1, 1e6), "columns");
  }
};

void check_inside(const Image& image, const Box& box, const char* step) {
  const bool inside = box.top + box.height <= image.height && box.left + box.width <= image.width;
  if (inside) return;
  throw usage_error("{}: rows {}..{} and columns {}..{} are not inside the image of {} x {} pixels; give a box inside it, or pad first",
                    step, box.top, box.top + box.height, box.left, box.left + box.width, image.height, image.width);
}

void crop(Image& image, const BoxOptions& options) {
  check_inside(image, options.box(), "crop");
  image = padded_crop(image, options.box());
}

struct ResizedCropOptions : BoxOptions {
  Extent size = {32, 0};
  void describe(OptionVisitor& o) {
    BoxOptions::describe(o);
    o("size", size, Range::closed(1, kLargestExtent), "size of the result, square or [height, width]");
  }
};

void resized_crop_to(Image& image, const ResizedCropOptions& options) {
  check_inside(image, options.box(), "resized_crop");
  const Extent& size = options.size;
  image = resized_crop(image, options.box(), size.height, size.square() ? size.height : size.width);
}

struct PadOptions {
  int64_t padding = 0;
  void describe(OptionVisitor& o) { o("padding", padding, Range::closed(0, kLargestExtent), "black pixels on every side"); }
};

void pad(Image& image, const PadOptions& options) {
  const int padding = static_cast<int>(options.padding);
  image = padded_crop(image, {-padding, -padding, image.height + 2 * padding, image.width + 2 * padding});
}

struct FactorOptions {
  double factor = 1;
  void describe(OptionVisitor& o) { o("factor", factor, Range::closed(0, 1e6), "factor of the blend; 1 changes nothing"); }
};

struct HueOptions {
  double factor = 0;
  void describe(OptionVisitor& o) { o("factor", factor, Range::closed(-0.5, 0.5), "hue shift in turns"); }
};

struct BlurOptions {
  int64_t kernel = 3;
  double sigma = 1;
  void describe(OptionVisitor& o) {
    o("kernel", kernel, Range::closed(1, 999), "side of the kernel in pixels, odd");
    o("sigma", sigma, Range::closed(1e-3, 1e3), "standard deviation in pixels");
  }
};

struct RotateOptions {
  double degrees = 0;
  void describe(OptionVisitor& o) { o("degrees", degrees, Range::closed(-360, 360), "counter-clockwise"); }
};

std::vector<FixedStepEntry> all_steps() {
  return {
      from_view_step(resize_entry()),
      entry<BoxOptions>("crop", {}, "a part of the image", crop),
      entry<ResizedCropOptions>("resized_crop", {}, "a part of the image, resized", resized_crop_to),
      from_view_step(center_crop_entry()),
      entry<PadOptions>("pad", {}, "black pixels around the image", pad),
      entry<NoOptions>("hflip", {"horizontal_flip"}, "mirrors left and right",
                       [](Image& image, const NoOptions&) { mirror_horizontally(image); }),
      entry<FactorOptions>("brightness", {}, "blend with black",
                           [](Image& image, const FactorOptions& o) { adjust_brightness(image, o.factor); }),
      entry<FactorOptions>("contrast", {}, "blend with the mean luma",
                           [](Image& image, const FactorOptions& o) { adjust_contrast(image, o.factor); }),
      entry<FactorOptions>("saturation", {}, "blend with the luma",
                           [](Image& image, const FactorOptions& o) { adjust_saturation(image, o.factor); }),
      entry<HueOptions>("hue", {}, "turns the hue, through HSV bytes",
                        [](Image& image, const HueOptions& o) { adjust_hue(image, o.factor); }),
      entry<NoOptions>("grayscale", {}, "converts to grey: luma in all channels",
                       [](Image& image, const NoOptions&) { make_grayscale(image); }),
      entry<BlurOptions>("gaussian_blur", {"blur"}, "Gaussian blur, borders mirrored",
                         [](Image& image, const BlurOptions& o) { gaussian_blur(image, static_cast<int>(o.kernel), o.sigma); }),
      entry<RotateOptions>("rotate", {}, "rotates about the centre, with nearest-pixel sampling and black outside",
                           [](Image& image, const RotateOptions& o) { image = rotated(image, o.degrees); }),
      from_view_step(rgb_to_lab_entry()),
      from_view_step(rgb_to_ycbcr_entry()),
  };
}

}  // namespace

const std::vector<FixedStepEntry>& fixed_step_registry() {
  static const std::vector<FixedStepEntry> registry = all_steps();
  return registry;
}

}  // namespace debias
