#include "debias/audit/picture_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "debias/audit/isolated_clusters.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

int64_t searched(const PictureRows& rows) { return std::min(kSearched, std::ssize(rows.pictures)); }

// 1 / number of searched pictures of its group.
std::vector<float> search_weights(const PictureRows& rows) {
  std::map<int32_t, float> size;
  const auto n = static_cast<size_t>(searched(rows));
  for (size_t row = 0; row < n; ++row) ++size[rows.groups.of_row[row]];
  std::vector<float> weights;
  for (size_t row = 0; row < n; ++row) weights.push_back(1 / size[rows.groups.of_row[row]]);
  return weights;
}

// The property that `value_of` measures, each text a value.
MeasuredProperty measured(std::string name, PropertyKind kind, const PictureRows& rows, std::function<std::string(const Picture&)> value_of,
                          const std::vector<std::string>& absent) {
  std::vector<std::string> texts;
  for (const Picture& picture : rows.pictures) texts.push_back(value_of(picture));
  Property property = text_property(std::move(name), kind, texts, 2);
  property.exact = false;
  for (size_t v = 0; v < property.value_names.size(); ++v) {
    if (std::ranges::find(absent, property.value_names[v]) != absent.end()) property.absent[v] = true;
  }
  return {std::move(property), std::move(value_of)};
}

// ------------------------------------------------------------------------------------------------------------------------------ edges

constexpr const char* kNotPlain = "not plain";
constexpr std::array<const char*, kSides> kSideNames = {"top", "bottom", "left", "right"};
using Colour = std::array<int, 3>;

std::optional<Colour> plain_colour(const EdgeBand& band) {
  constexpr float kMostDeviation = 3;
  if (band.deviation > kMostDeviation) return std::nullopt;
  return Colour{static_cast<int>(std::lround(band.mean[0])), static_cast<int>(std::lround(band.mean[1])),
                static_cast<int>(std::lround(band.mean[2]))};
}

bool are_one(const Colour& a, const Colour& b, int within = 1) {
  return std::abs(a[0] - b[0]) <= within && std::abs(a[1] - b[1]) <= within && std::abs(a[2] - b[2]) <= within;
}

// The most frequent colours; each stands for those around it.
std::vector<Colour> leading_colours(const std::vector<std::optional<Colour>>& colours) {
  std::map<Colour, int64_t> count;
  for (const auto& colour : colours) {
    if (colour) ++count[*colour];
  }
  std::vector<std::pair<int64_t, Colour>> order;
  for (const auto& [colour, rows] : count) order.emplace_back(-rows, colour);
  std::ranges::sort(order);
  std::vector<Colour> leaders;
  for (const auto& [rows, colour] : order) {
    if (std::ranges::none_of(leaders, [&](const Colour& leader) { return are_one(leader, colour); })) leaders.push_back(colour);
  }
  return leaders;
}

// Pixels at a depth of `from` to `to` % of the thumbnail. Right inside is 6 to 12 %.
constexpr int kInside = 6, kInsideEnd = 12;
template <class Visit>
void visit_inner(const Picture& picture, int side, int from, int to, const Visit& visit) {
  const int first = std::max(2, side * from / 100), last = std::max(first + 1, side * to / 100);
  for (int y = first; y < side - first; ++y) {
    for (int x = first; x < side - first; ++x) {
      const std::array<int, kSides> depth = {y, side - 1 - y, x, side - 1 - x};
      if (std::ranges::min(depth) >= last) continue;
      visit(depth, last, picture.thumbnail.data() + 3 * (static_cast<size_t>(y) * static_cast<size_t>(side) + static_cast<size_t>(x)));
    }
  }
}

// A fifth of the image has this colour: nothing is there.
bool covers_much(const std::vector<uint8_t>& thumbnail, const Colour& colour, int within) {
  size_t alike = 0;
  for (size_t i = 0; i < thumbnail.size(); i += 3)
    alike += are_one(colour, {thumbnail[i], thumbnail[i + 1], thumbnail[i + 2]}, within) ? 1 : 0;
  return 15 * alike >= thumbnail.size();
}

// What is right inside, or much of the image, has the same colour: it is what the image shows things on, no frame. `sides` of those that are plain.
bool goes_on(const Picture& picture, int side, const Colour& colour, std::span<const int> sides) {
  constexpr int kSameColour = 12;
  int64_t alike = 0, all = 0;
  visit_inner(picture, side, kInside, kInsideEnd, [&](const std::array<int, kSides>& depth, int last, const uint8_t* pixel) {
    if (std::ranges::none_of(sides, [&](int s) { return depth[static_cast<size_t>(s)] < last; })) return;
    ++all;
    alike += are_one(colour, {pixel[0], pixel[1], pixel[2]}, kSameColour) ? 1 : 0;
  });
  return 2 * alike >= all || covers_much(picture.thumbnail, colour, kSameColour);
}

// Two properties: the colour of a frame, and that of the background where it reaches the edge. Content that reaches the edge in its place
// says nothing about backgrounds.
void add_plain_colour(const std::string& where, const PictureRows& rows, std::span<const int> sides,
                      const std::function<std::optional<Colour>(const Picture&)>& colour, std::optional<ImagePlace> place,
                      std::vector<MeasuredProperty>& found) {
  for (const bool background : {false, true}) {
    const auto own_colour = [colour, background, side = rows.side, sides](const Picture& picture) -> std::optional<Colour> {
      const auto own = colour(picture);
      return own && goes_on(picture, side, *own, sides) == background ? own : std::nullopt;
    };
    std::vector<std::optional<Colour>> colours;
    for (const Picture& picture : rows.pictures) colours.push_back(own_colour(picture));
    if (std::ranges::none_of(colours, [](const auto& c) { return c.has_value(); })) continue;
    const auto value_of = [own_colour, leaders = leading_colours(colours)](const Picture& picture) -> std::string {
      const auto own = own_colour(picture);
      if (!own) return kNotPlain;
      for (const Colour& leader : leaders) {
        if (are_one(leader, *own)) return fmt::format("{},{},{}", leader[0], leader[1], leader[2]);
      }
      return fmt::format("{},{},{}", (*own)[0], (*own)[1], (*own)[2]);
    };
    found.push_back(measured((background ? "colour of the " : "strip at the ") + where, PropertyKind::kEdge, rows, value_of, {kNotPlain}));
    found.back().property.place = place;
    found.back().property.among_present = background;
  }
}

ImagePlace side_place(int side, double depth) {
  const std::array<ImagePlace, kSides> places = {{{0, 0, 1, depth}, {0, 1 - depth, 1, depth}, {0, 0, depth, 1}, {1 - depth, 0, depth, 1}}};
  return places[static_cast<size_t>(side)];
}

std::vector<float> border_colours(const Picture& picture) {
  std::vector<float> colours;
  for (const EdgeBand& band : picture.border) colours.insert(colours.end(), band.mean.begin(), band.mean.end());
  return colours;
}

// Mean colour at such a depth, all around.
std::array<float, 3> inner_colour(const Picture& picture, int side, int from, int to) {
  std::array<float, 3> sum{};
  float count = 0;
  visit_inner(picture, side, from, to, [&](const std::array<int, kSides>&, int, const uint8_t* pixel) {
    for (size_t c = 0; c < 3; ++c) sum[c] += pixel[c];
    ++count;
  });
  for (float& value : sum) value /= std::max(count, 1.0F);
  return sum;
}

// Most members have another colour right inside, and less of a change from there on, as a vignette has.
bool ends_sharply(const IsolatedCluster& cluster, const PictureRows& rows) {
  constexpr float kDiffers = 20;
  constexpr int kDeeper = 25, kDeeperEnd = 31;
  int64_t members = 0, sharp = 0;
  for (size_t row = 0; row < cluster.members.size(); ++row) {
    if (!cluster.members[row]) continue;
    const Picture& picture = rows.pictures[row];
    const auto inner = inner_colour(picture, rows.side, kInside, kInsideEnd),
               deeper = inner_colour(picture, rows.side, kDeeper, kDeeperEnd);
    float step = 0, further = 0;
    for (size_t c = 0; c < 3; ++c) {
      float mean = 0;
      for (const EdgeBand& band : picture.border) mean += band.mean[c] / kSides;
      step = std::max(step, std::abs(mean - inner[c]));
      further = std::max(further, std::abs(inner[c] - deeper[c]));
    }
    ++members;
    sharp += step >= kDiffers && step > further ? 1 : 0;
  }
  return 10 * sharp >= 7 * members;
}

// Noisy frames, which are not plain but of one colour on average.
void add_frames(const PictureRows& rows, std::vector<MeasuredProperty>& found) {
  std::vector<float> vectors;
  for (int64_t row = 0; row < searched(rows); ++row) {
    const auto own = border_colours(rows.pictures[static_cast<size_t>(row)]);
    vectors.insert(vectors.end(), own.begin(), own.end());
  }
  constexpr double kFrameIsolation = 0.8;
  auto clusters = isolated_clusters(vectors, 3 * kSides, search_weights(rows), kFrameIsolation);
  std::erase_if(clusters, [&](const IsolatedCluster& cluster) { return !ends_sharply(cluster, rows); });
  if (clusters.empty()) return;
  std::vector<std::string> names;
  for (const IsolatedCluster& cluster : clusters) {
    names.push_back(fmt::format("{:.0f},{:.0f},{:.0f}", cluster.centre[0], cluster.centre[1], cluster.centre[2]));
  }
  const auto value_of = [clusters, names](const Picture& picture) -> std::string {
    const auto own = border_colours(picture);
    for (size_t c = 0; c < clusters.size(); ++c) {
      if (rms_distance(own, clusters[c].centre) <= clusters[c].radius) return names[c];
    }
    return "another";
  };
  found.push_back(measured("mean colour of the frame", PropertyKind::kEdge, rows, value_of, {"another"}));
  found.back().property.place = ImagePlace{};
}

}  // namespace

std::vector<MeasuredProperty> edge_properties(const PictureRows& rows) {
  std::vector<MeasuredProperty> found;
  const auto frame = [](const std::array<EdgeBand, kSides>& bands) -> std::optional<Colour> {
    const auto first = plain_colour(bands[0]);
    for (const EdgeBand& band : bands) {
      const auto own = plain_colour(band);
      if (!first || !own || !are_one(*first, *own, 2)) return std::nullopt;
    }
    return first;
  };
  static constexpr std::array<int, kSides> kAll = {0, 1, 2, 3};
  add_plain_colour(
      "frame", rows, kAll, [frame](const Picture& p) { return frame(p.edge); }, ImagePlace{}, found);
  add_plain_colour(
      "border", rows, kAll, [frame](const Picture& p) { return frame(p.border); }, ImagePlace{}, found);
  for (const int& side : kAll) {
    const auto s = static_cast<size_t>(side);
    add_plain_colour(
        fmt::format("{} edge", kSideNames[s]), rows, {&side, 1}, [s](const Picture& p) { return plain_colour(p.edge[s]); },
        side_place(side, 0.01), found);
    add_plain_colour(
        fmt::format("{} border", kSideNames[s]), rows, {&side, 1}, [s](const Picture& p) { return plain_colour(p.border[s]); },
        side_place(side, 0.03), found);
  }
  add_frames(rows, found);
  return found;
}

MeasuredProperty corner_property(const PictureRows& rows) {
  return measured("dark corners", PropertyKind::kCorners, rows,
                  [](const Picture& picture) -> std::string { return picture.dark_corners ? "present" : "absent"; }, {"absent"});
}

// ----------------------------------------------------------------------------------------------------------------------------- scenes

namespace {

constexpr int kSceneSide = 48;
constexpr float kSceneCorrelation = 0.55F;

// Luma of the thumbnail at 48 x 48, less its mean over 7 x 7 pixels.
std::vector<float> scene_detail(const std::vector<uint8_t>& thumbnail, int side) {
  std::vector<float> luma(static_cast<size_t>(kSceneSide) * kSceneSide);
  for (int y = 0; y < kSceneSide; ++y) {
    for (int x = 0; x < kSceneSide; ++x) {
      const int top = y * side / kSceneSide, bottom = std::max(top + 1, (y + 1) * side / kSceneSide);
      const int left = x * side / kSceneSide, right = std::max(left + 1, (x + 1) * side / kSceneSide);
      float sum = 0;
      for (int v = top; v < bottom; ++v) {
        for (int u = left; u < right; ++u) {
          const uint8_t* pixel = thumbnail.data() + 3 * (static_cast<size_t>(v) * static_cast<size_t>(side) + static_cast<size_t>(u));
          sum += 0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2];
        }
      }
      luma[static_cast<size_t>(y * kSceneSide + x)] = sum / static_cast<float>((bottom - top) * (right - left));
    }
  }
  constexpr int kReach = 3;
  std::vector<float> detail(luma.size());
  for (int y = 0; y < kSceneSide; ++y) {
    for (int x = 0; x < kSceneSide; ++x) {
      float sum = 0, count = 0;
      for (int v = std::max(0, y - kReach); v <= std::min(kSceneSide - 1, y + kReach); ++v) {
        for (int u = std::max(0, x - kReach); u <= std::min(kSceneSide - 1, x + kReach); ++u) {
          sum += luma[static_cast<size_t>(v * kSceneSide + u)];
          ++count;
        }
      }
      const auto at = static_cast<size_t>(y * kSceneSide + x);
      detail[at] = luma[at] - sum / count;
    }
  }
  return detail;
}

bool in_ring(int y, int x) {
  constexpr int kRing = kSceneSide * 22 / 100, kCaption = kSceneSide / 12;
  if (y < kCaption || y >= kSceneSide - kCaption) return false;
  return y < kRing || x < kRing || y >= kSceneSide - kRing || x >= kSceneSide - kRing;
}

bool is_outer(const Picture& picture, int side, int y, int x) {
  if (picture.object.empty()) return in_ring(y, x);
  return !picture.object[static_cast<size_t>(y * side / kSceneSide * side + x * side / kSceneSide)];
}

// Of blocks of 4 x 4 pixels of the outer part, 60 % vary.
bool has_scene(const std::vector<float>& detail, const Picture& picture, int side) {
  constexpr int kRingBlock = 4;
  constexpr float kVaries = 1.5F;
  int64_t blocks = 0, varying = 0;
  for (int y = kRingBlock; y + kRingBlock <= kSceneSide - kRingBlock; y += kRingBlock) {
    for (int x = 0; x + kRingBlock <= kSceneSide; x += kRingBlock) {
      if (!is_outer(picture, side, y, x)) continue;
      float square = 0;
      for (int v = y; v < y + kRingBlock; ++v) {
        for (int u = x; u < x + kRingBlock; ++u) {
          const float value = detail[static_cast<size_t>(v * kSceneSide + u)];
          square += value * value;
        }
      }
      ++blocks;
      varying += square > kVaries * kVaries * kRingBlock * kRingBlock ? 1 : 0;
    }
  }
  return blocks > 0 && 10 * varying >= 6 * blocks;
}

// Of length 1; 0 outside the outer part, which is the ring where no picture has a mask. Empty without a scene.
std::vector<float> outer_vector(const Picture& picture, int side, const std::vector<float>& mean, bool masked) {
  const std::vector<float> detail = scene_detail(picture.thumbnail, side);
  if (!has_scene(detail, picture, side)) return {};
  std::vector<float> ring;
  float square = 0;
  for (int y = 0; y < kSceneSide; ++y) {
    for (int x = 0; x < kSceneSide; ++x) {
      if (!masked && !in_ring(y, x)) continue;
      const auto at = static_cast<size_t>(y * kSceneSide + x);
      ring.push_back(is_outer(picture, side, y, x) ? detail[at] - mean[at] : 0);
      square += ring.back() * ring.back();
    }
  }
  const float length = std::sqrt(std::max(square, 1e-6F));
  for (float& value : ring) value /= length;
  return ring;
}

float dot(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

struct Scene {
  std::vector<float> mean;
  std::vector<std::vector<float>> views;  // of pictures that show it
};

}  // namespace

std::vector<MeasuredProperty> scene_properties(const PictureRows& rows) {
  const auto n = static_cast<size_t>(searched(rows));
  std::vector<float> mean(static_cast<size_t>(kSceneSide) * kSceneSide);
  for (size_t row = 0; row < n; ++row) {
    const std::vector<float> detail = scene_detail(rows.pictures[row].thumbnail, rows.side);
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += detail[i] / static_cast<float>(n);
  }
  const bool masked = std::ranges::any_of(rows.pictures, [](const Picture& picture) { return !picture.object.empty(); });
  std::vector<std::vector<float>> rings(n);
  for (size_t row = 0; row < n; ++row) rings[row] = outer_vector(rows.pictures[row], rows.side, mean, masked);
  std::vector<size_t> component(n);
  std::iota(component.begin(), component.end(), size_t{0});
  const auto root = [&](size_t row) {
    while (component[row] != row) row = component[row] = component[component[row]];
    return row;
  };
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      if (rings[i].empty() || rings[j].empty() || root(i) == root(j)) continue;
      if (dot(rings[i], rings[j]) > kSceneCorrelation) component[std::max(root(i), root(j))] = std::min(root(i), root(j));
    }
  }
  std::map<size_t, std::vector<size_t>> members;
  for (size_t i = 0; i < n; ++i) {
    if (!rings[i].empty()) members[root(i)].push_back(i);
  }
  std::vector<Scene> scenes;
  for (const auto& [first, own] : members) {
    const bool several = std::ranges::any_of(own, [&](size_t row) { return rows.groups.of_row[row] != rows.groups.of_row[own.front()]; });
    if (!several || own.size() < 3) continue;
    Scene scene{std::vector<float>(rings[first].size()), {}};
    for (const size_t row : own) {
      for (size_t i = 0; i < scene.mean.size(); ++i) scene.mean[i] += rings[row][i];
      if (scene.views.size() < 12) scene.views.push_back(rings[row]);
    }
    const float length = std::sqrt(dot(scene.mean, scene.mean));
    for (float& value : scene.mean) value /= std::max(length, 1e-6F);
    scenes.push_back(std::move(scene));
  }
  if (scenes.empty()) return {};
  const auto value_of = [mean, scenes, masked, side = rows.side](const Picture& picture) -> std::string {
    const std::vector<float> ring = outer_vector(picture, side, mean, masked);
    float best = kSceneCorrelation;
    std::string name = "none";
    for (size_t s = 0; s < scenes.size() && !ring.empty(); ++s) {
      float likeness = dot(ring, scenes[s].mean);
      for (const auto& view : scenes[s].views) likeness = std::max(likeness, dot(ring, view));
      if (likeness <= best) continue;
      best = likeness;
      name = fmt::format("{}", s + 1);
    }
    return name;
  };
  std::vector<MeasuredProperty> found;
  found.push_back(measured("background scene", PropertyKind::kScene, rows, value_of, {"none"}));
  return found;
}

// ------------------------------------------------------------------------------------------------------------------------------ marks

namespace {

struct Cell {
  int y, x, side;  // pixels of the thumbnail
};

// Mean colours of its quarters.
std::vector<float> quarters(const std::vector<uint8_t>& thumbnail, int side, const Cell& cell) {
  std::vector<float> colours;
  for (int q = 0; q < 4; ++q) {
    const int half = (cell.side + 1) / 2;
    const int top = q < 2 ? cell.y : cell.y + cell.side - half, left = q % 2 == 0 ? cell.x : cell.x + cell.side - half;
    std::array<int, 3> sum{};
    for (int y = top; y < top + half; ++y) {
      const uint8_t* row = thumbnail.data() + 3 * (static_cast<size_t>(y) * static_cast<size_t>(side) + static_cast<size_t>(left));
      for (int x = 0; x < 3 * half; ++x) sum[static_cast<size_t>(x % 3)] += row[x];
    }
    for (const int value : sum) colours.push_back(static_cast<float>(value) / static_cast<float>(half * half));
  }
  return colours;
}

std::vector<Cell> cells_of(int side) {
  std::vector<Cell> cells;
  for (const double share : {0.18, 0.09, 0.04}) {
    const int own = static_cast<int>(std::lround(share * side));
    if (own < 2) continue;
    const int step = std::max(1, own / 2);
    for (int y = 0; y + own <= side; y += step) {
      for (int x = 0; x + own <= side; x += step) cells.push_back({y, x, own});
    }
  }
  return cells;
}

struct FoundCell {
  Cell cell;
  IsolatedCluster cluster;
};

// Mean and deviation of each pixel's channels over some rows.
struct PixelMoments {
  std::vector<float> mean, deviation;
  double count = 0;
};

class ThumbnailMoments {
 public:
  explicit ThumbnailMoments(const PictureRows& rows) : rows_(rows), n_(static_cast<size_t>(searched(rows))) {
    std::tie(sum_, square_) = sums(std::vector<bool>(n_, true));
  }

  std::pair<PixelMoments, PixelMoments> of_members_and_rest(const std::vector<bool>& members) const {
    auto [sum, square] = sums(members);
    const auto count = static_cast<double>(std::ranges::count(members, true));
    PixelMoments own = moments(sum, square, count);
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] = sum_[i] - sum[i];
      square[i] = square_[i] - square[i];
    }
    return {std::move(own), moments(sum, square, static_cast<double>(n_) - count)};
  }

 private:
  using Sums = std::vector<double>;
  std::pair<Sums, Sums> sums(const std::vector<bool>& members) const {
    const size_t values = rows_.pictures.front().thumbnail.size();
    Sums sum(values), square(values);
    for (size_t row = 0; row < n_; ++row) {
      if (!members[row]) continue;
      const auto& thumbnail = rows_.pictures[row].thumbnail;
      for (size_t i = 0; i < values; ++i) {
        const double value = thumbnail[i];
        sum[i] += value;
        square[i] += value * value;
      }
    }
    return {std::move(sum), std::move(square)};
  }
  static PixelMoments moments(const Sums& sum, const Sums& square, double count) {
    PixelMoments found{std::vector<float>(sum.size()), std::vector<float>(sum.size()), count};
    for (size_t i = 0; i < sum.size() && count > 0; ++i) {
      const double mean = sum[i] / count;
      found.mean[i] = static_cast<float>(mean);
      found.deviation[i] = static_cast<float>(std::sqrt(std::max(0.0, square[i] / count - mean * mean)));
    }
    return found;
  }

  const PictureRows& rows_;
  size_t n_;
  Sums sum_, square_;
};

// A value of a pixel over its three channels: root mean square.
float of_pixel(const std::vector<float>& values, size_t pixel) {
  const float* v = &values[3 * pixel];
  return std::sqrt((v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 3);
}

float difference_at(const PixelMoments& a, const PixelMoments& b, size_t pixel) {
  float square = 0;
  for (size_t c = 0; c < 3; ++c)
    square += (a.mean[3 * pixel + c] - b.mean[3 * pixel + c]) * (a.mean[3 * pixel + c] - b.mean[3 * pixel + c]);
  return std::sqrt(square / 3);
}

// Pixels connected to the middle of the cell for which `belongs` holds.
template <class Belongs>
std::vector<bool> region_from(const Cell& cell, int side, const Belongs& belongs) {
  std::vector<bool> region(static_cast<size_t>(side) * static_cast<size_t>(side));
  std::vector<std::pair<int, int>> open;
  const auto visit = [&](int y, int x) {
    if (y < 0 || x < 0 || y >= side || x >= side) return;
    const auto at = static_cast<size_t>(y) * static_cast<size_t>(side) + static_cast<size_t>(x);
    if (region[at] || !belongs(at)) return;
    region[at] = true;
    open.emplace_back(y, x);
  };
  visit(cell.y + cell.side / 2, cell.x + cell.side / 2);
  while (!open.empty()) {
    const auto [y, x] = open.back();
    open.pop_back();
    visit(y - 1, x);
    visit(y + 1, x);
    visit(y, x - 1);
    visit(y, x + 1);
  }
  return region;
}

// Pixels 2 to 3 away from the region.
std::vector<size_t> ring_around(const std::vector<bool>& region, int side) {
  std::vector<size_t> ring;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      int nearest = 9;
      for (int v = std::max(0, y - 3); v <= std::min(side - 1, y + 3); ++v) {
        for (int u = std::max(0, x - 3); u <= std::min(side - 1, x + 3); ++u) {
          if (region[static_cast<size_t>(v * side + u)]) nearest = std::min(nearest, std::max(std::abs(v - y), std::abs(u - x)));
        }
      }
      if (nearest == 2 || nearest == 3) ring.push_back(static_cast<size_t>(y * side + x));
    }
  }
  return ring;
}

template <class Value>
double mean_over(const std::vector<size_t>& pixels, const Value& value) {
  double sum = 0;
  for (const size_t pixel : pixels) sum += value(pixel);
  return pixels.empty() ? 0 : sum / static_cast<double>(pixels.size());
}

// The region of the mark, or nothing where it does not end sharply.
std::optional<std::vector<size_t>> sharp_region(const FoundCell& found, int side, const PixelMoments& members, const PixelMoments& rest) {
  constexpr double kMostArea = 0.35;
  const float tau = found.cluster.radius / 1.7F;
  const auto pixels_of = [](const std::vector<bool>& region) {
    std::vector<size_t> pixels;
    for (size_t i = 0; i < region.size(); ++i) {
      if (region[i]) pixels.push_back(i);
    }
    return pixels;
  };
  const auto least = static_cast<size_t>(std::max(3, found.cell.side * found.cell.side / 3));
  const auto most = static_cast<size_t>(kMostArea * side * side);
  const std::vector<bool> steady =
      region_from(found.cell, side, [&](size_t pixel) { return of_pixel(members.deviation, pixel) < std::max(tau, 6.0F); });
  const std::vector<size_t> inside = pixels_of(steady);
  if (inside.size() >= least && inside.size() <= most) {
    const std::vector<size_t> ring = ring_around(steady, side);
    const double own = mean_over(inside, [&](size_t p) { return of_pixel(members.deviation, p); });
    const double own_rest = mean_over(inside, [&](size_t p) { return of_pixel(rest.deviation, p); });
    const double around = mean_over(ring, [&](size_t p) { return of_pixel(members.deviation, p); });
    const double around_rest = mean_over(ring, [&](size_t p) { return of_pixel(rest.deviation, p); });
    if (!ring.empty() && around >= 0.65 * around_rest && around >= 5 * own && own <= 0.15 * own_rest) return inside;
  }
  const auto middle = static_cast<size_t>((found.cell.y + found.cell.side / 2) * side + found.cell.x + found.cell.side / 2);
  const float least_difference =
      std::max(20.0F, difference_at(members, rest, middle) / 2);  // pictures of one class differ a little anywhere
  const std::vector<bool> other =
      region_from(found.cell, side, [&](size_t pixel) { return difference_at(members, rest, pixel) >= least_difference; });
  const std::vector<size_t> differing = pixels_of(other);
  if (differing.size() < least || differing.size() > most) return std::nullopt;
  const std::vector<size_t> ring = ring_around(other, side);
  const double within = mean_over(differing, [&](size_t p) { return difference_at(members, rest, p); });
  const double around = mean_over(ring, [&](size_t p) { return difference_at(members, rest, p); });
  // What varies as much as in other pictures, and as much as around it, is content of one brightness.
  const double own = mean_over(differing, [&](size_t p) { return of_pixel(members.deviation, p); });
  const double own_rest = mean_over(differing, [&](size_t p) { return of_pixel(rest.deviation, p); });
  const double own_around = mean_over(ring, [&](size_t p) { return of_pixel(members.deviation, p); });
  if (ring.empty() || around > 0.35 * within || own > 0.65 * std::max(own_rest, own_around)) return std::nullopt;
  return differing;
}

ImagePlace place_of(const std::vector<size_t>& pixels, int side) {
  int top = side, left = side, bottom = 0, right = 0;
  for (const size_t pixel : pixels) {
    const int y = static_cast<int>(pixel) / side, x = static_cast<int>(pixel) % side;
    top = std::min(top, y);
    bottom = std::max(bottom, y + 1);
    left = std::min(left, x);
    right = std::max(right, x + 1);
  }
  const double s = side;
  return {left / s, top / s, (right - left) / s, (bottom - top) / s};
}

std::string place_words(const ImagePlace& place) {
  const double y = place.y + place.height / 2, x = place.x + place.width / 2;
  const std::string row = y < 1.0 / 3 ? "top" : y > 2.0 / 3 ? "bottom" : "";
  const std::string column = x < 1.0 / 3 ? "left" : x > 2.0 / 3 ? "right" : "";
  if (row.empty() && column.empty()) return "middle";
  return row + (row.empty() || column.empty() ? "" : " ") + column;
}

double overlap(const std::vector<bool>& a, const std::vector<bool>& b) {
  double both = 0, either = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += a[i] && b[i] ? 1 : 0;
    either += a[i] || b[i] ? 1 : 0;
  }
  return either > 0 ? both / either : 0;
}

// The members' own edges are plain and of the cell's colour.
bool is_edge_colour(const FoundCell& found, const PictureRows& rows) {
  constexpr float kAlikeColours = 10;
  double alike = 0, count = 0;
  for (size_t row = 0; row < found.cluster.members.size(); ++row) {
    if (!found.cluster.members[row]) continue;
    ++count;
    for (const EdgeBand& band : rows.pictures[row].edge) {
      if (!plain_colour(band)) continue;
      float largest = 0;
      for (size_t i = 0; i < found.cluster.centre.size(); ++i) {
        largest = std::max(largest, std::abs(found.cluster.centre[i] - band.mean[i % 3]));
      }
      if (largest <= kAlikeColours) {
        ++alike;
        break;
      }
    }
  }
  return 2 * alike > count;
}

// The cell has the colour of much of its own image: nothing is there.
bool is_background(const FoundCell& found, const PictureRows& rows) {
  constexpr int kAlikeColours = 10;
  double members = 0, background = 0;
  for (size_t row = 0; row < found.cluster.members.size(); ++row) {
    if (!found.cluster.members[row]) continue;
    const auto& thumbnail = rows.pictures[row].thumbnail;
    const std::vector<float> own = quarters(thumbnail, rows.side, found.cell);
    Colour colour{};
    for (size_t c = 0; c < 3; ++c) colour[c] = static_cast<int>(std::lround((own[c] + own[3 + c] + own[6 + c] + own[9 + c]) / 4));
    ++members;
    background += covers_much(thumbnail, colour, kAlikeColours) ? 1 : 0;
  }
  return 2 * background > members;
}

std::vector<FoundCell> isolated_cells(const PictureRows& rows) {
  const auto n = static_cast<size_t>(searched(rows));
  const std::vector<float> weights = search_weights(rows);
  const std::vector<Cell> cells = cells_of(rows.side);
  std::vector<std::vector<FoundCell>> of_cell(cells.size());
  for_each_block(
      std::ssize(cells), 8,
      [&](int64_t first, int64_t last) {
        for (auto c = static_cast<size_t>(first); c < static_cast<size_t>(last); ++c) {
          std::vector<float> vectors;
          for (size_t row = 0; row < n; ++row) {
            const auto own = quarters(rows.pictures[row].thumbnail, rows.side, cells[c]);
            vectors.insert(vectors.end(), own.begin(), own.end());
          }
          for (IsolatedCluster& cluster : isolated_clusters(vectors, 12, weights)) of_cell[c].push_back({cells[c], std::move(cluster)});
        }
      },
      [](int64_t) {});
  std::vector<FoundCell> found;
  for (auto& own : of_cell) {
    for (FoundCell& cell : own) found.push_back(std::move(cell));
  }
  return found;
}

}  // namespace

namespace {

struct Mark {
  Cell cell;
  IsolatedCluster cluster;
  ImagePlace place;
};

// Found cells whose regions end sharply, without those that show a mark again.
std::vector<Mark> sharp_marks(const PictureRows& rows) {
  constexpr size_t kMostTried = 80, kMostMarks = 32;
  constexpr double kSameMembers = 0.6;
  std::vector<FoundCell> cells = isolated_cells(rows);
  std::ranges::stable_sort(cells, std::ranges::greater{}, [](const FoundCell& found) { return found.cluster.groups * found.cell.side; });
  const ThumbnailMoments thumbnails(rows);
  struct Seen {
    std::vector<bool> members, region;
  };
  std::vector<Seen> seen;
  std::vector<Mark> marks;
  size_t tried = 0;
  for (FoundCell& found : cells) {
    const auto middle = static_cast<size_t>((found.cell.y + found.cell.side / 2) * rows.side + found.cell.x + found.cell.side / 2);
    const auto known = [&](const Seen& other) {
      return other.region[middle] && overlap(other.members, found.cluster.members) > kSameMembers;
    };
    if (std::ranges::any_of(seen, known) || is_edge_colour(found, rows) || is_background(found, rows)) continue;
    if (++tried > kMostTried || marks.size() == kMostMarks) break;
    const auto [members, rest] = thumbnails.of_members_and_rest(found.cluster.members);
    const auto region = sharp_region(found, rows.side, members, rest);
    Seen own{found.cluster.members, std::vector<bool>(static_cast<size_t>(rows.side) * static_cast<size_t>(rows.side))};
    for (int y = found.cell.y; y < found.cell.y + found.cell.side; ++y) {
      for (int x = found.cell.x; x < found.cell.x + found.cell.side; ++x) own.region[static_cast<size_t>(y * rows.side + x)] = true;
    }
    if (region) {
      for (const size_t pixel : *region) own.region[pixel] = true;
      marks.push_back({found.cell, std::move(found.cluster), place_of(*region, rows.side)});
    }
    seen.push_back(std::move(own));
  }
  return marks;
}

double shared_place(const ImagePlace& a, const ImagePlace& b) {
  const double w = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double h = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  return w > 0 && h > 0 ? w * h / std::min(a.width * a.height, b.width * b.height) : 0;
}

// Marks that exclude each other at one place are the values of one property.
bool exclude_each_other(const Mark& a, const Mark& b) {
  double both = 0, least = std::min(std::ranges::count(a.cluster.members, true), std::ranges::count(b.cluster.members, true));
  for (size_t i = 0; i < a.cluster.members.size(); ++i) both += a.cluster.members[i] && b.cluster.members[i] ? 1 : 0;
  return shared_place(a.place, b.place) > 0.5 && both <= 0.05 * least;
}

std::string colour_words(const std::vector<float>& quarters) {
  std::array<float, 3> mean{};
  for (size_t i = 0; i < quarters.size(); ++i) mean[i % 3] += 3 * quarters[i] / static_cast<float>(quarters.size());
  return fmt::format("colour {:.0f},{:.0f},{:.0f}", mean[0], mean[1], mean[2]);
}

}  // namespace

bool is_on_objects(const ImagePlace& place, std::span<const Picture> pictures, int side) {
  const auto pixel = [&](double fraction) { return std::clamp(static_cast<int>(fraction * side), 0, side - 1); };
  int64_t masked = 0, covering = 0;
  for (const Picture& picture : pictures) {
    if (picture.object.empty()) continue;
    int64_t covered = 0, area = 0;
    for (int y = pixel(place.y); y <= pixel(place.y + place.height - 1e-9); ++y) {
      for (int x = pixel(place.x); x <= pixel(place.x + place.width - 1e-9); ++x, ++area) {
        covered += picture.object[static_cast<size_t>(y * side + x)] ? 1 : 0;
      }
    }
    ++masked;
    covering += 2 * covered >= area ? 1 : 0;
  }
  if (masked > 0) return 2 * covering >= masked;
  constexpr double kMost = 0.35;  // of the image
  if (place.width * place.height > kMost) return true;
  const double x = place.x + place.width / 2, y = place.y + place.height / 2;
  return x > 0.25 && x < 0.75 && y > 0.25 && y < 0.75;
}

std::vector<MeasuredProperty> mark_properties(const PictureRows& rows) {
  std::vector<std::vector<Mark>> places;
  for (Mark& mark : sharp_marks(rows)) {
    const auto found = std::ranges::find_if(places, [&](const std::vector<Mark>& own) {
      return std::ranges::all_of(own, [&](const Mark& other) { return exclude_each_other(other, mark); });
    });
    if (found == places.end())
      places.push_back({std::move(mark)});
    else
      found->push_back(std::move(mark));
  }
  std::vector<MeasuredProperty> found;
  std::map<std::string, int> names;
  for (const std::vector<Mark>& marks : places) {
    std::string name = "mark, " + place_words(marks.front().place);
    if (const int number = ++names[name]; number > 1) name += fmt::format(" ({})", number);
    std::vector<std::string> values;
    for (const Mark& mark : marks) values.push_back(marks.size() == 1 ? "present" : colour_words(mark.cluster.centre));
    const auto value_of = [marks, values, side = rows.side](const Picture& picture) -> std::string {
      size_t best = marks.size();
      float least = 1;
      for (size_t m = 0; m < marks.size(); ++m) {
        const float distance =
            rms_distance(quarters(picture.thumbnail, side, marks[m].cell), marks[m].cluster.centre) / marks[m].cluster.radius;
        if (distance > least) continue;
        least = distance;
        best = m;
      }
      return best < marks.size() ? values[best] : "absent";
    };
    found.push_back(measured(name, PropertyKind::kMark, rows, value_of, {"absent"}));
    found.back().property.place = marks.front().place;
    found.back().property.may_be_shortcut =
        !is_on_objects(marks.front().place, rows.pictures, rows.side);  // where what an image shows usually is
  }
  return found;
}

}  // namespace debias
