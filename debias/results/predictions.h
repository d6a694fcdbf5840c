// Tables of predictions: accuracy by class and bias label, rates by bias label, and which class was taken for which. As a protocol counts
// them, as a file holds them, and as a page shows them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "debias/results/json_file.h"

namespace debias {

// Rates of the images of one bias label, by class, with the class as the positive one: fairlearn's rates (groups.h); NaN if there is
// nothing to count.
struct BiasRates {
  std::string bias;
  int64_t count = 0;
  double accuracy = 0, error_rate = 0;
  std::vector<double> selection_rate, true_positive_rate, false_positive_rate, false_negative_rate;
};

struct GroupTable {
  std::vector<std::string> labels, biases;
  std::vector<std::vector<int64_t>> count;    // [label][bias]
  std::vector<std::vector<double>> accuracy;  // the same; NaN in an empty group
  std::vector<BiasRates> rates;               // by bias label; empty in files that do not have them
};

struct ClassTable {
  std::vector<std::string> classes;
  std::vector<int64_t> count, predicted;        // images of the class, and taken for it
  std::vector<double> accuracy;                 // NaN of a class without images
  std::vector<std::vector<int64_t>> confusion;  // [label][predicted]; empty where there is none
};

// {"labels", "biases", "count", "accuracy", the keys of the class table, "by_bias": {bias label: {"count", "accuracy", "error_rate", and by
// class "selection_rate", "true_positive_rate", "false_positive_rate", "false_negative_rate"}}}; null where there is nothing to count.
Json group_table_json(const GroupTable& groups, const ClassTable& classes);
// {"confusion", "per_class": {class: {"count", "predicted", "accuracy"}}}.
Json class_table_json(const ClassTable& table);

// Reads one split. A json::exception on other types; data errors, naming `path`, on tables that do not fit together.
GroupTable read_group_table(const Json& json, const std::string& path);
// Empty where `json` has no "per_class".
ClassTable read_class_table(const Json& json, const std::string& path);

// Whose predictions a number evaluates: accuracy of kNN and accuracy of a classifier are different numbers with one name.
struct PredictionsOf {
  std::string_view name;   // in a record
  std::string_view title;  // as a person reads it
};

// If several have a number, the first of these counts.
inline constexpr std::array<PredictionsOf, 4> kPredictionsOf = {
    {{"classifier", "classifier"}, {"linear", "linear probe"}, {"knn", "kNN"}, {"mean_classifier", "mean classifier"}}};

// The title of a name in a record; the name itself where this program does not know it.
inline std::string source_title(const std::string& source) {
  const auto* const found = std::ranges::find(kPredictionsOf, source, &PredictionsOf::name);
  return found == kPredictionsOf.end() ? source : std::string(found->title);
}

// Right or wrong, image by image, so that two runs can be compared on the same images: a string of an evaluation file, a letter for each
// image of the evaluated set, in its order.
//
//   A a   aligned, predicted right, wrong          R r   of neither side, right, wrong
//   C c   conflicting, right, wrong                .     of unknown class
enum class MarkedImages { kAll, kAligned, kConflicting };  // of known class

// Numbers of images that two runs predict equally and differently; not whole where they are divided by a design effect.
struct PairedCounts {
  double both = 0, only_first = 0, only_second = 0, neither = 0;  // predicted right by

  double images() const { return both + only_first + only_second + neither; }
  double first() const;  // shares of images predicted right; NaN without images
  double second() const;
  PairedCounts divided(double design_effect) const;
};

// Throws a data error, naming `path`, for any other letter.
void require_marks(const std::string& marks, const std::string& path);

// True if they can be of the same images: as many, and each of the same side.
bool are_of_one_set(const std::string& a, const std::string& b);

// Over the images of strings that are of one set.
PairedCounts paired_counts(const std::string& a, const std::string& b, MarkedImages images);

// By how much to divide the number of images because images of one group, such as frames of a burst, are alike: Kish's design effect of the
// share predicted right or, with `b`, of the difference of two shares. At least 1; where the images do not vary, their mean number in a group. `group_of`: of each image of the strings, negative
// for one that stands alone.
double design_effect(const std::string& a, const std::string* b, MarkedImages images, const std::vector<int64_t>& group_of);

}  // namespace debias
