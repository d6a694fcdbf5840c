// Rows that belong together: frames of a burst, images of a patient, views of a product, copies.
//
// They are not independent, so folds, permutations, intervals and negatives keep them together. What names them is a column, or else what
// the rows themselves show:
//   times        images of one camera whose EXIF times follow each other within 60 s
//   identifiers  a column with at least 8 values for each class, of which at least 10 repeat, and of whose values 95 % lie in one class,
//                although at least 30 points fewer would if labels were independent of it
//   names        sub-folders of class folders, and file names up to a number ("p012" of "p012_3.jpg"), by the rule of identifiers
//   near-copies  images whose details correlate at 0.9 or more (likeness of 16 x 16 thumbnails), joined transitively
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace debias {

struct RowGroups {
  std::vector<int32_t> of_row;  // 0 to count - 1, in the order of their first rows
  int32_t count = 0;
  std::string from = "none";  // "column NAME", "times", "near-copies" or "none": every row is its own group

  bool joins_rows() const { return static_cast<size_t>(count) < of_row.size(); }
  double joined_share() const;  // share of the rows that are not alone in their group
};

RowGroups single_rows(int64_t rows);

// Equal values are one group, of several columns where all are equal; a row with an empty value is its own.
RowGroups groups_of_values(const std::vector<std::span<const std::string>>& columns);

// The same groups, those of rows a and b as one for each pair (a, b).
RowGroups with_joined(const RowGroups& groups, std::span<const std::pair<size_t, size_t>> pairs);

// The number of rows of each group.
std::vector<int64_t> sizes_of(const RowGroups& groups);

// `times` in seconds; a row without a time is its own group. Nothing where fewer than half of the rows have one, where less than a twentieth is joined,
// or where a fifth of the rows are one run, as after a conversion of all files.
std::optional<RowGroups> groups_of_times(std::span<const std::optional<int64_t>> times, std::span<const std::string> cameras);

// Whether the values name what the rows are of: see above. `labels` are 0 to classes - 1.
bool names_groups(std::span<const std::string> values, std::span<const int32_t> labels, int32_t classes);

// What names below the class folders say about what images are of.
struct NamePart {
  std::string from;                 // "sub-folder", "first sub-folder", "file name to number 1", ...
  std::vector<std::string> values;  // one per name; empty where a name has no such part
};
// The folder of an image, the first of several, and its file name up to the end of each number that something follows: "p012" of "p012_3.jpg",
// "vid07" of "vid07-frame003.png". Parts that half of the names have, and that repeat.
std::vector<NamePart> parts_of_names(std::span<const std::string> names);

// Whether a title says that its column names what rows are of: "patient", "PatientID", "subject no", "video_name"; not "PatientAge".
bool is_group_title(std::string_view title);

// Details of an image for a comparison, from 16 x 16 x 3 values; empty where it has none.
struct LikenessVector {
  std::vector<float> detail;  // of length 1
  float mean[3] = {0, 0, 0};
};
LikenessVector likeness_vector(std::span<const uint8_t> rgb16);  // 16 * 16 * 3

// Nothing where nothing is joined, or where a fifth of the rows are one group: images of one kind that all look alike.
std::optional<RowGroups> groups_of_near_copies(const std::vector<LikenessVector>& images);

// Of images whose details correlate at 0.98 or more, whose colours differ by at most 4 of 255, and which `are_copies`, however many are one.
RowGroups groups_of_close_copies(const std::vector<LikenessVector>& images, const std::function<bool(size_t, size_t)>& are_copies);

}  // namespace debias
