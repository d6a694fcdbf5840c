#include "debias/train/recipe/linked_samples.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>

#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/core/sha256.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/readers/row_names.h"
#include "debias/train/recipe/marked_prior.h"

namespace debias {
namespace {

class ImageNames {
 public:
  ImageNames(const std::string& file, const SampleTable& samples) : file_(file), set_(samples.info().name), names_(sources(samples)) {}

  int64_t place(const std::string& name, int64_t line) const {
    if (const auto found = names_.find(name)) return *found;
    int64_t number = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size() && number >= 0 && number < names_.size()) return number;
    refuse_line(
        file_, line,
        fmt::format("'{}' is not an image of the training set ({} of '{}'); its first is '{}'", name, names_.size(), set_, names_.name(0)));
  }

 private:
  static std::vector<std::string> sources(const SampleTable& samples) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < samples.size(); ++i) names.push_back(samples.source(i));
    return names;
  }

  const std::string &file_, &set_;
  SampleNames names_;
};

class Groups {
 public:
  explicit Groups(int64_t size) : parent_(static_cast<size_t>(size)) { std::iota(parent_.begin(), parent_.end(), 0); }
  int64_t find(int64_t i) {
    while (parent(i) != i) i = parent(i) = parent(parent(i));
    return i;
  }
  void join(int64_t a, int64_t b) {
    const int64_t x = find(a), y = find(b);
    parent(std::max(x, y)) = std::min(x, y);
  }
  // The least of each group, of groups of two or more.
  std::vector<int64_t> numbers() {
    std::vector<int64_t> sizes(parent_.size()), numbers;
    for (size_t i = 0; i < parent_.size(); ++i) ++sizes[static_cast<size_t>(find(static_cast<int64_t>(i)))];
    for (size_t i = 0; i < parent_.size(); ++i) {
      const int64_t group = find(static_cast<int64_t>(i));
      numbers.push_back(sizes[static_cast<size_t>(group)] > 1 ? group : kUnknown);
    }
    return numbers;
  }

 private:
  int64_t& parent(int64_t i) { return parent_[static_cast<size_t>(i)]; }
  std::vector<int64_t> parent_;
};

bool is_link(const MarkedPair& pair) {
  if (pair.kind == "leak") return false;
  if (pair.answer) return *pair.answer == PairAnswer::kSame;
  return pair.kind != "random";
}

}  // namespace

MustLink MustLink::from_config(const Config& section) {
  if (section.is_scalar()) return MustLink{.file = section.text()};
  const MustLink links = options_from<MustLink>(section, "data: must_link");
  if (links.file.empty()) throw usage_error("{}data: must_link: no file is given; write file: pairs.csv", section.prefix());
  return links;
}

MustLink with_digest(MustLink links) {
  links.sha256 = file_digest(links.file);
  return links;
}

std::vector<int64_t> linked_groups(const MustLink& links, const SampleTable& samples) {
  if (!links.sha256.empty() && with_digest(links).sha256 != links.sha256)
    throw FileError(links.file, "is not the file that the recipe names (must_link: sha256); restore it, or leave sha256 out");
  const std::vector<MarkedPair> pairs = distinct_marks(links.file);
  const ImageNames names(links.file, samples);
  Groups groups(samples.size());
  bool any = false;
  for (const MarkedPair& pair : pairs) {
    if (!is_link(pair)) continue;
    any = true;
    groups.join(names.place(pair.a, pair.line), names.place(pair.b, pair.line));
  }
  if (!any) throw FileError(links.file, "links no images: no pair has the answer same; mark pairs, or leave must_link out");
  for (const MarkedPair& pair : pairs) {
    if (pair.answer != PairAnswer::kDifferent || pair.kind == "leak") continue;
    if (groups.find(names.place(pair.a, pair.line)) == groups.find(names.place(pair.b, pair.line))) {
      refuse_line(links.file, pair.line,
                  fmt::format("'{}' and '{}' are marked different, but other rows link them; correct one", pair.a, pair.b));
    }
  }
  return groups.numbers();
}

std::vector<int64_t> grouped_samples(const SampleTable& samples) {
  if (samples.info().group_names.empty()) return {};
  Groups groups(samples.size());
  std::unordered_map<int64_t, int64_t> first;
  bool any = false;
  for (int64_t i = 0; i < samples.size(); ++i) {
    if (samples.group(i) == kUnknown) continue;
    const auto [found, is_new] = first.try_emplace(samples.group(i), i);
    if (is_new) continue;
    groups.join(found->second, i);
    any = true;
  }
  return any ? groups.numbers() : std::vector<int64_t>();
}

std::vector<int64_t> joined_groups(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  if (a.empty()) return b;
  Groups groups(std::ssize(a));
  for (const auto* numbers : {&a, &b}) {
    for (size_t i = 0; i < numbers->size(); ++i) {
      if ((*numbers)[i] != kUnknown) groups.join(static_cast<int64_t>(i), (*numbers)[i]);  // a group's number is its least index
    }
  }
  return groups.numbers();
}

JoinedLinks joined_links(const std::vector<int64_t>& groups) {
  std::unordered_map<int64_t, int64_t> sizes;
  int64_t images = 0, largest = 0;
  for (const int64_t group : groups) {
    if (group == kUnknown) continue;
    ++images;
    largest = std::max(largest, ++sizes[group]);
  }
  const bool is_large = largest > kLargeGroup && largest * 100 > std::ssize(groups);
  std::string text = fmt::format("data.must_link: {} images in {} groups, the largest of {}", images, sizes.size(), largest);
  if (is_large) text += "; links are transitive, and a wrong one joins two groups: mark the pairs, or pass fewer";
  return {std::move(text), is_large};
}

}  // namespace debias
