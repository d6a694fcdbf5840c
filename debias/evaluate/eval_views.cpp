#include "debias/evaluate/eval_views.h"

#include <algorithm>
#include <utility>

#include "debias/core/error.h"

namespace debias {
namespace {

using Size = std::pair<int, int>;

Config one_step(const std::string& name, const Config& options) { return Config::map({{name, options}}); }

// {resize: {...}, center_crop: {...}} as {steps: [{resize: {...}}, {center_crop: {...}}]}.
Config as_section(const Config& written) {
  if (written.is_scalar()) return Config::map({{"preset", written}});
  if (written.find("preset") != nullptr || written.find("steps") != nullptr || !written.is_map()) return written;
  Config section = Config::map();
  section.set_where(written.where());
  Config steps = Config::sequence();
  for (const auto& [name, options] : written.entries()) {
    if (name == "normalize") {
      section.set(name, options);
    } else {
      steps.items().push_back(one_step(name, options));
    }
  }
  section.set("steps", std::move(steps));
  return section;
}

void inherit_normalize(Config& section, const Config& views) {
  const Config* normalize = views.find("normalize");
  if (normalize != nullptr && section.find("normalize") == nullptr) section.set("normalize", *normalize);
}

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

// A `resize` step's `size` beside the one wanted: of the short side where it is one number.
Cover cover(const Config& size, const Size& wanted) {
  const auto side = [](const Config& value) { return value.to_json().get<int>(); };
  if (size.is_scalar()) return side(size) >= std::max(wanted.first, wanted.second) ? Cover::kLarger : Cover::kTooSmall;
  const Size both{side(size.items().front()), side(size.items().back())};
  if (both == wanted) return Cover::kExact;
  return both.first >= wanted.first && both.second >= wanted.second ? Cover::kLarger : Cover::kTooSmall;
}

// The steps of resolved training views that give pixels other coordinates: an encoder is shown no others.
void append_colour_steps(Config& steps, const Config& training) {
  for (const Config& step : training.find("steps")->items()) {
    if (step.find("rgb_to_lab") != nullptr || step.find("rgb_to_ycbcr") != nullptr) steps.items().push_back(step);
  }
}

}  // namespace

Config default_eval_views(const Config& views, const DatasetInfo& trained_on) {
  const ViewPipeline pipeline = training_views(views, trained_on);
  const Config resolved = pipeline.config();
  const Size size = size_after(pipeline, trained_on);
  Config steps = Config::sequence();
  if (size.first > 0 && size != Size{trained_on.height, trained_on.width}) {
    const Config written = resolved.find("steps")->items().front();
    const Config* resize = written.find("resize");
    const Cover covered = resize == nullptr ? Cover::kTooSmall : cover(*resize->find("size"), size);
    const Config side = Config::integer(std::max(size.first, size.second));
    steps.items().push_back(covered == Cover::kTooSmall ? one_step("resize", Config::map({{"size", side}})) : written);
    if (covered != Cover::kExact) steps.items().push_back(one_step("center_crop", Config::map({{"size", extent(size)}})));
  }
  append_colour_steps(steps, resolved);
  return steps.items().empty() ? Config::string("eval") : Config::map({{"steps", std::move(steps)}});
}

ViewPipeline eval_views(const Config& views, const DatasetInfo& trained_on) {
  const Config* written = views.find("eval");
  Config section = written == nullptr || written->is_null() ? Config::map({{"preset", Config::string("eval")}}) : as_section(*written);
  if (!section.is_map()) throw usage_error("{}views: eval: expected a preset's name or steps", section.prefix());
  inherit_normalize(section, views);
  return ViewPipeline::from_config(section, trained_on.mean, trained_on.std);
}

ViewPipeline training_views(const Config& views, const DatasetInfo& trained_on) {
  return ViewPipeline::from_config(views, trained_on.mean, trained_on.std, {"count", "forward", "noise", "eval"});
}

ViewPipeline crop_flip_views(const Config& views, const DatasetInfo& trained_on) {
  const Size size = size_after(eval_views(views, trained_on), trained_on);
  if (size.first == 0) throw usage_error("views crop_flip: the images differ in size; give the recipe views.eval with a resize and a crop");
  Config crop = Config::map();
  crop.set("size", Config::sequence({Config::integer(size.first), Config::integer(size.second)}));
  crop.set("scale", Config::sequence({Config::number(0.2), Config::number(1.0)}));
  Config section = Config::map();
  Config steps = Config::sequence({one_step("random_resized_crop", crop), one_step("random_horizontal_flip", Config::map())});
  append_colour_steps(steps, training_views(views, trained_on).config());
  section.set("steps", std::move(steps));
  inherit_normalize(section, views);
  return ViewPipeline::from_config(section, trained_on.mean, trained_on.std);
}

}  // namespace debias
