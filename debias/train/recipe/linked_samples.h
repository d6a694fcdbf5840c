// Training images that a file of pairs links: `data.must_link: {file: pairs.csv, relation: exclude}`.
//
//   exclude    the images of a linked pair are not negatives of each other; terms drop them as they drop pairs of one class
//              (drop_false_negatives), for any labels
//   positive   the same, and the second view of an image shows a random image of its group, drawn uniformly and including itself: the
//              images of a group are views of one sample
//
// Links are transitive: if a is linked to b and b to c, all three are one group. Rows of the file (marked_prior.h) with the answer `same` are
// links; without a column `answer` all rows are, except those of kind leak and random. A name is that of DatasetInfo's source or, if no
// image has that name, the index of an image, from 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/data/sample_table.h"

namespace debias {

enum class LinkRelation { kPositive, kExclude };
constexpr auto enum_words(LinkRelation) { return named("positive", "exclude"); }

// What samples of one group (SampleTable::group) are to each other in training: `data.groups`.
//
//   exclude    no negatives of each other, for objectives that can leave some out
//   positive   the same, and the second view of an image shows a random image of its group, as above
//   ignore     negatives, as all others
enum class GroupMates { kExclude, kPositive, kIgnore };
constexpr auto enum_words(GroupMates) { return named("exclude", "positive", "ignore"); }

struct MustLink {
  std::string file = "";
  LinkRelation relation = LinkRelation::kExclude;
  std::string sha256 = "";  // of the file, in a resolved recipe; empty: any
  void describe(OptionVisitor& o) {
    o("file", file, "CSV with columns a and b of images that belong together");
    o("sha256", sha256, "digest of the file; a run with another one is rejected");
    o("relation", relation, "excluded from each other's negatives, or also views of one sample");
  }

  // A section, or the file alone. Usage errors: unknown keys, no file.
  static MustLink from_config(const Config& section);
};

// `links` with the digest of its file, so that a resumed run detects a changed file. FileError if it cannot be read.
MustLink with_digest(MustLink links);

// [size of `samples`]: the group of each image, or kUnknown for an image without a link. FileErrors name lines: a name without an image, or
// the answer `different` for two images of one group. Also FileErrors: a file without a link, and one with another digest.
std::vector<int64_t> linked_groups(const MustLink& links, const SampleTable& samples);

// [size of `samples`]: the group of each sample that has a mate there, as its least index, else kUnknown. Empty without any mates.
std::vector<int64_t> grouped_samples(const SampleTable& samples);

// Both, which may be empty, as one: transitive, as links are.
std::vector<int64_t> joined_groups(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// What links join, from linked_groups: "data.must_link: 5276 images in 568 groups, ...". `is_large`: the largest group has more than a
// hundredth of all images and kLargeGroup, so that a few wrong links join images of several classes.
constexpr int64_t kLargeGroup = 50;
struct JoinedLinks {
  std::string text;
  bool is_large = false;
};
JoinedLinks joined_links(const std::vector<int64_t>& groups);

}  // namespace debias
