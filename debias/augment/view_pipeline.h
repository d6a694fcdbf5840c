// A view: a chain of steps from an image to normalised floats, each a pure function of (pixels, RNG key).
//
// Recipe: `views: {preset: sim32, random_horizontal_flip: {p: 0}}` or `views: {steps: [{random_resized_crop: {size: 28}}, ...]}`.
// Step names and arguments are torchvision's. The last step is always to_tensor and normalize. Semantics: torchvision's
// on PIL images, that is Pillow's arithmetic on 8-bit pixels (each step's header says which).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/augment/view_target.h"
#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/core/philox.h"
#include "debias/image/box.h"
#include "debias/image/image.h"
#include "debias/image/image_region.h"
#include "debias/image/view_frame.h"

namespace debias {

// One step. Implementations hold their options and nothing else; act() must not touch shared state.
class ViewStep {
 public:
  virtual ~ViewStep() = default;
  virtual std::string name() const = 0;
  virtual Config config() const = 0;
  // Size of the output for an input of this size; 0 x 0 when it depends on more than the size.
  virtual std::pair<int, int> output_size(int height, int width) const { return {height, width}; }
  // All that act() would read of an image of this size; nothing when that is the whole image.
  virtual std::optional<Box> reads(int, int, const RngKey&) const { return std::nullopt; }
  // That of the step's output, where it is no longer RGB.
  virtual std::optional<Normalisation> normalisation() const { return std::nullopt; }
  // `key` has epoch, sample, occurrence and view set; the pipeline sets `key.step` to this step's position.
  virtual void act(ViewFrame& frame, const RngKey& key) const = 0;
  void apply(Image& image, const RngKey& key) const;
};

struct ViewStepEntry {
  std::string name;  // torchvision's name in snake_case
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<ViewStep>(const Config& options)> make;
};
const std::vector<ViewStepEntry>& view_step_registry();

struct ViewPresetEntry {
  std::string name;  // sim32, sup32, eval, none, ...
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;  // none of its own: steps are overridden by name
  std::vector<std::pair<std::string, Config>> steps;
};
const std::vector<ViewPresetEntry>& view_preset_registry();

class ViewPipeline {
 public:
  // From a recipe's `views:` section; keys in `others` (count, forward, noise, ...) are the caller's. `mean` and `std` are the data
  // set's constants, used unless the section has `normalize: {mean, std}` or a step has its own; one value serves all channels.
  static ViewPipeline from_config(const Config& section, const std::vector<double>& mean, const std::vector<double>& std,
                                  const std::vector<std::string>& others = {});

  // The steps on 8-bit pixels, without the final normalisation.
  Image apply(const ImagePart& image, const RngKey& key) const;
  Image apply(const Image& image, const RngKey& key) const { return apply(whole(image), key); }
  // The steps, then (pixel / 255 - mean) / std straight into the target. The view must have the target's size, else a data error says both.
  // `frame` is for the work: any frame, whose memory is used again.
  void write(const ImagePart& image, const RngKey& key, ViewFrame& frame, const ViewTarget& target) const;
  // The smallest region with all that write() would read of an image of this size for views `first` to `last` - 1: the whole image unless
  // the first step is a crop. At the largest denominator up to the given one at which each view's box has at least the size of the crop.
  ImageRegion region(int height, int width, RngKey key, int64_t first, int64_t last, int largest_denominator) const;

  // Output size for an input of this size; 0 x 0 when it depends on more than the size.
  std::pair<int, int> output_size(int height, int width) const;
  const std::vector<double>& mean() const { return normalisation_.mean; }
  const std::vector<double>& std() const { return normalisation_.std; }
  Config config() const;  // resolved: {steps: [...], normalize: {...}}, itself a valid section

 private:
  void run(ViewFrame& frame, const RngKey& key) const;

  std::vector<std::shared_ptr<const ViewStep>> steps_;
  Normalisation normalisation_;
  ValueTable values_;
};

}  // namespace debias
