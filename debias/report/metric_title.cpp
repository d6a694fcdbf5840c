#include "debias/report/metric_title.h"

#include <algorithm>
#include <utility>

#include "debias/report/charts/axis.h"

namespace debias {
namespace {

// "low-shot accuracy, 5 per class" of low_shot_acc1_5_per_class.
std::string title_of_setting(const Metric& metric, const std::string& name) {
  const size_t place = metric.title.find("{}");
  if (!metric.of_setting || place == std::string::npos) return metric.title;
  std::string setting = name == metric.name ? "" : name.substr(metric.name.size() + 1);
  std::ranges::replace(setting, '_', ' ');
  return std::string(metric.title).replace(place, 2, setting);
}

}  // namespace

SplitName split_of(const std::string& metric) {
  const size_t dot = metric.find('.');
  const std::string head = metric.substr(0, dot);
  if (dot == std::string::npos || (head != "train" && head != "valid" && head != "test")) return {"", metric};
  return {head, metric.substr(dot + 1)};
}

std::vector<std::string> metric_names(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',') names.emplace_back();
    if (c != ',' && c != ' ') names.back().push_back(c);
  }
  std::erase(names, "");
  return names;
}

MetricTitles::MetricTitles(const std::vector<Metric>& described) {
  for (const auto& metric : described) {
    if (find(metric.name) == known_.end()) known_.push_back(metric);
  }
  std::ranges::stable_sort(known_, {}, &Metric::standing);
}

std::vector<Metric>::const_iterator MetricTitles::find(const std::string& name) const {
  return std::ranges::find_if(known_, [&](const Metric& metric) { return describes(metric, name); });
}

MetricTitle MetricTitles::of(const std::string& metric) const {
  const std::string name = split_of(metric).name;
  auto found = find(name);
  std::string term;
  if (const size_t dot = name.rfind('.'); found == known_.end() && dot != std::string::npos) {
    const auto of_term = find(name.substr(dot + 1));
    if (of_term != known_.end() && of_term->of_term) {
      found = of_term;
      term = name.substr(0, dot) + ": ";
    }
  }
  const auto place = static_cast<int>(found - known_.begin());
  if (found == known_.end()) return {.title = name, .place = place};
  return {term + title_of_setting(*found, name), found->better, found->unit, place, found->chance, found->of_predictions, found->of_batch};
}

bool MetricTitles::lower_is_better(const std::string& metric) const {
  const Better better = of(metric).better;
  return better == Better::kLower || better == Better::kLowerOfOneObjective;
}

std::string MetricTitles::last_epoch_of(const std::string& metric) const {
  const std::string name = split_of(metric).name;
  const auto last = std::ranges::find(known_, name, &Metric::last_of);
  return last == known_.end() || name.empty() ? "" : metric.substr(0, metric.size() - name.size()) + last->name;
}

std::string metric_number(Unit unit, double value) { return unit == Unit::kShare ? percent_text(value, 2) : short_number(value); }

}  // namespace debias
