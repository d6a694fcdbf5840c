#include "debias/augment/view_pipeline.h"

#include <algorithm>
#include <climits>
#include <stdexcept>

#include "debias/augment/view_steps.h"
#include "debias/core/error.h"

namespace debias {
namespace {

int common_denominator(const std::vector<Box>& boxes, std::pair<int, int> least, int largest) {
  const auto is_enough = [&](int denominator) {
    return std::all_of(boxes.begin(), boxes.end(), [&](const Box& box) {
      const Box there = reduced(box, denominator);
      return there.height >= least.first && there.width >= least.second;
    });
  };
  int denominator = largest;
  while (denominator > 1 && !is_enough(denominator)) denominator /= 2;
  return denominator;
}

Box box_around(const std::vector<Box>& boxes, int denominator) {
  int top = INT_MAX, left = INT_MAX, bottom = 0, right = 0;
  for (const Box& box : boxes) {
    const Box there = reduced(box, denominator);
    top = std::min(top, there.top);
    left = std::min(left, there.left);
    bottom = std::max(bottom, there.top + there.height);
    right = std::max(right, there.left + there.width);
  }
  return {top, left, bottom - top, right - left};
}

}  // namespace

void ViewStep::apply(Image& image, const RngKey& key) const {
  const StepPlan drawn = plan(image.height, image.width, key);
  if (!drawn.acts) return;
  through_frame(image, [&](ViewFrame& frame) { act(frame, drawn); });
}

ViewPipeline::ViewPipeline(std::vector<std::shared_ptr<const ViewStep>> steps, Normalisation normalisation)
    : steps_(std::move(steps)), normalisation_(std::move(normalisation)), values_(normalisation_) {}

void ViewPipeline::draw(int height, int width, const RngKey& key, ViewPlan& plan) const {
  plan.height = height;
  plan.width = width;
  plan.steps.clear();
  std::pair<int, int> size{height, width};
  RngKey step_key = key;
  for (size_t i = 0; i < steps_.size(); ++i) {
    step_key.step = static_cast<uint16_t>(i);
    plan.steps.push_back(steps_[i]->plan(size.first, size.second, step_key));
    size = steps_[i]->output_size(size.first, size.second);
  }
}

ImageRegion ViewPipeline::region(std::span<const ViewPlan> views, int largest_denominator) const {
  std::vector<Box> boxes;
  std::pair<int, int> least{1, 1};
  for (const ViewPlan& view : views) {
    const auto first = std::find_if(view.steps.begin(), view.steps.end(), [](const StepPlan& step) { return step.acts; });
    if (first == view.steps.end() || !first->reads_the_box) return whole_region(view.height, view.width);
    boxes.push_back(first->box);
    least = steps_[first - view.steps.begin()]->output_size(view.height, view.width);
  }
  const int denominator = common_denominator(boxes, least, largest_denominator);
  return {box_around(boxes, denominator), denominator};
}

void ViewPipeline::run(ViewFrame& frame, const ViewPlan& plan) const {
  if (plan.steps.size() != steps_.size()) throw std::logic_error("a view's plan is of another pipeline");
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (plan.steps[i].acts) steps_[i]->act(frame, plan.steps[i]);
  }
}

Image ViewPipeline::apply(const ImagePart& image, const RngKey& key) const {
  ViewPlan plan;
  draw(image.height, image.width, key, plan);
  ViewFrame frame;
  frame.start(image);
  run(frame, plan);
  return frame.image();
}

void ViewPipeline::write(const ImagePart& image, const ViewPlan& plan, ViewFrame& frame, const ViewTarget& target) const {
  if (plan.height != image.height || plan.width != image.width) throw std::logic_error("a view's plan is of an image of another size");
  frame.start(image);
  run(frame, plan);
  if (frame.height() != target.height || frame.width() != target.width) {
    throw data_error("a view of {} x {} pixels came out where {} x {} was expected; add a resize or random_resized_crop step to the views",
                     frame.height(), frame.width(), target.height, target.width);
  }
  if (frame.channels() != target.channels) {
    throw data_error("a view has {} channels where {} were expected", frame.channels(), target.channels);
  }
  values_.write(frame, target);
}

std::pair<int, int> ViewPipeline::output_size(int height, int width) const {
  std::pair<int, int> size{height, width};
  for (const auto& step : steps_) size = step->output_size(size.first, size.second);
  return size;
}

Config steps_section(const std::vector<std::shared_ptr<const ViewStep>>& steps) {
  Config list = Config::sequence();
  for (const auto& step : steps) list.items().push_back(Config::map({{step->name(), step->config()}}));
  return Config::map({{"steps", std::move(list)}});
}

Config ViewPipeline::config() const {
  Config section = steps_section(steps_);
  section.set("normalize", config_of(NormalizeOptions{.mean = mean(), .std = std()}));
  return section;
}

}  // namespace debias
