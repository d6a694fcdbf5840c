#include "debias/augment/chosen.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "debias/augment/fixed_step.h"
#include "debias/augment/view_pipeline.h"
#include "debias/augment/view_steps.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

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

}  // namespace

bool ChosenViews::leaves_rgb() const {
  return std::ranges::any_of(steps, [](const auto& step) { return step->normalisation().has_value(); });
}

bool ChosenViews::is_random() const {
  return std::ranges::any_of(steps, [](const auto& step) { return step->is_random(); });
}

void ChosenViews::set_normalisation(const Normalisation& of_all) {
  normalize = of_all;
  section.set("normalize", config_of(NormalizeOptions{.mean = of_all.mean, .std = of_all.std}));
}

ViewPipeline ChosenViews::make(const std::vector<double>& mean, const std::vector<double>& std) const {
  Normalisation own{mean, std};
  for (const auto& step : steps) own = step->normalisation().value_or(own);
  const Normalisation given = normalize.value_or(Normalisation());
  Normalisation all = {chosen_constants(given.mean, own.mean, "mean", section.prefix()),
                       chosen_constants(given.std, own.std, "std", section.prefix())};
  for (const double value : all.std) {
    if (!(value > 0)) throw usage_error("{}views: normalize: std: {} is not above 0", section.prefix(), value);
  }
  return {steps, std::move(all)};
}

namespace {

struct NamedStep {
  ViewStepEntry entry;
  Config options = {};
};

bool is_called(const ViewStepEntry& entry, const std::string& word) {
  return entry.name == word || std::find(entry.aliases.begin(), entry.aliases.end(), word) != entry.aliases.end();
}

// An item of `steps:` is a bare name or a map of one name to its options.
NamedStep read_step(const Config& item) {
  if (item.is_scalar()) return {find_entry(view_step_registry(), item.text(), "view step", item.prefix())};
  if (!item.is_map() || item.entries().size() != 1) {
    options_detail::refuse(item, "views: steps", "a step's name or {name: {options}} in each item");
  }
  const auto& [name, options] = item.entries().front();
  return {find_entry(view_step_registry(), name, "view step", options.prefix()), options};
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
  for (const ViewStepEntry& step : entry.steps) steps.push_back({step});
  return steps;
}

[[noreturn]] void refuse_key(const std::string& key, const Config& value, const std::vector<NamedStep>& steps,
                             const std::vector<std::string>& others, bool from_preset) {
  std::vector<std::string> known;
  for (const NamedStep& step : steps) known.push_back(step.entry.name);
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

// {resize: {...}, center_crop: {...}} as {steps: [{resize: {...}}, {center_crop: {...}}]}.
Config section_of_eval(const Config& written) {
  if (written.is_scalar()) return Config::map({{"preset", written}});
  if (!written.is_map()) throw usage_error("{}views: eval: expected a preset's name or steps", written.prefix());
  if (written.find("preset") != nullptr || written.find("steps") != nullptr) return written;
  Config section = Config::map();
  section.set_where(written.where());
  Config steps = Config::sequence();
  for (const auto& [name, options] : written.entries()) {
    if (name == "normalize") {
      section.set(name, options);
    } else {
      steps.items().push_back(Config::map({{name, options}}));
    }
  }
  section.set("steps", std::move(steps));
  return section;
}

ChosenViews read_section(Config section, const std::vector<std::string>& others) {
  if (section.is_scalar()) section = Config::map({{"preset", section}});
  if (section.is_sequence()) options_detail::refuse(section, "views", "a preset's name or a map");
  const Config* list = section.find("steps");
  if (list && section.find("preset")) {
    throw usage_error("{}views: both `preset` and `steps` are given; keep one", list->prefix());
  }
  std::vector<NamedStep> steps = list ? read_steps(*list) : preset_steps(section);
  ChosenViews chosen;
  for (const auto& [key, value] : section.entries()) {
    if (key == "preset" || key == "steps" || std::find(others.begin(), others.end(), key) != others.end()) continue;
    if (key == "normalize") {
      const auto given = options_from<NormalizeOptions>(value, "views: normalize");
      chosen.normalize = {given.mean, given.std};
      continue;
    }
    const auto step = std::find_if(steps.begin(), steps.end(), [&word = key](const NamedStep& s) { return is_called(s.entry, word); });
    if (list || step == steps.end()) refuse_key(key, value, steps, others, list == nullptr);
    if (!value.is_map()) options_detail::refuse(value, "views: " + key, "options as a map");
    step->options.overlay(value);
  }
  for (const NamedStep& step : steps) chosen.steps.push_back(step.entry.make(step.options));
  for (const auto& key : others) section.erase(key);
  chosen.section = std::move(section);
  chosen.make({0.5}, {0.5});  // refuses a normalisation that serves no image
  return chosen;
}

}  // namespace

ChosenViews read_views(const Config& section, const std::vector<std::string>& others) {
  std::vector<std::string> left = others;
  left.emplace_back("eval");
  ChosenViews chosen = read_section(section, left);
  const Config* eval = section.find("eval");
  if (eval != nullptr && !eval->is_null()) chosen.eval = std::make_shared<const ChosenViews>(read_eval_views(*eval));
  return chosen;
}

ChosenViews read_eval_views(const Config& written) {
  ChosenViews chosen = read_section(section_of_eval(written), {});
  chosen.section = written;
  return chosen;
}

std::function<void(Image&)> fixed_step(const Config& item, const std::string& what) {
  if (item.is_scalar()) return find_entry(fixed_step_registry(), item.text(), "view step", what + ": ").make(Config::map());
  if (!item.is_map() || item.entries().size() != 1) {
    throw usage_error("{}: expected one step such as 'hue: {{factor: 0.1}}', found {}", what, options_detail::shown(item));
  }
  const auto& [name, options] = item.entries().front();
  return find_entry(fixed_step_registry(), name, "view step", what + ": ").make(options);
}

}  // namespace debias
