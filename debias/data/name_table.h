// The one table of classes and bias labels of a run: made from the training set, and every set that is read later is mapped to it by name.
//
// A folder that holds some of the classes, or a CSV whose names sort otherwise, would number them anew; a score counted from those numbers
// is wrong without a sign of it. Index in the table = number of the class (or bias label) everywhere in a run.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/data/dataset.h"

namespace debias {

// Name of a class or bias label in results: its name, or its number if the data set has none.
inline std::string value_name(const std::vector<std::string>& names, int64_t i) {
  return i < std::ssize(names) ? names[static_cast<size_t>(i)] : fmt::format("{}", i);
}

// A data set whose labels and bias labels are other numbers, under other names. Images, ids and sources stay those of the source.
class Renumbered : public Dataset {
 public:
  // One label and one bias label for each image; empty names leave those of the source.
  Renumbered(std::shared_ptr<const Dataset> source, const std::vector<std::string>& class_names, const std::vector<std::string>& bias_names,
             std::vector<int64_t> labels, std::vector<int64_t> biases);

  // In place of the source's; `from` is DatasetInfo::groups_from.
  void take_groups(std::vector<std::string> names, std::vector<int64_t> groups, std::string from);

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return source_->size(); }
  Sample get(int64_t index) const override;
  PartialImage region(int64_t index, const RegionChooser& choose) const override { return source_->region(index, choose); }
  int64_t id(int64_t index) const override { return source_->id(index); }
  int64_t label(int64_t index) const override { return of(labels_, index); }
  int64_t bias(int64_t index) const override { return of(biases_, index); }
  int64_t group(int64_t index) const override { return groups_.empty() ? source_->group(index) : of(groups_, index); }
  std::string source(int64_t index) const override { return source_->source(index); }

 private:
  int64_t of(const std::vector<int64_t>& numbers, int64_t index) const;

  std::shared_ptr<const Dataset> source_;
  DatasetInfo info_;
  std::vector<int64_t> labels_, biases_, groups_;
};

struct NameTable {
  std::vector<std::string> classes;  // empty: the training set has no labels, and nothing is mapped
  std::vector<std::string> biases;   // likewise

  bool operator==(const NameTable&) const = default;
};

// The names of a training set.
NameTable name_table(const SampleTable& train);

// Policy for images whose class or bias label is not in the table: a data error, or they are left out (classes) or get an unknown
// bias, and are counted. The set then has one bias label more, kUnknownBias, whose images are those of bias kUnknown.
enum class UnknownNames { kRefuse, kIgnore };
constexpr auto enum_words(UnknownNames) { return named("refuse", "ignore"); }

constexpr const char* kUnknownBias = "unknown";

// Its number among a mapped set's bias labels; kUnknown where training knows all of them.
int64_t number_of_unknown_bias(const DatasetInfo& info);

struct MappedDataset {
  std::shared_ptr<const Dataset> dataset;  // named as the table, where that has names; the same object where nothing is mapped
  std::vector<std::string> remarks;        // one line each: what was left out, and how much
};

// Only names that an image has count: a class without images needs no counterpart. Labels of a set without class names are numbers of the
// table already; one beyond it is a data error. kRefuse: a data error that names the set, the first unknown name, the nearest known one and
// `evaluate.unknown_classes: ignore`. kIgnore: a data error where no image is left.
MappedDataset map_to_table(std::shared_ptr<const Dataset> dataset, const NameTable& table, UnknownNames unknown);

}  // namespace debias
