#include "debias/audit/finding_evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/geometry.h"
#include "debias/image/image_decode.h"
#include "debias/image/image_encode.h"

namespace debias {
namespace {

bool shows_it(const AuditFinding& finding, size_t row) {
  const TestedProperty& tested = finding.tested;
  const int32_t value = finding.property.values[row];
  if (finding.property.ordered) return tested.above ? value >= tested.value : value < tested.value;
  return finding.property.says_absent(tested.value) ? !finding.property.says_absent(value) : value == tested.value;
}

// Its class has it less often than the others: it is told by what it lacks.
bool is_rarer_in_class(const AuditFinding& finding) {
  return finding.property.says_absent(finding.tested.value) == (finding.tested.in_class >= finding.tested.elsewhere);
}

const PictureFile& file_of_row(const FolderAudit& audit, size_t row) { return audit.folder.files[static_cast<size_t>(audit.files[row])]; }

}  // namespace

std::vector<double> class_shares(const AuditFinding& finding, const AuditRows& rows, const RowGroups& groups) {
  std::map<std::pair<int32_t, int32_t>, std::pair<double, double>> of_group;  // by class and group: rows, and those with it
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    auto& [all, with] = of_group[{rows.labels[row], groups.of_row[row]}];
    all += 1;
    with += shows_it(finding, row) ? 1 : 0;
  }
  std::vector<double> shares(rows.classes.size()), count(rows.classes.size());
  for (const auto& [key, sizes] : of_group) {
    shares[static_cast<size_t>(key.first)] += sizes.second / sizes.first;
    count[static_cast<size_t>(key.first)] += 1;
  }
  for (size_t k = 0; k < shares.size(); ++k) shares[k] /= std::max(count[k], 1.0);
  return shares;
}

std::vector<size_t> evidence_rows(const AuditFinding& finding, const FolderAudit& audit, bool with, size_t most) {
  const AuditRows& rows = audit.rows;
  const bool rarer = is_rarer_in_class(finding);
  std::vector<std::vector<size_t>> of_class(rows.classes.size());
  std::vector<std::set<int32_t>> groups(rows.classes.size());
  for (const bool anew : {true, false}) {  // rows of new groups, then the others
    for (size_t row = 0; row < rows.labels.size(); ++row) {
      const auto k = static_cast<size_t>(rows.labels[row]);
      if (shows_it(finding, row) != with || of_class[k].size() == most) continue;
      if (std::ranges::find(of_class[k], row) != of_class[k].end()) continue;
      if (anew && !groups[k].insert(audit.result.groups.of_row[row]).second) continue;
      of_class[k].push_back(row);
    }
  }
  const auto own = static_cast<size_t>(finding.tested.label);
  std::vector<size_t> chosen;
  const auto take = [&](bool of_own) {
    for (size_t i = 0; i < most; ++i) {
      for (size_t k = 0; k < of_class.size() && chosen.size() < most; ++k) {
        if ((k == own) == of_own && i < of_class[k].size()) chosen.push_back(of_class[k][i]);
      }
    }
  };
  take(with != rarer);
  take(with == rarer);
  return chosen;
}

namespace {

constexpr int kWholeSide = 208, kEnlargedBelow = 100;
constexpr size_t kMostBytes = size_t{10} << 10;

// A JPEG of the highest quality that fits, or a PNG where that is small: marks of a few pixels stay as they are.
EvidenceImage encoded(const Image& image) {
  EvidenceImage file{.bytes = {}, .width = image.width, .height = image.height};
  if (std::max(image.width, image.height) <= kEnlargedBelow) {
    file.bytes = encode_png(image);
    file.is_png = file.bytes.size() <= kMostBytes;
    if (file.is_png) return file;
  }
  for (const int quality : {92, 80, 60, 35, 15, 1}) {
    file.bytes = encode_jpeg(image, quality);
    if (file.bytes.size() <= kMostBytes) return file;
  }
  const Image smaller = resized(image, std::max(1, image.height / 2), std::max(1, image.width / 2));
  return encoded(smaller);
}

Image in_colours(Image image) {
  if (image.channels == 3) return image;
  Image colours{image.height, image.width, 3, {}};
  for (const uint8_t value : image.pixels) colours.pixels.insert(colours.pixels.end(), 3, value);
  return colours;
}

// What is to be cut out at full size, and how the finding lies in it.
enum class PartKind { kNone, kPlace, kEdge, kMiddle };

bool shows_in_single_pixels(const std::string& name) {
  constexpr std::array kNames = {"sharpness",  "noise", "blockiness", "level use",       "fringes",           "frequencies",
                                 "step pairs", "lines", "stripes",    "gradient energy", "JPEG quantisation", "file encoding"};
  return std::ranges::find(kNames, name) != kNames.end();
}

PartKind part_of(const Property& property) {
  if (property.kind == PropertyKind::kEdge) return PartKind::kEdge;
  if (property.place && property.kind != PropertyKind::kDescription) return PartKind::kPlace;
  return shows_in_single_pixels(property.name) ? PartKind::kMiddle : PartKind::kNone;
}

// A square of `side` pixels around the middle of the place, moved into the image.
Box box_around(const ImagePlace& place, int side, int height, int width) {
  const auto start = [side](double middle, int extent) {
    return std::clamp(static_cast<int>(std::lround(middle * extent)) - side / 2, 0, std::max(0, extent - side));
  };
  return {start(place.y + place.height / 2, height), start(place.x + place.width / 2, width), std::min(side, height),
          std::min(side, width)};
}

// The place as a part of the box.
ImagePlace within(const ImagePlace& place, const Box& box, int height, int width) {
  const double left = std::clamp((place.x * width - box.left) / box.width, 0.0, 1.0);
  const double top = std::clamp((place.y * height - box.top) / box.height, 0.0, 1.0);
  const double right = std::clamp(((place.x + place.width) * width - box.left) / box.width, left, 1.0);
  const double bottom = std::clamp(((place.y + place.height) * height - box.top) / box.height, top, 1.0);
  return {left, top, right - left, bottom - top};
}

Box part_box(PartKind kind, const std::optional<ImagePlace>& place, int height, int width) {
  constexpr int kEdgeSide = 40, kLeastSide = 96, kMostSide = 320, kMiddleSide = 160;
  switch (kind) {
    case PartKind::kPlace: {
      const double extent = std::max(place->width * width, place->height * height);
      return box_around(*place, std::clamp(static_cast<int>(2 * extent), kLeastSide, kMostSide), height, width);
    }
    case PartKind::kEdge: {
      const bool frame = place->width >= 1 && place->height >= 1;
      return box_around(frame ? ImagePlace{0, 0, 0, 0} : *place, kEdgeSide, height, width);
    }
    default:
      return box_around({}, kMiddleSide, height, width);
  }
}

RowEvidence row_evidence(const PictureFile& file, const Property& property, const std::optional<ImagePlace>& place, bool with) {
  const std::vector<uint8_t> bytes = read_file_bytes(file.path);
  int height = 0, width = 0;
  const auto reduced_to_show = [&](int h, int w) {
    height = h;
    width = w;
    int d = 1;
    while (d < 8 && std::max(h, w) / (2 * d) >= 2 * kWholeSide) d *= 2;
    return ImageRegion{{0, 0, (h + d - 1) / d, (w + d - 1) / d}, d};
  };
  const PartialImage read = decode_region(bytes, file.path, reduced_to_show, file.reading);
  height = read.height;
  width = read.width;
  Image whole = in_colours(read.image);
  if (const int longer = std::max(whole.height, whole.width); longer > kWholeSide) {
    const auto scaled = [&](int extent) { return std::max(1, extent * kWholeSide / longer); };
    whole = resized(whole, scaled(whole.height), scaled(whole.width));
  }
  RowEvidence evidence{encoded(whole)};
  const PartKind kind = part_of(property);
  const bool marked = place && (kind == PartKind::kPlace || kind == PartKind::kEdge);
  if (marked && with && kind == PartKind::kPlace) evidence.whole.box = *place;
  if (kind == PartKind::kNone || (kind != PartKind::kMiddle && !place)) return evidence;
  if (std::max(height, width) <= (kind == PartKind::kEdge ? kEnlargedBelow : kWholeSide)) return evidence;  // the whole shows it
  const Box box = part_box(kind, place, height, width);
  const auto at_full_size = [&](int, int) { return ImageRegion{box, 1}; };
  const PartialImage part = decode_region(bytes, file.path, at_full_size, file.reading);
  const Box own{box.top - part.region.box.top, box.left - part.region.box.left, box.height, box.width};
  const Image cut = in_colours(part.image);
  evidence.part = encoded(padded_crop(cut, own));
  if (marked && with && kind == PartKind::kPlace) evidence.part->box = within(*place, box, height, width);
  return evidence;
}

float likeness(const DetailPatch& a, const DetailPatch& b) {
  int sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return static_cast<float>(sum) / std::max(1.0F, a.length * b.length);
}

// The patch of a picture that is most like this one, or null.
const DetailPatch* most_like(const DetailPatch& patch, const Picture& picture) {
  const DetailPatch* best = nullptr;
  float largest = -2;
  for (const DetailPatch& own : picture.details) {
    if (const float now = likeness(patch, own); now > largest) {
      largest = now;
      best = &own;
    }
  }
  return best;
}

// Where each picture `with` a detail has it: around the patch that is in all of them, and in few of the others.
std::vector<std::optional<ImagePlace>> detail_places(const AuditRows& rows, const std::vector<size_t>& with,
                                                     const std::vector<size_t>& without) {
  const auto mean_likeness = [&](const DetailPatch& patch, const std::vector<size_t>& among) {
    double sum = 0;
    for (const size_t row : among) {
      const DetailPatch* same = most_like(patch, rows.pictures[row]);
      sum += same == nullptr ? 0 : likeness(patch, *same);
    }
    return among.empty() ? 0 : sum / static_cast<double>(among.size());
  };
  const DetailPatch* shared = nullptr;
  double largest = -2;
  for (const size_t row : with) {
    for (const DetailPatch& patch : rows.pictures[row].details) {
      const double own = mean_likeness(patch, with) - mean_likeness(patch, without);
      if (own <= largest) continue;
      largest = own;
      shared = &patch;
    }
  }
  std::vector<std::optional<ImagePlace>> places;
  for (const size_t row : with) {
    const DetailPatch* own = shared == nullptr ? nullptr : most_like(*shared, rows.pictures[row]);
    constexpr double kSide = 0.12;
    places.emplace_back();
    if (own != nullptr && likeness(*shared, *own) > 0.7F) {
      places.back() =
          ImagePlace{std::clamp(own->x - kSide / 2, 0.0, 1 - kSide), std::clamp(own->y - kSide / 2, 0.0, 1 - kSide), kSide, kSide};
    }
  }
  return places;
}

}  // namespace

FindingImages finding_images(const AuditFinding& finding, const FolderAudit& audit, const std::vector<size_t>& with,
                             const std::vector<size_t>& without) {
  const Property& property = finding.property;
  std::vector<std::optional<ImagePlace>> places(with.size(), property.place);
  const bool anywhere = property.kind == PropertyKind::kDetail;
  if (anywhere && property.place) places = detail_places(audit.rows, with, without);
  const auto evidence_of = [&](size_t row, const std::optional<ImagePlace>& place, bool has) -> std::optional<RowEvidence> {
    try {
      return row_evidence(file_of_row(audit, row), property, place, has);
    } catch (const FileError&) {
      return std::nullopt;
    }
  };
  FindingImages images;
  for (size_t i = 0; i < with.size(); ++i) images.with.push_back(evidence_of(with[i], places[i], true));
  for (const size_t row : without) images.without.push_back(evidence_of(row, anywhere ? std::nullopt : property.place, false));
  return images;
}

namespace {

constexpr int kHeatWidth = 400;

// Of one class, of images with it or without it.
struct PixelSums {
  std::vector<double> sum;
  double count = 0;

  void add(const std::vector<uint8_t>& thumbnail) {
    sum.resize(thumbnail.size());
    for (size_t i = 0; i < thumbnail.size(); ++i) sum[i] += thumbnail[i];
    ++count;
  }
};

// Differences of the means of images with and without it, summed over classes with the weight n1 n0 / (n1 + n0).
struct WeightedDifference {
  std::vector<double> sum;
  double weight = 0;

  void add(const PixelSums& with, const PixelSums& without) {
    if (with.count == 0 || without.count == 0) return;
    const double own = with.count * without.count / (with.count + without.count);
    sum.resize(with.sum.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += own * (with.sum[i] / with.count - without.sum[i] / without.count);
    weight += own;
  }
};

// From dark violet over red to yellow.
std::array<double, 3> heat_colour(double share) {
  constexpr std::array<std::array<double, 3>, 4> kStops = {{{90, 20, 120}, {205, 40, 80}, {250, 130, 20}, {255, 240, 80}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<size_t>(at), kStops.size() - 2);
  std::array<double, 3> colour{};
  for (size_t c = 0; c < 3; ++c)
    colour[c] = kStops[below][c] + (at - static_cast<double>(below)) * (kStops[below + 1][c] - kStops[below][c]);
  return colour;
}

// Thumbnails are square; pages show the shape that most images have.
double usual_shape(const AuditRows& rows) {
  std::vector<double> shapes;
  for (const Picture& picture : rows.pictures) shapes.push_back(1 / picture.facts.measures[static_cast<size_t>(FileMeasure::kAspect)]);
  std::ranges::nth_element(shapes, shapes.begin() + std::ssize(shapes) / 2);
  return std::clamp(shapes[shapes.size() / 2], 0.4, 1.6);
}

}  // namespace

std::optional<HeatMap> heat_map(const AuditFinding& finding, const AuditRows& rows, const RowGroups& groups) {
  if (rows.pictures.empty()) return std::nullopt;
  std::vector<PixelSums> with(rows.classes.size()), without(rows.classes.size());
  PixelSums all, all_with, all_without;
  std::vector<double> square(rows.pictures.front().thumbnail.size());
  std::set<std::pair<int32_t, bool>> seen;  // one row of a group: those of a burst are nearly one
  for (size_t row = 0; row < rows.pictures.size(); ++row) {
    const std::vector<uint8_t>& thumbnail = rows.pictures[row].thumbnail;
    const bool has = shows_it(finding, row);
    if (!seen.emplace(groups.of_row[row], has).second) continue;
    const auto k = static_cast<size_t>(rows.labels[row]);
    (has ? with : without)[k].add(thumbnail);
    (has ? all_with : all_without).add(thumbnail);
    all.add(thumbnail);
    for (size_t i = 0; i < thumbnail.size(); ++i) square[i] += static_cast<double>(thumbnail[i]) * thumbnail[i];
  }
  WeightedDifference difference;
  for (size_t k = 0; k < with.size(); ++k) difference.add(with[k], without[k]);
  constexpr double kLeastWeight = 4;  // fewer images of one class have, or have not, the value
  HeatMap map{.image = {}, .within_class = difference.weight >= kLeastWeight};
  if (!map.within_class) {
    difference = {};
    difference.add(all_with, all_without);
  }
  if (difference.weight == 0) return std::nullopt;
  const int side = rows.side;
  const auto pixels = static_cast<size_t>(side) * static_cast<size_t>(side);
  const double error = 3 / std::sqrt(difference.weight);  // standard errors of a difference over the deviation
  std::vector<double> strength(pixels);
  for (size_t p = 0; p < pixels; ++p) {
    double difference_square = 0, variance = 0;
    for (size_t i = 3 * p; i < 3 * p + 3; ++i) {
      const double mean = all.sum[i] / all.count, own = difference.sum[i] / difference.weight;
      difference_square += own * own / 3;
      variance += std::max(0.0, square[i] / all.count - mean * mean) / 3;
    }
    strength[p] = std::sqrt(difference_square / std::max(variance, 1.0));
    map.largest = std::max(map.largest, strength[p]);
  }
  if (map.largest <= error) map.largest = 0;
  Image mixed{side, side, 3, std::vector<uint8_t>(3 * pixels)};
  for (size_t p = 0; p < pixels; ++p) {
    const double grey = (0.299 * all.sum[3 * p] + 0.587 * all.sum[3 * p + 1] + 0.114 * all.sum[3 * p + 2]) / all.count;
    const double share = map.largest > 0 ? (strength[p] - error) / std::max(map.largest - error, 1e-9) : 0;
    const std::array<double, 3> colour = heat_colour(share);
    const double opacity = share > 0 ? 0.25 + 0.6 * share : 0;
    for (size_t c = 0; c < 3; ++c) {
      mixed.pixels[3 * p + c] = static_cast<uint8_t>(std::lround((1 - opacity) * grey + opacity * colour[c]));
    }
  }
  const int height = std::max(1, static_cast<int>(std::lround(kHeatWidth * usual_shape(rows))));
  const Image shown = resized(mixed, height, kHeatWidth);
  map.image = {.bytes = encode_jpeg(shown, 85), .width = shown.width, .height = shown.height};
  return map;
}

}  // namespace debias
