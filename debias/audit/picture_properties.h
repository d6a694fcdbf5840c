// Properties of pixels, each with a measure that gives the value of any picture.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "debias/audit/picture.h"
#include "debias/audit/property.h"
#include "debias/data/row_groups.h"

namespace debias {

struct MeasuredProperty {
  Property property;
  std::function<std::string(const Picture&)> value_of = {};                 // empty where it cannot give values to other pictures
  std::function<std::string(std::span<const float>)> value_of_vector = {};  // of a property of features
};

// Search looks at the first kSearched pictures, which must be in random order; values are of all.
constexpr int64_t kSearched = 1000;

struct PictureRows {
  const std::vector<Picture>& pictures;
  int side;  // of thumbnails
  const RowGroups& groups;
};

// Colour of the outermost row and of the outer 3 % of each side, and of all four, where it is plain: the deviation of a channel is at most 3.
// Colours that differ by at most 1 in a channel are one. Two properties each: "colour of the", where the colour goes on inside, compared among
// these images only, as content may reach any edge; "strip at the", where it ends there. Noisy frames: isolated clusters (below) of the
// sides' mean colours.
std::vector<MeasuredProperty> edge_properties(const PictureRows& rows);

MeasuredProperty corner_property(const PictureRows& rows);

// Whether most objects of the pictures' masks cover half of the place; without masks, whether it lies in the middle of the image.
bool is_on_objects(const ImagePlace& place, std::span<const Picture> pictures, int side);

// Groups of pictures that show one background: luma less its smooth part, of the outer 22 % without the first and last twelfth of the
// rows (captions), or of what lies outside the object where pictures have masks, less the mean over pictures, correlates above 0.55. A picture has a background if 60 % of the outer part has detail.
std::vector<MeasuredProperty> scene_properties(const PictureRows& rows);

// Marks at one place. A cell of the thumbnail (4, 9 or 18 % wide) whose colours are nearly the same in 4 to 90 % of the groups, and far from
// all others: of the pictures within 2 tau, 60 % lie within tau = min(12, 0.4 deviations). Its region, the connected pixels that vary by
// less than max(tau, 6) among these pictures or differ by 20 from the rest's, must end sharply. The colour of the picture's own edge is no
// mark.
std::vector<MeasuredProperty> mark_properties(const PictureRows& rows);

// Details that recur at any place and size of their own: patches around corners that correlate above 0.88, in at least 4 groups, of which
// few others correlate above 0.76 (at most a fifth). Details that occur in the same pictures are one.
// Details that an image shows 1.5 times on average are what images are made of, and no shortcut.
struct FoundDetails {
  std::vector<MeasuredProperty> properties;
  double recurring = 0;  // share of the patches that correlate above 0.88 with patches at other places in a tenth of the groups

  bool content_recurs() const { return recurring > 0.1; }  // a little in photographs
  bool is_drawn() const { return recurring > 0.25; }       // images are made of the same pieces
};
FoundDetails detail_properties(const PictureRows& rows);

// Compression, noise, sharpness, tones ...: bins of a number, or clusters of many. Those that content affects little may be shortcuts if
// their effect is at least 0.3 to 0.6.
// k-means clusters of the first principal components. `values` [rows, dimensions].
MeasuredProperty cluster_property(std::string name, PropertyKind kind, const std::vector<float>& values, int64_t rows, int64_t clusters,
                                  uint64_t seed);
// Principal components of features, and clusters of them: at most worth a look. `values` [rows, dimensions].
std::vector<MeasuredProperty> direction_properties(const std::vector<float>& values, int64_t rows, int64_t dimensions, int64_t clusters,
                                                   uint64_t seed);

std::vector<MeasuredProperty> description_properties(const PictureRows& rows, uint64_t seed);

}  // namespace debias
