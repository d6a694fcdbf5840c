#include "debias/evaluate/eval_views.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "debias/core/error.h"

namespace debias {
namespace {

using Size = std::pair<int, int>;

Config one_step(const std::string& name, const Config& options) { return Config::map({{name, options}}); }

// The one size that comes out, whatever the images' sizes; 0 x 0 where it depends on them and they differ.
Size size_after(const ViewPipeline& pipeline, const DatasetInfo& info) {
  if (info.height > 0 && info.width > 0) return pipeline.output_size(info.height, info.width);
  const Size tall = pipeline.output_size(307, 211), wide = pipeline.output_size(211, 307);
  return tall == wide ? tall : Size{0, 0};
}

Config extent(const Size& size) {
  if (size.first == size.second) return Config::integer(size.first);
  return Config::sequence({Config::integer(size.first), Config::integer(size.second)});
}

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
  Config steps = Config::sequence();
  if (size.first > 0 && size != Size{trained_on.height, trained_on.width}) {
    const ViewStep& first = *views.steps.front();
    const auto resized = first.resized();
    const Cover covered = resized ? cover(*resized, size) : Cover::kTooSmall;
    const Config side = Config::integer(std::max(size.first, size.second));
    steps.items().push_back(covered == Cover::kTooSmall ? one_step("resize", Config::map({{"size", side}}))
                                                        : one_step(first.name(), first.config()));
    if (covered != Cover::kExact) steps.items().push_back(one_step("center_crop", Config::map({{"size", extent(size)}})));
  }
  for (const auto& step : colour_steps(views)) steps.items().push_back(one_step(step->name(), step->config()));
  return read_eval_views(steps.items().empty() ? Config::string("eval") : Config::map({{"steps", std::move(steps)}}));
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
  Config crop = Config::map();
  crop.set("size", Config::sequence({Config::integer(size.first), Config::integer(size.second)}));
  crop.set("scale", Config::sequence({Config::number(0.2), Config::number(1.0)}));
  const Config steps = Config::sequence({one_step("random_resized_crop", crop), one_step("random_horizontal_flip", Config::map())});
  ChosenViews chosen = read_views(Config::map({{"steps", steps}}));
  for (const auto& step : colour_steps(views)) chosen.steps.push_back(step);
  chosen.normalize = views.normalize;
  return chosen.make(trained_on.mean, trained_on.std);
}

}  // namespace debias
