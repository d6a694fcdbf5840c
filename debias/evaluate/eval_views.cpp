#include "debias/evaluate/eval_views.h"

#include "debias/core/error.h"

namespace debias {
namespace {

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

}  // namespace

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
  std::pair<int, int> size{0, 0};
  if (trained_on.height > 0 && trained_on.width > 0) size = eval_views(views, trained_on).output_size(trained_on.height, trained_on.width);
  if (size.first == 0)
    throw usage_error("views crop_flip: the images have no one size; give the recipe views.eval with a resize and a crop");
  Config crop = Config::map();
  crop.set("size", Config::sequence({Config::integer(size.first), Config::integer(size.second)}));
  crop.set("scale", Config::sequence({Config::number(0.2), Config::number(1.0)}));
  Config section = Config::map();
  section.set("steps", Config::sequence({one_step("random_resized_crop", crop), one_step("random_horizontal_flip", Config::map())}));
  inherit_normalize(section, views);
  return ViewPipeline::from_config(section, trained_on.mean, trained_on.std);
}

}  // namespace debias
