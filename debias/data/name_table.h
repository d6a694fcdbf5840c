// The one table of classes and bias labels of a run: made from the training set, and every set that is read later is mapped to it by name.
//
// A folder that holds some of the classes, or a CSV whose names sort otherwise, would number them anew; a score counted from those numbers
// is wrong without a sign of it. Index in the table = number of the class (or bias label) everywhere in a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/data/dataset.h"

namespace debias {

struct NameTable {
  std::vector<std::string> classes;  // empty: the training set has no labels, and nothing is mapped
  std::vector<std::string> biases;   // likewise

  bool operator==(const NameTable&) const = default;
};

// The names of a training set.
NameTable name_table(const SampleTable& train);

// Policy for images whose class or bias label is not in the table: a data error, or they are left out (classes) or get an unknown
// bias, and are counted.
enum class UnknownNames { kRefuse, kIgnore };
constexpr auto enum_words(UnknownNames) { return named("refuse", "ignore"); }

struct MappedDataset {
  std::shared_ptr<const Dataset> dataset;  // named as the table, where that has names; the same object where nothing is mapped
  std::vector<std::string> remarks;        // one line each: what was left out, and how much
};

// Only names that an image has count: a class without images needs no counterpart. Labels of a set without class names are numbers of the
// table already; one beyond it is a data error. kRefuse: a data error that names the set, the first unknown name, the nearest known one and
// `evaluate.unknown_classes: ignore`. kIgnore: a data error where no image is left.
MappedDataset map_to_table(std::shared_ptr<const Dataset> dataset, const NameTable& table, UnknownNames unknown);

}  // namespace debias
