#include "debias/data/name_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/normal_form.h"
#include "debias/data/dataset.h"

namespace debias {

Renumbered::Renumbered(std::shared_ptr<const Dataset> source, const std::vector<std::string>& class_names,
                       const std::vector<std::string>& bias_names, std::vector<int64_t> labels, std::vector<int64_t> biases)
    : source_(std::move(source)), info_(source_->info()), labels_(std::move(labels)), biases_(std::move(biases)) {
  if (!class_names.empty()) info_.class_names = class_names;
  if (!bias_names.empty()) info_.bias_names = bias_names;
}

void Renumbered::take_groups(std::vector<std::string> names, std::vector<int64_t> groups, std::string from) {
  info_.group_names = std::move(names);
  info_.groups_from = std::move(from);
  groups_ = std::move(groups);
}

Sample Renumbered::get(int64_t index) const {
  Sample sample = source_->get(index);
  sample.label = label(index);
  sample.bias = bias(index);
  return sample;
}

int64_t Renumbered::of(const std::vector<int64_t>& numbers, int64_t index) const {
  require_index(*this, index);
  return numbers[static_cast<size_t>(index)];
}

namespace {

constexpr int64_t kAbsent = -2;  // a number whose name the table does not have

struct Names {
  const char* what;         // "class" or "bias label"
  const char* consequence;  // of ignoring it
  const std::vector<std::string>& own;
  const std::vector<std::string>& known;
  int64_t (Dataset::*number)(int64_t) const;
};

// Number in the set -> number in the table; nullopt where they are the same. `alike`: names that are written otherwise there.
std::optional<std::vector<int64_t>> translation(const Names& names, std::vector<std::string>& alike) {
  if (names.known.empty() || names.own == names.known) return std::nullopt;
  std::map<std::string, int64_t> number_of, number_of_plain;
  for (size_t i = 0; i < names.known.size(); ++i) {
    number_of.emplace(names.known[i], static_cast<int64_t>(i));
    number_of_plain.emplace(plain_text(names.known[i]), static_cast<int64_t>(i));
  }
  std::vector<int64_t> translated;
  for (const auto& name : names.own) {
    const auto same = number_of.find(name), plain = number_of_plain.find(plain_text(name));
    if (same == number_of.end() && plain != number_of_plain.end()) alike.push_back(name);
    translated.push_back(same != number_of.end() ? same->second : plain != number_of_plain.end() ? plain->second : kAbsent);
  }
  return translated;
}

int64_t translate(const std::optional<std::vector<int64_t>>& translated, const Names& names, int64_t number) {
  if (number == kUnknown || names.known.empty()) return number;
  if (!translated || translated->empty()) return number < std::ssize(names.known) ? number : kAbsent;
  return number < std::ssize(*translated) ? (*translated)[static_cast<size_t>(number)] : kAbsent;
}

struct Mapped {
  std::vector<int64_t> numbers;            // one an image
  std::map<std::string, int64_t> unknown;  // name -> images
  std::vector<std::string> alike;          // names that the table writes otherwise
};

Mapped map_numbers(const Dataset& dataset, const Names& names) {
  Mapped mapped;
  const auto translated = translation(names, mapped.alike);
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const int64_t number = (dataset.*names.number)(i);
    mapped.numbers.push_back(translate(translated, names, number));
    if (mapped.numbers.back() == kAbsent) ++mapped.unknown[value_name(names.own, number)];
  }
  return mapped;
}

void refuse(const Dataset& dataset, const Names& names, const Mapped& mapped) {
  if (mapped.unknown.empty()) return;
  const std::string& first = mapped.unknown.begin()->first;
  throw data_error(
      "data set '{}', split {}: {} '{}' is not one that training knew ({} unknown in all); rename it, or set evaluate.unknown_classes: "
      "ignore, which {}{}",
      dataset.info().name, dataset.info().split, names.what, first, mapped.unknown.size(), names.consequence,
      suggestion(first, names.known));
}

std::string remark(const Dataset& dataset, const Names& names, const Mapped& mapped, const char* done) {
  int64_t images = 0;
  for (const auto& [name, count] : mapped.unknown) images += count;
  const std::string& first = mapped.unknown.begin()->first;
  return fmt::format("{} {}: {} of {} images {}: {} {} ('{}'{}) that training did not know", dataset.info().name, dataset.info().split,
                     images, dataset.size(), done, mapped.unknown.size(), names.what, first, mapped.unknown.size() > 1 ? ", ..." : "");
}

}  // namespace

int64_t number_of_unknown_bias(const DatasetInfo& info) {
  return info.bias_names.size() > 1 && info.bias_names.back() == kUnknownBias ? std::ssize(info.bias_names) - 1 : kUnknown;
}

NameTable name_table(const SampleTable& train) { return {train.info().class_names, train.info().bias_names}; }

MappedDataset map_to_table(std::shared_ptr<const Dataset> dataset, const NameTable& table, UnknownNames unknown) {
  const Names classes{"class", "leaves its images out", dataset->info().class_names, table.classes, &Dataset::label};
  const Names biases{"bias label", "takes its images' bias for unknown", dataset->info().bias_names, table.biases, &Dataset::bias};
  Mapped labels = map_numbers(*dataset, classes), bias_values = map_numbers(*dataset, biases);
  if (unknown == UnknownNames::kRefuse) {
    refuse(*dataset, classes, labels);
    refuse(*dataset, biases, bias_values);
  }
  MappedDataset mapped;
  for (const auto& [names, numbers] : {std::pair(&classes, &labels), {&biases, &bias_values}}) {
    if (numbers->alike.empty()) continue;
    const size_t more = numbers->alike.size() - 1;
    mapped.remarks.push_back(fmt::format("{} {}: {} '{}'{} differs from training's only in blanks or Unicode form: it is the same",
                                         dataset->info().name, dataset->info().split, names->what, numbers->alike.front(),
                                         more == 0 ? "" : fmt::format(", as {} more,", more)));
  }
  if (!labels.unknown.empty()) mapped.remarks.push_back(remark(*dataset, classes, labels, "are left out"));
  if (!bias_values.unknown.empty()) mapped.remarks.push_back(remark(*dataset, biases, bias_values, "are a group of unknown bias"));
  std::replace(bias_values.numbers.begin(), bias_values.numbers.end(), kAbsent, kUnknown);
  std::vector<int64_t> kept, kept_labels, kept_biases;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    if (labels.numbers[static_cast<size_t>(i)] == kAbsent) continue;
    kept.push_back(i);
    kept_labels.push_back(labels.numbers[static_cast<size_t>(i)]);
    kept_biases.push_back(bias_values.numbers[static_cast<size_t>(i)]);
  }
  if (kept.empty() && dataset->size() > 0) {
    throw data_error("data set '{}', split {}: none of its images is of a class that training knew ({})", dataset->info().name,
                     dataset->info().split, table.classes.front() + (table.classes.size() > 1 ? ", ..." : ""));
  }
  const bool same_names = (table.classes.empty() || classes.own == classes.known) && (table.biases.empty() || biases.own == biases.known);
  if (std::ssize(kept) < dataset->size()) {
    const std::string split = dataset->info().split;
    dataset = std::make_shared<Subset>(std::move(dataset), std::move(kept), split);
  } else if (same_names && mapped.remarks.empty()) {
    mapped.dataset = std::move(dataset);
    return mapped;
  }
  std::vector<std::string> bias_names = table.biases;
  if (!bias_values.unknown.empty()) bias_names.push_back(kUnknownBias);
  mapped.dataset =
      std::make_shared<Renumbered>(std::move(dataset), table.classes, bias_names, std::move(kept_labels), std::move(kept_biases));
  return mapped;
}

}  // namespace debias
