#include "debias/augment/view_pipeline.h"

#include <algorithm>
#include <climits>
#include <stdexcept>

#include "debias/core/error.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

class NormalizeOptions {
 public:
  DEBIAS_OPTION(NormalizeOptions, std::vector<double>, mean, {})
  DEBIAS_OPTION(NormalizeOptions, std::vector<double>, std, {})
  static const OptionTable<NormalizeOptions>& table() {
    static const auto table = OptionTable<NormalizeOptions>()
                                  .add("mean", &NormalizeOptions::mean_, Range::closed(-1e6, 1e6), "per channel, of values in [0, 1]")
                                  .add("std", &NormalizeOptions::std_, Range::closed(1e-6, 1e6), "per channel, of values in [0, 1]");
    return table;
  }
};

struct NamedStep {
  const ViewStepEntry* entry;
  Config options;
};

bool is_called(const ViewStepEntry& entry, const std::string& word) {
  return entry.name == word || std::find(entry.aliases.begin(), entry.aliases.end(), word) != entry.aliases.end();
}

// An item of `steps:` is a bare name or a map of one name to its options.
NamedStep read_step(const Config& item) {
  if (item.is_scalar()) return {&find_entry(view_step_registry(), item.text(), "view step", item.prefix()), Config::map()};
  if (!item.is_map() || item.entries().size() != 1) {
    options_detail::refuse(item, "views: steps", "a step's name or {name: {options}} in each item");
  }
  const auto& [name, options] = item.entries().front();
  return {&find_entry(view_step_registry(), name, "view step", options.prefix()), options};
}

std::vector<NamedStep> read_steps(const Config& list) {
  if (!list.is_sequence()) options_detail::refuse(list, "views: steps", "a list such as [{random_crop: {size: 32}}]");
  std::vector<NamedStep> steps;
  for (const Config& item : list.items()) steps.push_back(read_step(item));
  return steps;
}

std::vector<NamedStep> preset_steps(const Config& section) {
  const Config* preset = section.find("preset");
  if (preset && !preset->is_scalar()) options_detail::refuse(*preset, "views: preset", "a preset's name");
  const std::string name = preset ? preset->text() : "none";
  const ViewPresetEntry& entry = find_entry(view_preset_registry(), name, "view preset", preset ? preset->prefix() : "");
  std::vector<NamedStep> steps;
  for (const auto& [step_name, options] : entry.steps) {
    steps.push_back({&find_entry(view_step_registry(), step_name, "view step"), options});
  }
  return steps;
}

[[noreturn]] void refuse_key(const std::string& key, const Config& value, const std::vector<NamedStep>& steps,
                             const std::vector<std::string>& others, bool from_preset) {
  std::vector<std::string> known;
  for (const NamedStep& step : steps) known.push_back(step.entry->name);
  for (const ViewStepEntry& entry : view_step_registry()) {
    if (!is_called(entry, key)) continue;
    if (!from_preset) throw usage_error("{}views: {} is given beside `steps`; put it into the list", value.prefix(), key);
    throw usage_error("{}views: the preset has no step '{}' to override (it has: {}); write `steps:` instead of `preset:`", value.prefix(),
                      key, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
  }
  if (!from_preset) known.clear();
  known.insert(known.end(), {"preset", "steps", "normalize"});
  known.insert(known.end(), others.begin(), others.end());
  throw usage_error("{}views: unknown key '{}'{}", value.prefix(), key, suggestion(key, known));
}

std::vector<double> chosen_constants(const std::vector<double>& given, const std::vector<double>& of_the_data, const char* name,
                                     const std::string& prefix) {
  const std::vector<double>& values = given.empty() ? of_the_data : given;
  if (values.empty())
    throw usage_error("{}views: no {} is known for this data set; give normalize: {{mean: [...], std: [...]}}", prefix, name);
  if (values.size() != 1 && values.size() != 3) {
    throw usage_error("{}views: normalize: {}: expected 1 or 3 values, found {}", prefix, name, values.size());
  }
  return values;
}

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

ViewPipeline ViewPipeline::from_config(const Config& section_or_word, const std::vector<double>& mean, const std::vector<double>& std,
                                       const std::vector<std::string>& others) {
  Config section = section_or_word;
  if (section.is_scalar()) section = Config::map({{"preset", section_or_word}});
  if (section.is_sequence()) options_detail::refuse(section, "views", "a preset's name or a map");
  const Config* list = section.find("steps");
  if (list && section.find("preset")) {
    throw usage_error("{}views: both `preset` and `steps` are given; keep one", list->prefix());
  }
  std::vector<NamedStep> steps = list ? read_steps(*list) : preset_steps(section);

  ViewPipeline pipeline;
  NormalizeOptions normalize;
  for (const auto& [key, value] : section.entries()) {
    if (key == "preset" || key == "steps" || std::find(others.begin(), others.end(), key) != others.end()) continue;
    if (key == "normalize") {
      normalize = NormalizeOptions::table().read(value, "views: normalize");
      continue;
    }
    const auto step = std::find_if(steps.begin(), steps.end(), [&word = key](const NamedStep& s) { return is_called(*s.entry, word); });
    if (list || step == steps.end()) refuse_key(key, value, steps, others, list == nullptr);
    if (!value.is_map()) options_detail::refuse(value, "views: " + key, "options as a map");
    step->options.overlay(value);
  }
  Normalisation own{mean, std};
  for (const NamedStep& step : steps) {
    pipeline.steps_.push_back(step.entry->make(step.options));
    own = pipeline.steps_.back()->normalisation().value_or(own);
  }
  pipeline.normalisation_ = {chosen_constants(normalize.mean(), own.mean, "mean", section.prefix()),
                             chosen_constants(normalize.std(), own.std, "std", section.prefix())};
  for (const double value : pipeline.std()) {
    if (!(value > 0)) throw usage_error("{}views: normalize: std: {} is not above 0", section.prefix(), value);
  }
  pipeline.values_ = ValueTable(pipeline.normalisation_);
  return pipeline;
}

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

bool ViewPipeline::leaves_rgb() const {
  return std::ranges::any_of(steps_, [](const auto& step) { return step->normalisation().has_value(); });
}

Config ViewPipeline::config() const {
  Config steps = Config::sequence();
  for (const auto& step : steps_) steps.items().push_back(Config::map({{step->name(), step->config()}}));
  NormalizeOptions normalize;
  normalize.mean(mean()).std(std());
  return Config::map({{"steps", steps}, {"normalize", NormalizeOptions::table().write(normalize)}});
}

}  // namespace debias
