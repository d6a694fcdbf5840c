// A view: a chain of steps from an image to normalised floats. First all that is random is drawn, from the RNG key and the image's size;
// the plan says which part of the image is needed, and is then carried out on its pixels.
//
// Recipe: `views: {preset: sim32, random_horizontal_flip: {p: 0}}` or `views: {steps: [{random_resized_crop: {size: 28}}, ...]}`.
// Step names and arguments are torchvision's. The last step is always to_tensor and normalize. Semantics: torchvision's
// on PIL images, that is Pillow's arithmetic on 8-bit pixels (each step's header says which).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "debias/augment/step_options.h"
#include "debias/augment/view_target.h"
#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/core/philox.h"
#include "debias/image/image.h"
#include "debias/image/view_frame.h"

namespace debias {

// All that is random about one view, drawn before a pixel is read.

// Plan of one step for one image. Each step defines which numbers it draws, and in which order.
struct StepPlan {
  bool acts = true;            // else the image stays as it is
  bool reads_the_box = false;  // and nothing else of the image
  Box box{};                   // may extend beyond the image, which is black there
  std::array<double, 4> numbers{};
  std::array<uint8_t, 4> order{};
};

// One for each step of a pipeline, for an image of this size. Its memory serves one view after another.
struct ViewPlan {
  int height = 0, width = 0;
  std::vector<StepPlan> steps;
};

// One step. Implementations hold their options and nothing else; plan() and act() must not touch shared state.
class ViewStep {
 public:
  virtual ~ViewStep() = default;
  virtual std::string name() const = 0;
  virtual Config config() const = 0;
  // Size of the output for an input of this size.
  virtual std::pair<int, int> output_size(int height, int width) const { return {height, width}; }
  // That of the step's output, where it is no longer RGB.
  virtual std::optional<Normalisation> normalisation() const { return std::nullopt; }
  virtual std::optional<Extent> resized() const { return std::nullopt; }  // of a step that resizes the whole image
  // Draws what the step does to an image of this size. `key` has epoch, sample, occurrence and view set; the pipeline sets `key.step` to this
  // step's position.
  virtual StepPlan plan(int /*height*/, int /*width*/, const RngKey& /*key*/) const { return {}; }
  // Whether plan() depends on the key: whether an image has more than one view.
  virtual bool is_random() const { return false; }
  // Called only where the plan acts.
  virtual void act(ViewFrame& frame, const StepPlan& plan) const = 0;
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
  std::vector<OptionSpec> options;   // empty: steps are overridden by name
  std::vector<ViewStepEntry> steps;  // with the preset's options as their defaults
};
const std::vector<ViewPresetEntry>& view_preset_registry();

Config steps_section(const std::vector<std::shared_ptr<const ViewStep>>& steps);  // {steps: [...]}, a section of views

class ViewPipeline {
 public:
  ViewPipeline() = default;
  // One value of the normalisation serves all channels.
  ViewPipeline(std::vector<std::shared_ptr<const ViewStep>> steps, Normalisation normalisation);

  // Draws all that is random about the view that `key` names, of an image of this size; into a plan whose memory is used again.
  void draw(int height, int width, const RngKey& key, ViewPlan& plan) const;
  // The smallest region with all that these views of one image read: the whole image unless the first step that acts is a crop. At the
  // largest denominator up to the given one at which each view's box has at least the size of the crop.
  ImageRegion region(std::span<const ViewPlan> views, int largest_denominator) const;

  // The steps on 8-bit pixels, without the final normalisation.
  Image apply(const ImagePart& image, const RngKey& key) const;
  Image apply(const Image& image, const RngKey& key) const { return apply(whole(image), key); }
  // The steps, then (pixel / 255 - mean) / std straight into the target. The plan must have been drawn for an image of this size, and the
  // view must have the target's size, else a data error says both. `frame` is for the work: any frame, whose memory is used again.
  void write(const ImagePart& image, const ViewPlan& plan, ViewFrame& frame, const ViewTarget& target) const;

  // Output size for an input of this size.
  std::pair<int, int> output_size(int height, int width) const;
  const std::vector<double>& mean() const { return normalisation_.mean; }
  const std::vector<double>& std() const { return normalisation_.std; }
  Config config() const;  // resolved: {steps: [...], normalize: {...}}, itself a valid section

 private:
  void run(ViewFrame& frame, const ViewPlan& plan) const;

  std::vector<std::shared_ptr<const ViewStep>> steps_;
  Normalisation normalisation_;
  ValueTable values_;
};

}  // namespace debias
