#include "debias/train/methods/sampling.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

enum class DrawBy { kGroup, kClass };
constexpr auto enum_words(DrawBy) { return named("group", "class"); }

constexpr int64_t kCountedVisits = 1 << 16;

struct BalancedOptions {
  DrawBy by = DrawBy::kGroup;
  void describe(OptionVisitor& o) { o("by", by, "groups to balance: class and bias label, or class"); }
};

struct WeightedOptions {
  DrawBy by = DrawBy::kGroup;
  double oversample_conflicting = 10;
  void describe(OptionVisitor& o) {
    o("by", by, "groups drawn equally often: the bias labels of a class, or the classes");
    o("oversample_conflicting", oversample_conflicting, Range::at_least_or_inf(1),
      "maximum ratio of two samples' weights, with by: group; inf: no limit");
    o.check([this](const std::string& what) {
      if (by == DrawBy::kGroup || oversample_conflicting == WeightedOptions().oversample_conflicting) return;
      throw usage_error("{}: oversample_conflicting limits what by: group draws, and it is by: class; leave one out", what);
    });
  }
};

using Group = std::pair<int64_t, int64_t>;  // class, bias label

std::string of_set(const SampleTable& samples) {
  const DatasetInfo& info = samples.info();
  return fmt::format("data set '{}'{}", info.name, info.split.empty() ? "" : fmt::format(" (split {})", info.split));
}

// Of each sample; the bias label is kUnknown by class.
std::vector<Group> known_groups(const std::string& sampler, DrawBy by, const SampleTable& samples) {
  const bool biased = by == DrawBy::kGroup;
  if (samples.info().class_names.empty()) {
    throw usage_error("sampler '{}' needs labels, {} has none; choose a labelled set or leave the sampler out", sampler, of_set(samples));
  }
  if (biased && samples.info().bias_names.empty()) {
    throw usage_error("sampler '{}' needs bias labels, {} has none; write by: class, or choose a set with a bias attribute", sampler,
                      of_set(samples));
  }
  std::vector<Group> groups;
  int64_t unknown = 0, first = 0;
  for (int64_t i = 0; i < samples.size(); ++i) {
    groups.emplace_back(samples.label(i), biased ? samples.bias(i) : kUnknown);
    if (groups.back().first != kUnknown && (!biased || groups.back().second != kUnknown)) continue;
    if (unknown++ == 0) first = i;
  }
  if (unknown == 0) return groups;
  throw data_error("sampler '{}': {} of {} samples of {} have no label{}, the first is '{}'; label them{}, or leave the sampler out",
                   sampler, unknown, samples.size(), of_set(samples), biased ? " or no bias label" : "", samples.source(first),
                   biased ? ", write by: class if they have classes" : "");
}

template <class Key>
std::map<Key, double> counts_of(const std::vector<Key>& keys) {
  std::map<Key, double> counts;
  for (const Key& key : keys) ++counts[key];
  return counts;
}

std::vector<double> weights_from_counts(const std::vector<Group>& groups, const WeightedOptions& options) {
  std::vector<int64_t> classes;
  for (const Group& group : groups) classes.push_back(group.first);
  const auto of_class = counts_of(classes);
  const auto of_group = counts_of(groups);
  std::vector<double> weights;
  double least = std::numeric_limits<double>::infinity();
  for (const Group& group : groups) {
    const double class_count = of_class.at(group.first);
    weights.push_back(options.by == DrawBy::kClass ? 1 / class_count : class_count / of_group.at(group));
    least = std::min(least, weights.back());
  }
  if (options.by == DrawBy::kClass) return weights;
  for (double& weight : weights) weight = std::min(weight, options.oversample_conflicting * least);
  return weights;
}

bool draws_by_group(const NoOptions&) { return false; }
template <class Options>
bool draws_by_group(const Options& options) {
  return options.by == DrawBy::kGroup;
}

template <class Options, class Make>
SamplerEntry sampler_entry(const std::string& name, const std::string& summary, Draws draws, Make make) {
  const auto read = [=](const Config& section) {
    const Options options = options_from<Options>(section_map(section), "sampler '" + name + "'", {"name"});
    ChosenSampler chosen{Config::map({{"name", Config::string(name)}}), draws, draws_by_group(options), nullptr};
    chosen.section.overlay(config_of(options));
    chosen.make = [=](const SampleTable& samples) -> std::shared_ptr<const Sampler> { return make(options, samples); };
    return chosen;
  };
  return {name, {}, summary, option_specs<Options>(), read};
}

std::shared_ptr<const Sampler> balanced(const BalancedOptions& options, const SampleTable& samples) {
  const std::vector<Group> groups = known_groups("balanced", options.by, samples);
  std::map<Group, int64_t> numbers;
  for (const Group& group : groups) numbers.emplace(group, 0);
  int64_t next = 0;
  for (auto& [group, number] : numbers) number = next++;
  std::vector<int64_t> of_sample;
  for (const Group& group : groups) of_sample.push_back(numbers.at(group));
  return std::make_shared<BalancedSampler>(of_sample);
}

std::shared_ptr<const Sampler> weighted(const WeightedOptions& options, const SampleTable& samples) {
  return std::make_shared<WeightedSampler>(weights_from_counts(known_groups("weighted", options.by, samples), options), samples.size());
}

// The share of each class in the draws.
std::map<int64_t, double> class_shares(const std::vector<double>& weights, const SampleTable& samples) {
  std::map<int64_t, double> shares;
  double total = 0;
  for (const double weight : weights) total += weight;
  for (int64_t i = 0; i < samples.size(); ++i) {
    if (samples.label(i) != kUnknown) shares[samples.label(i)] += weights[i] / total;
  }
  return shares;
}

double product_of(const std::map<int64_t, double>& a, const std::map<int64_t, double>& b) {
  double sum = 0;
  for (const auto& [label, share] : a) sum += share * b.at(label);
  return sum;
}

double share_of_pairs(const Recipe& recipe, const SampleTable& samples, const Sampler& sampler) {
  const int64_t B = recipe.train.batch_size;
  double agreeing = 0, all = 0;
  for (int64_t epoch = 0, counted = 0; counted < kCountedVisits; ++epoch, counted += samples.size()) {
    const std::vector<Visit> visits = sampler.epoch(recipe.seed, static_cast<uint64_t>(epoch));
    for (int64_t begin = 0; begin < std::ssize(visits); begin += B) {
      const int64_t end = std::min<int64_t>(begin + B, std::ssize(visits));
      if (end - begin < B && recipe.train.drop_last) break;
      std::vector<int64_t> labels;
      for (int64_t i = begin; i < end; ++i) labels.push_back(samples.label(visits[i].index));
      for (const auto& [label, count] : counts_of(labels)) agreeing += count * (count - 1);
      all += static_cast<double>(end - begin) * static_cast<double>(end - begin - 1);
    }
  }
  return all == 0 ? 0 : agreeing / all;
}

}  // namespace

const std::vector<SamplerEntry>& sampler_registry() {
  static const std::vector<SamplerEntry> registry = {
      sampler_entry<NoOptions>(
          "shuffled", "each sample once per epoch, in a new random order", Draws::kOnceEach,
          [](const NoOptions&, const SampleTable& samples) { return std::make_shared<ShuffledSampler>(samples.size()); }),
      sampler_entry<WeightedOptions>("weighted", "draws with replacement, rare groups more often (Hong and Yang 2021)", Draws::kIndependent,
                                     weighted),
      sampler_entry<BalancedOptions>("balanced", "batches with the same number of samples from each group", Draws::kRounds, balanced)};
  return registry;
}

ChosenSampler read_sampler(const Config& section) { return named_or_first(sampler_registry(), section, "sampler").read(section); }

std::shared_ptr<const Sampler> make_sampler(const Recipe& recipe, const SampleTable& samples) {
  if (recipe.sampler) return recipe.sampler->make(samples);
  return std::make_shared<ShuffledSampler>(samples.size());
}

std::vector<DrawnGroup> drawn_groups(const Recipe& recipe, const SampleTable& samples) {
  const DatasetInfo& info = samples.info();
  if (!recipe.sampler || info.class_names.empty()) return {};
  const std::vector<double> weights = make_sampler(recipe, samples)->weights();
  double total = 0;
  std::map<Group, std::pair<int64_t, double>> found;  // samples, weight
  for (int64_t i = 0; i < samples.size(); ++i) {
    auto& [count, weight] = found[{samples.label(i), samples.bias(i)}];
    ++count;
    weight += weights[i];
    total += weights[i];
  }
  const auto name = [](const std::vector<std::string>& names, int64_t number) {
    return number >= 0 && number < std::ssize(names) ? names[number] : std::string("unknown");
  };
  std::vector<DrawnGroup> groups;
  for (const auto& [group, drawn] : found) {
    const auto& [count, weight] = drawn;
    const std::string bias = info.bias_names.empty() ? "" : ", " + name(info.bias_names, group.second);
    groups.push_back({.name = name(info.class_names, group.first) + bias,
                      .samples = count,
                      .share = weight / total,
                      .times = weight / total * static_cast<double>(samples.size()) / static_cast<double>(count)});
  }
  return groups;
}

std::vector<std::string> undrawn_groups(const Recipe& recipe, const SampleTable& samples) {
  if (!recipe.sampler || !recipe.sampler->by_group) return {};
  const DatasetInfo& info = samples.info();
  std::vector<std::vector<bool>> seen(info.class_names.size(), std::vector<bool>(info.bias_names.size(), false));
  for (int64_t i = 0; i < samples.size(); ++i) seen.at(samples.label(i)).at(samples.bias(i)) = true;
  int64_t missing = 0;
  std::string first;
  for (size_t y = 0; y < seen.size(); ++y) {
    if (std::find(seen[y].begin(), seen[y].end(), true) == seen[y].end()) continue;  // a class without samples is not a group of a run
    for (size_t b = 0; b < seen[y].size(); ++b) {
      if (!seen[y][b] && missing++ == 0) first = fmt::format("class '{}' with bias label '{}'", info.class_names[y], info.bias_names[b]);
    }
  }
  if (missing == 0) return {};
  return {fmt::format("sampler: {} of {} groups have no sample and cannot be drawn, the first is {}", missing,
                      info.class_names.size() * info.bias_names.size(), first)};
}

double drawn_class_prior(const Recipe& recipe, const SampleTable& samples, Negatives negatives) {
  const std::shared_ptr<const Sampler> sampler = make_sampler(recipe, samples);
  const bool independent = recipe.sampler && recipe.sampler->draws == Draws::kIndependent;
  if (negatives == Negatives::kBatch && !independent) return share_of_pairs(recipe, samples, *sampler);
  const auto drawn = class_shares(sampler->weights(), samples);
  if (negatives != Negatives::kAllSamples) return product_of(drawn, drawn);
  return product_of(drawn, class_shares(std::vector<double>(static_cast<size_t>(samples.size()), 1.0), samples));
}

}  // namespace debias
