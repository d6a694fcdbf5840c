#include "debias/evaluate/alignment.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/group_counts.h"
#include "debias/data/name_table.h"

namespace debias {

AlignmentMap AlignmentMap::by_label(int64_t classes) {
  std::vector<std::vector<int64_t>> biases;
  for (int64_t c = 0; c < classes; ++c) biases.push_back({c});
  return AlignmentMap(std::move(biases));
}

Side AlignmentMap::side(int64_t label, int64_t bias) const {
  if (label == kUnknown || bias == kUnknown || label >= std::ssize(biases_)) return Side::kNeither;
  const std::vector<int64_t>& own = biases_[static_cast<size_t>(label)];
  if (own.empty() || std::ranges::find(unseen_, bias) != unseen_.end()) return Side::kNeither;
  return std::find(own.begin(), own.end(), bias) != own.end() ? Side::kAligned : Side::kConflicting;
}

namespace {

constexpr size_t kNamedClasses = 5;  // of a note
constexpr const char* kExpected = "auto, majority, label, none or a map such as {cat: red, dog: [blue, green]}";

struct Names {
  const char* what;  // "class" or "bias label"
  std::vector<std::string> names;
};

Names names_of(const char* what, const std::vector<std::string>& named, int64_t count) {
  Names names{what, {}};
  for (int64_t i = 0; i < std::max(count, std::ssize(named)); ++i) names.names.push_back(value_name(named, i));
  return names;
}

int64_t count_values(const Dataset& dataset, int64_t (Dataset::*number)(int64_t) const) {
  int64_t count = 0;
  for (int64_t i = 0; i < dataset.size(); ++i) count = std::max(count, (dataset.*number)(i) + 1);
  return count;
}

// Samples of the training set.
GroupCounts count_pairs(const Dataset& train, size_t classes, size_t biases) {
  GroupCounts counts(static_cast<int64_t>(classes), static_cast<int64_t>(biases));
  for (int64_t i = 0; i < train.size(); ++i) counts.add(counts.group(train.label(i), train.bias(i)));
  return counts;
}

int64_t number_of(const AlignedChoice::Name& name, const Names& known) {
  const auto found = std::find(known.names.begin(), known.names.end(), name.text);
  if (found != known.names.end()) return found - known.names.begin();
  throw usage_error("{}groups: aligned: unknown {} '{}'{}", name.prefix, known.what, name.text, suggestion(name.text, known.names));
}

std::vector<std::vector<int64_t>> as_written(const AlignedChoice& choice, const Names& classes, const Names& biases) {
  std::vector<std::vector<int64_t>> aligned(classes.names.size());
  for (const auto& [name, biases_of_it] : choice.classes) {
    auto& own = aligned[static_cast<size_t>(number_of(name, classes))];
    for (const auto& bias : biases_of_it) own.push_back(number_of(bias, biases));
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return aligned;
}

AlignmentMap usual_map(const GroupCounts& counts, const Names& classes, const Names& biases, std::vector<std::string>& notes) {
  const std::vector<int64_t> majorities = counts.majorities(), of_bias = counts.of_biases();
  std::vector<std::vector<int64_t>> aligned = counts.usual();
  for (size_t y = 0; y < majorities.size(); ++y) {
    if (aligned[y].size() != 1) continue;
    const auto own = counts.count.begin() + static_cast<std::ptrdiff_t>(y) * counts.biases;
    const int64_t most = own[majorities[y]];
    const auto ties = std::count(own, own + counts.biases, most);
    if (ties == 1) continue;
    notes.push_back(fmt::format("{} bias labels of class '{}' are equally frequent in training ({} images each); '{}' is taken as aligned",
                                ties, classes.names[y], most, biases.names[static_cast<size_t>(majorities[y])]));
  }
  std::vector<int64_t> unseen;
  for (int64_t b = 0; b < counts.biases; ++b) {
    if (of_bias[static_cast<size_t>(b)] == 0) unseen.push_back(b);
  }
  return AlignmentMap(std::move(aligned), std::move(unseen));
}

void note_classes_without(const AlignmentMap& map, const Dataset& train, const Names& classes, std::vector<std::string>& notes) {
  std::set<int64_t> trained;
  for (int64_t i = 0; i < train.size(); ++i) trained.insert(train.label(i));
  std::string named;
  size_t without = 0;
  for (size_t y = 0; y < classes.names.size(); ++y) {
    if (!map.biases_of_class()[y].empty() || !trained.contains(static_cast<int64_t>(y)) || ++without > kNamedClasses) continue;
    named += (named.empty() ? "'" : ", '") + classes.names[y] + "'";
  }
  if (without > kNamedClasses) named += ", ...";
  if (without > 0) notes.push_back("no bias label is aligned with " + named + ": such images are neither aligned nor conflicting");
}

BiasesOfClass by_name(const AlignmentMap& map, const Names& classes, const Names& biases) {
  BiasesOfClass found;
  for (size_t y = 0; y < classes.names.size() && !map.empty(); ++y) {
    auto& own = found.emplace_back(classes.names[y], std::vector<std::string>()).second;
    for (const int64_t bias : map.biases_of_class()[y]) own.push_back(value_name(biases.names, bias));
  }
  return found;
}

struct Shares {
  double classes = 0, images = 0;  // of known class and bias label
  double aligned = 0, by_chance = 0;
};

Shares aligned_shares(const AlignmentMap& map, const GroupCounts& counts) {
  const std::vector<int64_t> of_class = counts.of_classes(), of_bias = counts.of_biases();
  Shares shares;
  for (const int64_t images : of_class) {
    shares.images += static_cast<double>(images);
    shares.classes += images > 0;
  }
  if (shares.images == 0) return shares;
  for (int64_t y = 0; y < counts.classes; ++y) {
    for (int64_t b = 0; b < counts.biases; ++b) {
      if (map.side(y, b) != Side::kAligned) continue;
      shares.aligned += static_cast<double>(counts.count[static_cast<size_t>(counts.group(y, b))]) / shares.images;
      shares.by_chance += static_cast<double>(of_class[static_cast<size_t>(y)]) / shares.images *
                          static_cast<double>(of_bias[static_cast<size_t>(b)]) / shares.images;
    }
  }
  return shares;
}

void note_no_shortcut(const AlignmentMap& map, const Shares& shares, const Names& biases, std::vector<std::string>& notes) {
  if (shares.classes < 2) return;
  std::set<int64_t> values;
  for (const auto& own : map.biases_of_class()) values.insert(own.begin(), own.end());
  const double noise = 3 * std::sqrt(shares.classes * shares.by_chance * (1 - shares.by_chance) / shares.images);
  if (values.size() == 1) {
    notes.push_back(
        fmt::format("'{}' is the most frequent bias label of every class in training: aligned_acc and conflicting_acc separate it "
                    "from the other values, and no shortcut from its opposite",
                    biases.names[static_cast<size_t>(*values.begin())]));
  } else if (shares.aligned - shares.by_chance <= noise) {
    notes.push_back(
        fmt::format("{:.3f} of the training images are aligned, and {:.3f} would be by chance: no bias label is associated with a class "
                    "beyond the noise of {} images",
                    shares.aligned, shares.by_chance, shares.images));
  }
}

// Names of the bias labels: training's, else those of the evaluated sets in their order.
std::vector<std::string> bias_names(const Dataset& train, const std::vector<const Dataset*>& evaluated) {
  std::vector<std::string> names = train.info().bias_names;
  if (!names.empty()) return names;
  for (const Dataset* dataset : evaluated) {
    for (const auto& name : dataset->info().bias_names) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// The map by the numbers of a set whose bias labels are called `own`; kUnknown, which no image matches, for values that it does not have.
AlignmentMap renumbered(const AlignmentMap& map, const Names& biases, const std::vector<std::string>& own) {
  const bool same = own.size() <= biases.names.size() && std::equal(own.begin(), own.end(), biases.names.begin());
  if (same) return map;
  auto numbers = map.biases_of_class();
  std::vector<int64_t> unseen = map.unseen();
  const auto renumber = [&](int64_t& bias) {
    const auto found = std::find(own.begin(), own.end(), value_name(biases.names, bias));
    bias = found == own.end() ? kUnknown : found - own.begin();
  };
  for (auto& of_class : numbers) std::ranges::for_each(of_class, renumber);
  std::ranges::for_each(unseen, renumber);
  return AlignmentMap(std::move(numbers), std::move(unseen));
}

AlignedRule rule_for(const Dataset& train) {
  return data_set_is(train.info().name, &DatasetEntry::numbers_biases_as_classes) ? AlignedRule::kLabel : AlignedRule::kMajority;
}

}  // namespace

namespace options_detail {

AlignedChoice Field<AlignedChoice>::parse(const Config& value, const Range&, const std::string& what) {
  if (value.is_scalar()) return {Field<AlignedRule>::parse(value, Range::any(), what)};
  if (!value.is_map() || value.entries().empty()) refuse(value, what, kExpected);
  AlignedChoice choice{.section = value};
  for (const auto& [name, own] : value.entries()) {
    const std::vector<Config> biases = own.is_sequence() ? own.items() : std::vector<Config>{own};
    if (biases.empty() || !std::ranges::all_of(biases, &Config::is_scalar)) {
      refuse(own, what + ": " + name, "a bias label or a list of them");
    }
    auto& of_class = choice.classes.emplace_back(AlignedChoice::OfClass{{name, own.prefix()}, {}});
    for (const Config& bias : biases) of_class.biases.push_back({Field<std::string>::parse(bias, Range::any(), what), bias.prefix()});
  }
  return choice;
}

Config Field<AlignedChoice>::emit(const AlignedChoice& choice) {
  return choice.classes.empty() ? Field<AlignedRule>::emit(choice.rule) : choice.section;
}

}  // namespace options_detail

Alignment decide_alignment(const Dataset& train, const std::vector<const Dataset*>& evaluated, const AlignedChoice& choice) {
  const int64_t trained_biases = count_values(train, &Dataset::bias);
  int64_t evaluated_biases = 0;
  for (const Dataset* dataset : evaluated) evaluated_biases = std::max(evaluated_biases, count_values(*dataset, &Dataset::bias));
  const Names classes = names_of("class", train.info().class_names, count_values(train, &Dataset::label));
  const Names biases = names_of("bias label", bias_names(train, evaluated), std::max(trained_biases, evaluated_biases));
  const GroupCounts counts = count_pairs(train, classes.names.size(), biases.names.size());
  const AlignedRule rule = choice.rule == AlignedRule::kAuto ? rule_for(train) : choice.rule;
  Alignment alignment;
  if (!choice.classes.empty()) {
    alignment.by = "recipe";
    alignment.map = AlignmentMap(as_written(choice, classes, biases));
  } else if (rule == AlignedRule::kMajority && trained_biases > 0) {
    alignment.by = "majority";
    alignment.map = usual_map(counts, classes, biases, alignment.notes);
  } else if (rule == AlignedRule::kMajority && evaluated_biases > 0) {
    alignment.notes.push_back(
        "the training set has no bias labels, so none is aligned with a class; give groups.aligned: {class: bias label}");
  } else if (rule == AlignedRule::kLabel) {
    alignment.by = "label";
    alignment.map = AlignmentMap::by_label(std::ssize(classes.names));
  }
  alignment.biases_of_class = by_name(alignment.map, classes, biases);
  for (const Dataset* dataset : evaluated) alignment.evaluated.push_back(renumbered(alignment.map, biases, dataset->info().bias_names));
  if (alignment.map.empty()) return alignment;
  const Shares shares = aligned_shares(alignment.map, counts);
  note_classes_without(alignment.map, train, classes, alignment.notes);
  if (alignment.by == "majority") note_no_shortcut(alignment.map, shares, biases, alignment.notes);
  if (shares.images == 0) return alignment;
  alignment.share = shares.aligned;
  alignment.share_by_chance = shares.by_chance;
  return alignment;
}

}  // namespace debias
