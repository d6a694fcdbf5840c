#include "debias/evaluate/eval_views.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "debias/augment/view_steps.h"
#include "debias/core/error.h"

namespace debias {
namespace {

using Size = std::pair<int, int>;

// The one size that comes out, whatever the images' sizes; 0 x 0 where it depends on them and they differ.
Size size_after(const ViewPipeline& pipeline, const DatasetInfo& info) {
  if (info.height > 0 && info.width > 0) return pipeline.output_size(info.height, info.width);
  const Size tall = pipeline.output_size(307, 211), wide = pipeline.output_size(211, 307);
  return tall == wide ? tall : Size{0, 0};
}

Extent extent(const Size& size) { return {size.first, size.first == size.second ? 0 : size.second}; }

enum class Cover { kTooSmall, kLarger, kExact };

// The size that a step resizes to beside the one wanted.
Cover cover(const Extent& size, const Size& wanted) {
  if (size.square()) return size.height >= std::max(wanted.first, wanted.second) ? Cover::kLarger : Cover::kTooSmall;
  if (Size(size.height, size.width) == wanted) return Cover::kExact;
  return size.height >= wanted.first && size.width >= wanted.second ? Cover::kLarger : Cover::kTooSmall;
}

// The training views' steps that give pixels other coordinates: an encoder is shown no others.
std::vector<std::shared_ptr<const ViewStep>> colour_steps(const ChosenViews& training) {
  std::vector<std::shared_ptr<const ViewStep>> steps;
  std::ranges::copy_if(training.steps, std::back_inserter(steps), [](const auto& step) { return step->normalisation().has_value(); });
  return steps;
}

}  // namespace

ChosenViews default_eval_views(const ChosenViews& views, const DatasetInfo& trained_on) {
  const Size size = size_after(views.make(trained_on.mean, trained_on.std), trained_on);
  std::vector<std::shared_ptr<const ViewStep>> steps;
  if (size.first > 0 && size != Size{trained_on.height, trained_on.width}) {
    const auto resized = views.steps.front()->resized();
    const Cover covered = resized ? cover(*resized, size) : Cover::kTooSmall;
    const Extent side = {std::max(size.first, size.second), 0};
    steps.push_back(covered == Cover::kTooSmall ? resize_entry(ResizeOptions{.size = side}).make({}) : views.steps.front());
    if (covered != Cover::kExact) steps.push_back(center_crop_entry(CenterCropOptions{.size = extent(size)}).make({}));
  }
  for (auto& step : colour_steps(views)) steps.push_back(std::move(step));
  Config section = steps.empty() ? Config::string("eval") : steps_section(steps);
  return {.section = std::move(section), .steps = std::move(steps)};
}

ChosenViews with_eval_views(ChosenViews views, const DatasetInfo& trained_on) {
  if (views.eval == nullptr) views.eval = std::make_shared<const ChosenViews>(default_eval_views(views, trained_on));
  return views;
}

ViewPipeline eval_views(const ChosenViews& views, const DatasetInfo& trained_on) {
  ChosenViews chosen = views.eval == nullptr ? ChosenViews() : *views.eval;
  if (!chosen.normalize) chosen.normalize = views.normalize;
  return chosen.make(trained_on.mean, trained_on.std);
}

ViewPipeline crop_flip_views(const ChosenViews& views, const DatasetInfo& trained_on) {
  const Size size = size_after(eval_views(views, trained_on), trained_on);
  if (size.first == 0) throw usage_error("views crop_flip: the images differ in size; give the recipe views.eval with a resize and a crop");
  const auto crop = RandomResizedCropOptions{.size = {size.first, size.second}, .scale = {0.2, 1.0}};
  check_options(crop, "view step 'random_resized_crop'");
  ChosenViews chosen;
  chosen.steps = {random_resized_crop_entry(crop).make({}), random_horizontal_flip_entry().make({})};
  for (const auto& step : colour_steps(views)) chosen.steps.push_back(step);
  chosen.normalize = views.normalize;
  return chosen.make(trained_on.mean, trained_on.std);
}

}  // namespace debias
