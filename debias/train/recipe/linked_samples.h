// Training images that a file of pairs says belong together: `data.must_link: {file: pairs.csv, relation: exclude}`.
//
//   exclude    the images of a linked pair are not negatives of each other; terms drop them as they drop pairs of one class
//              (drop_false_negatives), whatever the labels are
//   positive   the same, and the second view of an image shows an image of its group, drawn uniformly, itself included: the images of a
//              group are views of one sample
//
// Links join: where a and b are linked and b and c, all three are one group. Rows of the file (pair_marks.h) with the answer `same` are
// links; without a column `answer` every row is, but for those of kind leak and random. A name is that of DatasetInfo's source, or, where
// no image has it, the place of an image, from 0.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/data/sample_table.h"

namespace debias {

enum class LinkRelation { kPositive, kExclude };
template <>
struct EnumNames<LinkRelation> {
  static constexpr std::array<std::pair<std::string_view, LinkRelation>, 2> values = {
      {{"positive", LinkRelation::kPositive}, {"exclude", LinkRelation::kExclude}}};
};

class MustLink {
 public:
  DEBIAS_OPTION(MustLink, std::string, file, "")
  DEBIAS_OPTION(MustLink, LinkRelation, relation, LinkRelation::kExclude)
  DEBIAS_OPTION(MustLink, std::string, sha256, "")  // of the file, as a resolved recipe has it; empty: any
  static const OptionTable<MustLink>& table();

  // A section, or the file alone. Usage errors: unknown keys, no file.
  static MustLink from_config(const Config& section);
};

// `links` with the digest of its file, so that a resumed run sees where the file has changed. FileError where it cannot be read.
MustLink with_digest(MustLink links);

// [size of `samples`]: the number of its group, or kUnknown of an image without a link. FileErrors name lines: a name that no image has, an
// answer `different` of two images of one group; a file without a link, and
// one with another digest.
std::vector<int64_t> linked_groups(const MustLink& links, const SampleTable& samples);

}  // namespace debias
