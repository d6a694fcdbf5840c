// Bias labels that are aligned with a class, for all protocols of a call: the option `groups.aligned`.
//
//   majority   a class's usual bias labels in the training set (GroupCounts::usual): the most frequent one, and others that speak for the
//              class as well; of equally frequent ones the lowest number, and a note says so. Bias labels that training does not have are
//              on neither side
//   label      the value with the number of the label: so it is in glyphs, biased_mnist, corrupted_cifar10 and bffhq
//   none       nothing is aligned: there is no aligned_acc and no conflicting_acc
//   {cat: red, dog: [blue, green]}   by the names that training has, or the evaluated sets where it has none (numbers where these have none
//              either); a class left out is on neither side
//   auto       label for the four data sets named above, majority for any other
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/data/dataset.h"
#include "debias/results/evaluation_record.h"

namespace debias {

// Which bias labels are aligned with which class. A sample is bias-aligned if its bias label is aligned with its class, else
// bias-conflicting.

enum class Side { kAligned, kConflicting, kNeither };

class AlignmentMap {
 public:
  AlignmentMap() = default;  // no correspondence: every sample is on neither side
  // By class number its bias labels. Samples of a class without any are on neither side, and so are those of unknown label or bias.
  // So are those of an `unseen` bias label, which training does not have.
  explicit AlignmentMap(std::vector<std::vector<int64_t>> biases_of_class, std::vector<int64_t> unseen = {})
      : biases_(std::move(biases_of_class)), unseen_(std::move(unseen)) {}
  static AlignmentMap by_label(int64_t classes);  // class c is aligned with bias label c

  bool empty() const { return biases_.empty(); }
  Side side(int64_t label, int64_t bias) const;
  const std::vector<std::vector<int64_t>>& biases_of_class() const { return biases_; }
  const std::vector<int64_t>& unseen() const { return unseen_; }

 private:
  std::vector<std::vector<int64_t>> biases_;
  std::vector<int64_t> unseen_;
};

enum class AlignedRule { kAuto, kMajority, kLabel, kNone };
constexpr auto enum_words(AlignedRule) { return named("auto", "majority", "label", "none"); }

struct AlignedChoice {
  struct Name {
    std::string text, prefix;  // of messages: where it was written
  };
  struct OfClass {
    Name name;
    std::vector<Name> biases;
  };

  AlignedRule rule = AlignedRule::kAuto;
  std::vector<OfClass> classes = {};  // where any is given, they count, and not the rule
  Config section = {};                // that gives them

  bool operator==(const AlignedChoice& other) const { return rule == other.rule && section == other.section; }
};

namespace options_detail {

template <>
struct Field<AlignedChoice> {
  static std::string type() { return "auto, majority, label, none or {class: bias or [biases]}"; }
  static AlignedChoice parse(const Config& value, const Range& range, const std::string& what);
  static Config emit(const AlignedChoice& choice);
};

}  // namespace options_detail

struct Alignment : AlignedValues {
  AlignmentMap map;                     // by training's numbers of the bias labels; empty: nothing is aligned
  std::vector<AlignmentMap> evaluated;  // the same map by the numbers of each evaluated set, in their order
};

// `evaluated` gives the names of bias labels if the training set has none. Sets with another numbering are mapped by names. Usage
// error on a class or bias label that is not known, with the nearest name. If a majority is requested and the training set has no bias
// labels, nothing is aligned, and a note says so if an evaluated set has some. Notes speak of classes with a training image only.
//
// By majority, a note says where one bias label is the most frequent of every class, and where share - q <= 3 sqrt(C q (1 - q) / n), with
// q = share_by_chance = sum over classes c of P(c) P(bias label is aligned with c), C classes and n images of known class and bias label:
// most frequent values of so few images say nothing.
Alignment decide_alignment(const Dataset& train, const std::vector<const Dataset*>& evaluated, const AlignedChoice& choice);

}  // namespace debias
