#include "debias/audit/audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "debias/audit/near_vectors.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"

namespace debias {
namespace {

constexpr double kShortcutLevel = 0.01, kLookLevel = 0.05, kLookEffect = 0.15;
constexpr size_t kMostLooks = 5;

// ----------------------------------------------------------------------------------------------------------------------------- groups

struct FoundGroups {
  RowGroups groups;
  std::vector<std::string> identifiers;
};

RowGroups asked_groups(const AuditRows& rows) {
  std::vector<std::span<const std::string>> columns;
  for (const std::string& name : rows.group_columns) {
    const auto found = std::ranges::find(rows.columns, name, &AuditColumn::name);
    columns.emplace_back(found->values);
  }
  RowGroups groups = groups_of_values(columns);
  groups.from = fmt::format("column {}", fmt::join(rows.group_columns, ","));
  return groups;
}

std::optional<RowGroups> groups_of_pictures(const AuditRows& rows) {
  if (rows.pictures.empty()) return std::nullopt;
  std::vector<std::optional<int64_t>> times;
  std::vector<std::string> cameras;
  for (const Picture& picture : rows.pictures) {
    times.push_back(picture.facts.time);
    cameras.push_back(picture.facts.fact(FileFact::kCamera));
  }
  return groups_of_times(times, cameras);
}

bool is_identifier(const AuditColumn& column, const AuditRows& rows) {
  return names_groups(column.values, rows.labels, static_cast<int32_t>(rows.classes.size()));
}

// The identifier with the fewest groups, of columns or of names.
std::optional<RowGroups> groups_of_identifiers(const AuditRows& rows, bool of_names) {
  std::optional<RowGroups> fewest;
  for (const AuditColumn& column : rows.columns) {
    if (column.of_names != of_names || !is_identifier(column, rows)) continue;
    RowGroups groups = groups_of_values({column.values});
    groups.from = (of_names ? "" : "column ") + column.name;
    if (!fewest || groups.count < fewest->count) fewest = std::move(groups);
  }
  return fewest;
}

std::vector<LikenessVector> likeness_vectors(const AuditRows& rows) {
  std::vector<LikenessVector> vectors;
  for (const Picture& picture : rows.pictures) vectors.push_back(likeness_vector(picture.small));
  return vectors;
}

// Mean correlation of the details of images, by whether two are of one class and of one value.
class MeanLikeness {
 public:
  MeanLikeness(const std::vector<LikenessVector>& images, const std::vector<std::string>& values, const std::vector<int32_t>& labels) {
    constexpr size_t kMostPairs = 1'000'000;
    const size_t step = 1 + images.size() * images.size() / 2 / kMostPairs;
    for (size_t i = 0; i < images.size(); ++i) {
      if (values[i].empty() || images[i].detail.empty()) continue;
      for (size_t j = i + 1; j < images.size(); ++j) {
        const bool value = values[i] == values[j], label = labels[i] == labels[j];
        if (images[j].detail.empty() || (!value && (i + j) % step != 0)) continue;
        sum_[label][value] += std::inner_product(images[i].detail.begin(), images[i].detail.end(), images[j].detail.begin(), 0.0);
        ++count_[label][value];
      }
    }
  }
  // How much more two images of one value are alike.
  double gain(bool one_class) const { return mean(one_class, true) - mean(one_class, false); }

 private:
  double mean(bool label, bool value) const { return sum_[label][value] / std::max(count_[label][value], 1.0); }

  double sum_[2][2] = {}, count_[2][2] = {};
};

// Names that count anew in each class, as cat/01/3.jpg and dog/01/7.jpg: images of one value are alike within a class and not across.
std::optional<RowGroups> groups_of_restarting_names(const AuditRows& rows) {
  constexpr double kAlike = 0.1, kAcross = 0.25;
  if (rows.pictures.empty()) return std::nullopt;
  std::optional<RowGroups> fewest;
  std::vector<LikenessVector> images;
  for (const AuditColumn& column : rows.columns) {
    if (!column.of_names) continue;
    AuditColumn own = column;
    for (size_t row = 0; row < own.values.size(); ++row) {
      if (!own.values[row].empty()) own.values[row] = fmt::format("{}/{}", rows.labels[row], column.values[row]);
    }
    RowGroups groups = groups_of_values({own.values});
    if ((fewest && groups.count >= fewest->count) || !is_identifier(own, rows)) continue;
    if (images.empty()) images = likeness_vectors(rows);
    const MeanLikeness likeness(images, column.values, rows.labels);
    if (likeness.gain(true) < kAlike || likeness.gain(false) > kAcross * likeness.gain(true)) continue;
    groups.from = restarting(column.name);
    fewest = std::move(groups);
  }
  return fewest;
}

std::optional<RowGroups> groups_of_copies(const AuditRows& rows) {
  if (!rows.embeddings.empty()) return groups_of_near_vectors(rows.embeddings, rows.dimensions, rows.labels);
  return rows.pictures.empty() ? std::nullopt : groups_of_near_copies(likeness_vectors(rows));
}

FoundGroups find_groups(const AuditRows& rows) {
  FoundGroups found;
  for (const AuditColumn& column : rows.columns) {
    if (!column.of_names && is_identifier(column, rows)) found.identifiers.push_back(column.name);
  }
  const auto take = [&](std::optional<RowGroups> groups) {
    if (groups) found.groups = std::move(*groups);
    return groups.has_value();
  };
  if (!rows.group_columns.empty()) {
    found.groups = asked_groups(rows);
  } else if (!take(groups_of_pictures(rows)) && !take(groups_of_identifiers(rows, false)) && !take(groups_of_identifiers(rows, true)) &&
             !take(groups_of_restarting_names(rows)) && !take(groups_of_copies(rows))) {
    found.groups = single_rows(std::ssize(rows.labels));
  }
  return found;
}

// A title such as patient, of values that repeat: classes may share them, so that they alone do not tell.
bool proposes_groups(const AuditColumn& column, const FoundGroups& groups) {
  constexpr size_t kLeastValues = 8;
  const bool is_found = std::ranges::find(groups.identifiers, column.name) != groups.identifiers.end();
  if (column.of_names || is_found || !is_group_title(column.name)) return false;
  const std::set<std::string_view> distinct(column.values.begin(), column.values.end());
  return distinct.size() >= kLeastValues && 5 * distinct.size() <= 4 * column.values.size();
}

// ------------------------------------------------------------------------------------------------------------------------- properties

std::vector<MeasuredProperty> all_properties(const AuditRows& rows, const FoundGroups& groups, uint64_t seed) {
  std::vector<MeasuredProperty> all;
  const auto add = [&](std::vector<MeasuredProperty> more) { std::ranges::move(more, std::back_inserter(all)); };
  if (!rows.pictures.empty()) {
    const PictureRows pictures{rows.pictures, rows.side, groups.groups};
    add(file_properties(pictures));
    add(edge_properties(pictures));
    all.push_back(corner_property(pictures));
    FoundDetails details = detail_properties(pictures);
    std::vector<MeasuredProperty> scenes = scene_properties(pictures);
    for (MeasuredProperty& scene : scenes) scene.property.may_be_shortcut = !details.is_drawn();
    add(std::move(scenes));
    add(mark_properties(pictures));
    add(std::move(details.properties));
    add(description_properties(pictures, seed));
  }
  for (const AuditColumn& column : rows.columns) {
    const bool names_groups = std::ranges::find(groups.identifiers, column.name) != groups.identifiers.end() ||
                              std::ranges::find(rows.group_columns, column.name) != rows.group_columns.end();
    if (names_groups || column.of_names || !column.unusable.empty()) continue;
    Property property = column_property(column);
    property.name = "column " + property.name;
    all.push_back({std::move(property), {}});
  }
  if (!rows.embeddings.empty()) {
    const int64_t n = std::ssize(rows.embeddings) / rows.dimensions;
    constexpr int64_t kClustersOfClass = 8, kMostClusters = 64;
    const int64_t clusters = std::min(kClustersOfClass * std::ssize(rows.classes), kMostClusters);
    add(direction_properties(rows.embeddings, n, rows.dimensions, clusters, seed));
  }
  std::erase_if(all, [](const MeasuredProperty& measured) {
    const auto& values = measured.property.values;
    return std::ranges::all_of(values, [&](int32_t value) { return value == values.front(); });
  });
  return all;
}

// Each class has one value, and each value one class.
bool names_every_class(const Property& property, const AuditRows& rows) {
  std::map<int32_t, std::set<int32_t>> classes_of;
  std::map<int32_t, std::set<int32_t>> values_of;
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    classes_of[property.values[row]].insert(rows.labels[row]);
    values_of[rows.labels[row]].insert(property.values[row]);
  }
  const auto single = [](const auto& entry) { return entry.second.size() == 1; };
  return std::ranges::all_of(classes_of, single) && std::ranges::all_of(values_of, single);
}

bool is_part_of_name(const Property& property) {
  return property.name == name_of(FileFact::kNamePrefix) || property.name == name_of(FileFact::kNameSuffix) ||
         property.name == name_of(FileFact::kNamePattern) || property.name == name_of(FileFact::kFolder);
}

// Each value lies in one class, but for one in twenty, and a class has several: patients, products, kinds within a class. What is below a
// class folder lies in a class by construction.
bool divides_every_class(const Property& property, const AuditRows& rows) {
  constexpr double kPure = 0.95;
  std::map<int32_t, std::set<int32_t>> classes_of;
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    if (!property.says_absent(property.values[row])) classes_of[property.values[row]].insert(rows.labels[row]);
  }
  const auto pure = std::ranges::count_if(classes_of, [](const auto& entry) { return entry.second.size() == 1; });
  return classes_of.size() > rows.classes.size() && static_cast<double>(pure) >= kPure * static_cast<double>(classes_of.size());
}

// --------------------------------------------------------------------------------------------------------------------------- verdicts

double least_effect(const Property& property, const RowGroups& groups) {
  constexpr double kGuessed = 0.5, kMuchJoined = 0.2;
  const bool guessed = groups.from == "near-copies" && groups.joined_share() > kMuchJoined;
  const bool by_group = property.kind == PropertyKind::kFile || property.kind == PropertyKind::kColumn ||
                        property.kind == PropertyKind::kEdge || property.kind == PropertyKind::kScene ||
                        property.kind == PropertyKind::kDetail;
  return guessed && by_group ? std::max(kGuessed, property.least_effect) : property.least_effect;
}

bool is_rare_elsewhere(const Property& property, const TestedProperty& tested) {
  constexpr double kPresent = 0.1, kRarer = 8, kGroups = 8;
  const bool is_read = property.exact || property.kind == PropertyKind::kEdge;  // content makes rare marks and details, too
  if (!is_read || property.ordered || property.says_absent(tested.value)) return false;
  return tested.in_class >= kPresent && tested.in_class >= kRarer * tested.elsewhere && tested.groups_with >= kGroups;
}

// What a class is made of it has without exception, and other classes do not have; what was put on its images, at least two groups of the
// others have, too. Of marks and details, these are groups of classes that have at most half of the largest share; of backgrounds, of any of
// the values. Of a number, they lie beyond the median of the class: where two classes only overlap, few do. Of clusters, some class would have
// its own.
bool has_exceptions(const Property& property, const TestedProperty& tested, const AuditRows& rows, const RowGroups& groups) {
  constexpr size_t kLeastExceptions = 2;
  using Groups = std::set<int32_t>;
  const auto label_of = [&](size_t row) { return static_cast<size_t>(rows.labels[row]); };
  std::vector<Groups> of_class(rows.classes.size());
  std::vector<std::vector<Groups>> showing(static_cast<size_t>(property.count()), std::vector<Groups>(rows.classes.size()));
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    of_class[label_of(row)].insert(groups.of_row[row]);
    showing[static_cast<size_t>(property.values[row])][label_of(row)].insert(groups.of_row[row]);
  }
  const auto share = [&](size_t value, size_t k) {
    return static_cast<double>(showing[value][k].size()) / static_cast<double>(std::max<size_t>(of_class[k].size(), 1));
  };
  constexpr double kNoException = 0.97;
  const auto own = static_cast<size_t>(tested.label);
  size_t exceptions = 0;
  if (property.kind == PropertyKind::kDescription && !property.ordered) return tested.effect < kNoException;
  if (property.ordered) {
    std::vector<int32_t> values;
    for (size_t row = 0; row < rows.labels.size(); ++row) {
      if (label_of(row) == own) values.push_back(property.values[row]);
    }
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    for (int32_t v = 0; v < property.count(); ++v) {
      const bool beyond = tested.above ? v >= std::max(*middle, tested.value) : v <= std::min(*middle, tested.value - 1);
      for (size_t k = 0; k < rows.classes.size() && beyond; ++k) {
        exceptions += k != own ? showing[static_cast<size_t>(v)][k].size() : 0;
      }
    }
    return exceptions >= kLeastExceptions;
  }
  for (size_t v = 0; v < showing.size(); ++v) {
    const bool any = property.kind == PropertyKind::kScene || property.says_absent(tested.value);
    if (any ? property.says_absent(static_cast<int32_t>(v)) : v != static_cast<size_t>(tested.value)) continue;
    double largest = 0;
    for (size_t k = 0; k < rows.classes.size(); ++k) largest = std::max(largest, share(v, k));
    for (size_t k = 0; k < rows.classes.size(); ++k) exceptions += 2 * share(v, k) <= largest ? showing[v][k].size() : 0;
  }
  return exceptions >= kLeastExceptions;
}

// Of a mark or a detail: no class has it rarely, a third as often as another. What is drawn anywhere falls on any place at times.
bool is_common(const Property& property, int32_t value, const AuditRows& rows) {
  if (property.kind != PropertyKind::kMark && property.kind != PropertyKind::kDetail) return false;
  std::vector<double> with(rows.classes.size()), all(rows.classes.size());
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    with[static_cast<size_t>(rows.labels[row])] += property.values[row] == value ? 1 : 0;
    ++all[static_cast<size_t>(rows.labels[row])];
  }
  for (size_t k = 0; k < all.size(); ++k) with[k] /= std::max(all[k], 1.0);
  return 3 * std::ranges::min(with) > std::ranges::max(with);
}

// What images show moves brightness, contrast and tones, and blur, noise and compression move these little. A
// description that goes with a class hardly more than they do may be moved by content, too. So may one that the directions of lines, or
// sharpness that frequencies as a whole, say more than: blur and noise move these, too, but less than what measures them.
struct EffectOfContent {
  double of_tones = 0, of_tone_curve = 0, of_lines = 0, of_frequencies = 0, of_colours = 0;

  bool may_explain(const Property& property, double effect) const {
    constexpr double kBeyond = 0.2, kClearly = 0.02;
    if (property.kind != PropertyKind::kDescription) return false;
    if (property.name == name_of(GlobalProperty::kNoise))
      return effect < std::max(of_tones, of_lines - kClearly);                                              // raises contrast itself
    if (property.name == name_of(TextureProperty::kFringes) && effect < of_colours + kBeyond) return true;  // red edges, blue edges
    if (property.name == name_of(TextureProperty::kShading) && effect < of_tone_curve + kBeyond / 2) return true;
    return effect < of_tones + kBeyond || effect < of_lines - kClearly ||
           (property.name == name_of(GlobalProperty::kSharpness) && effect < of_frequencies);
  }
};

EffectOfContent effect_of_content(const std::vector<MeasuredProperty>& properties, const std::vector<TestedProperty>& tested) {
  EffectOfContent content;
  for (size_t i = 0; i < properties.size(); ++i) {
    const Property& property = properties[i].property;
    if (property.kind != PropertyKind::kDescription || tested[i].p_adjusted > kLookLevel) continue;
    const auto is = [&](auto description) { return property.name == name_of(description); };
    if (is(GlobalProperty::kBrightness) || is(GlobalProperty::kContrast) || is(TextureProperty::kTones))
      content.of_tones = std::max(content.of_tones, tested[i].effect);
    if (is(TextureProperty::kColours) || is(GlobalProperty::kChroma) || is(GlobalProperty::kCastRed) || is(GlobalProperty::kCastBlue))
      content.of_colours = std::max(content.of_colours, tested[i].effect);
    if (is(TextureProperty::kToneCurve)) content.of_tone_curve = tested[i].effect;
    if (is(TextureProperty::kLines)) content.of_lines = tested[i].effect;
    if (is(TextureProperty::kFrequencies)) content.of_frequencies = tested[i].effect;
  }
  return content;
}

bool needs_exceptions(const Property& property) {
  return property.kind == PropertyKind::kScene || property.kind == PropertyKind::kDescription || property.kind == PropertyKind::kMark ||
         property.kind == PropertyKind::kDetail;
}

AuditVerdict verdict_of(const AuditFinding& finding, const AuditRows& rows, const RowGroups& groups, const EffectOfContent& content) {
  const TestedProperty& tested = finding.tested;
  const Property& property = finding.property;
  constexpr double kLeastOfEdge = 0.2;  // rarer colours are many: of groups that are not told
  if (finding.names_classes || finding.divides_classes) return AuditVerdict::kNone;
  const bool is_content = content.may_explain(property, tested.effect) || is_common(property, tested.value, rows) ||
                          (property.kind == PropertyKind::kEdge && tested.in_class < kLeastOfEdge) ||
                          (needs_exceptions(property) && !has_exceptions(property, tested, rows, groups));
  if (tested.p_adjusted <= kShortcutLevel && property.may_be_shortcut && !is_content) {
    const double least = least_effect(property, groups);
    if (tested.effect >= least || (least <= 0.3 && is_rare_elsewhere(property, tested))) return AuditVerdict::kShortcut;
  }
  return tested.p_adjusted <= kLookLevel && tested.effect >= kLookEffect ? AuditVerdict::kLook : AuditVerdict::kNone;
}

int order_of(PropertyKind kind) {
  switch (kind) {
    case PropertyKind::kFile:
    case PropertyKind::kColumn:
      return 0;
    case PropertyKind::kEdge:
    case PropertyKind::kCorners:
    case PropertyKind::kScene:
    case PropertyKind::kMark:
      return 1;
    case PropertyKind::kDetail:
      return 2;
    default:
      return 3;
  }
}

// Of properties with about the same effect, what a person understands comes first.
int unfamiliarity_of(const Property& property) {
  if (property.kind == PropertyKind::kColumn || property.kind == PropertyKind::kEdge) return 0;
  if (property.kind == PropertyKind::kScene) return 2;
  if (property.kind != PropertyKind::kFile) return 1;
  const auto is = [&](auto fact) { return property.name == name_of(fact); };
  if (is(FileFact::kSize)) return 1;
  if (is(FileFact::kEncoding) || is(FileFact::kQuantisation) || is(FileFact::kProfile)) return 3;
  return 2;
}

// Where what the image shows usually is.
bool is_central(const Property& property, const AuditRows& rows) {
  return property.place && property.place->width < 1 && is_on_objects(*property.place, rows.pictures, rows.side);
}

// Within the values of `earlier`, labels do not go with `later`.
bool adds_nothing(const AuditFinding& earlier, const AuditFinding& later, const AuditRows& rows, const RowGroups& groups, uint64_t seed) {
  constexpr int kFewer = 199;
  const LabelTest within(rows.labels, static_cast<int32_t>(rows.classes.size()), groups, seed, earlier.property.values, kFewer);
  return within.test({&later.property}).front().p_adjusted > kLookLevel;
}

void list_with_earlier(std::vector<AuditFinding>& findings, const AuditRows& rows, const RowGroups& groups, uint64_t seed) {
  constexpr size_t kMostLeading = 5;
  std::vector<AuditFinding*> leading;
  for (AuditFinding& finding : findings) {
    if (finding.verdict != AuditVerdict::kShortcut) continue;
    for (AuditFinding* earlier : leading) {
      if (!adds_nothing(*earlier, finding, rows, groups, seed)) continue;
      earlier->with_it.push_back(finding.property.name);
      finding.follows = true;
      break;
    }
    if (!finding.follows && leading.size() < kMostLeading) leading.push_back(&finding);
  }
}

// Those that a shortcut explains go, and all but the first five.
void limit_looks(std::vector<AuditFinding>& findings, const AuditRows& rows, const RowGroups& groups, uint64_t seed) {
  size_t looks = 0;
  for (AuditFinding& finding : findings) {
    if (finding.verdict != AuditVerdict::kLook) continue;
    if (looks == kMostLooks) {
      finding.verdict = AuditVerdict::kNone;
      continue;
    }
    for (AuditFinding& earlier : findings) {
      if (&earlier == &finding || earlier.follows || earlier.verdict == AuditVerdict::kNone) continue;
      if (earlier.verdict == AuditVerdict::kLook && &earlier > &finding) break;
      if (!adds_nothing(earlier, finding, rows, groups, seed)) continue;
      earlier.with_it.push_back(finding.property.name);
      finding.follows = true;
      break;
    }
    looks += finding.follows ? 0 : 1;
  }
}

double shared_area(const ImagePlace& a, const ImagePlace& b) {
  const double w = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double h = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  return w > 0 && h > 0 ? w * h / (a.width * a.height) : 0;
}

bool is_of_one_colour(const Picture& picture) {
  return std::ranges::equal(picture.thumbnail.begin(), picture.thumbnail.end() - 3, picture.thumbnail.begin() + 3, picture.thumbnail.end());
}

bool is_expected(const Property& property, const Expected& expected) {
  const auto is_named = [&](const std::string& name) { return property.name == name || property.name == "column " + name; };
  return std::ranges::any_of(expected.names, is_named) || std::ranges::any_of(expected.kept_names, is_named) ||
         (property.place &&
          std::ranges::any_of(expected.regions, [&](const ImagePlace& region) { return shared_area(*property.place, region) >= 0.5; }));
}

}  // namespace

std::string restarting(const std::string& name) { return name + " of each class"; }

std::string AuditFinding::class_value_text() const {
  const auto v = static_cast<size_t>(tested.value);
  if (!property.ordered) return property.value_names[v];
  return fmt::format("{} {}", tested.above ? ">=" : "<", property.value_names[v - 1]);
}

std::vector<const AuditFinding*> AuditResult::of(AuditVerdict verdict) const {
  std::vector<const AuditFinding*> found;
  for (const AuditFinding& finding : findings) {
    if (finding.verdict == verdict && !finding.follows) found.push_back(&finding);
  }
  return found;
}

const AuditFinding& finding_named(const AuditResult& result, const std::string& name, const std::string& what) {
  std::vector<std::string> known;
  for (const AuditFinding& finding : result.findings) {
    if (finding.property.name == name || finding.property.name == "column " + name) return finding;
    known.push_back(finding.property.name);
  }
  throw usage_error("{}: no candidate '{}'{}", what, name, suggestion(name, known));
}

AuditResult audit(const AuditRows& rows, const Expected& expected, uint64_t seed, Progress& progress) {
  AuditResult result;
  result.images = std::ssize(rows.labels);
  result.classes = rows.classes;
  result.plain_images = std::ranges::count_if(rows.pictures, is_of_one_colour);
  FoundGroups groups = find_groups(rows);
  result.identifiers = groups.identifiers;
  progress.begin("comparing", 3);
  std::vector<MeasuredProperty> properties = all_properties(rows, groups, seed);
  progress.advance(1, "");
  std::vector<const Property*> tested;
  for (const MeasuredProperty& measured : properties) tested.push_back(&measured.property);
  const LabelTest test(rows.labels, static_cast<int32_t>(rows.classes.size()), groups.groups, seed);
  const std::vector<TestedProperty> numbers = test.test(tested);
  result.smallest_share = test.least_share(0.3, test.critical(kShortcutLevel));
  progress.advance(2, "");
  const EffectOfContent content = effect_of_content(properties, numbers);
  for (size_t i = 0; i < properties.size(); ++i) {
    AuditFinding finding{.property = std::move(properties[i].property),
                         .tested = numbers[i],
                         .value_of = std::move(properties[i].value_of),
                         .value_of_vector = std::move(properties[i].value_of_vector)};
    const bool of_name = is_part_of_name(finding.property);
    finding.names_classes = (of_name || finding.property.kind == PropertyKind::kColumn) && names_every_class(finding.property, rows);
    finding.divides_classes = of_name && divides_every_class(finding.property, rows);
    finding.expected = is_expected(finding.property, expected);
    finding.verdict = verdict_of(finding, rows, groups.groups, content);
    static_cast<ClassContrast&>(finding.tested) = finding.tested.largest;
    const PropertyKind kind = finding.property.kind;
    if (std::ranges::find(result.searched, kind) == result.searched.end()) result.searched.push_back(kind);
    result.findings.push_back(std::move(finding));
  }
  const auto key = [&rows](const AuditFinding& finding) {
    const bool shortcut = finding.verdict == AuditVerdict::kShortcut;
    const int place = shortcut ? order_of(finding.property.kind) : is_central(finding.property, rows) ? 1 : 0;
    constexpr double kAboutTheSame = 0.05, kOfMean = 0.1;  // a strip or a mark on one side moves the mean of the frame, too
    const double effect = finding.tested.effect - (finding.property.name.starts_with("mean ") ? kOfMean : 0);
    return std::tuple(static_cast<int>(finding.verdict), place, -std::round(effect / kAboutTheSame), unfamiliarity_of(finding.property),
                      -finding.tested.effect);
  };
  std::ranges::stable_sort(result.findings, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  list_with_earlier(result.findings, rows, groups.groups, seed);
  limit_looks(result.findings, rows, groups.groups, seed);
  progress.end();
  for (const AuditFinding& finding : result.findings) {
    if (finding.names_classes) result.notes.push_back(fmt::format("{} is the label under another name", finding.property.name));
  }
  const bool is_guess = rows.group_columns.empty() && (groups.groups.from == "near-copies" || groups.groups.from == "none");
  for (const AuditFinding& finding : result.findings) {
    if (!finding.divides_classes || finding.names_classes || !is_guess) continue;
    result.notes.push_back(
        fmt::format("{} is no finding: its {} values, such as '{}', each lie in one class. If they name patients, bursts or products, give "
                    "a CSV with a column of them: --labels FILE.csv --group COLUMN",
                    finding.property.name, finding.property.count(), finding.class_value_text()));
  }
  for (const std::string& name : expected.names) finding_named(result, name, "audit: --expect");
  for (const std::string& name : expected.kept_names) {
    const bool is_there = std::ranges::any_of(result.findings, [&](const AuditFinding& finding) {
      return finding.property.name == name || finding.property.name == "column " + name;
    });
    if (!is_there) result.notes.push_back(fmt::format("'{}' was expected in an earlier audit, and is no property of these images", name));
  }
  if (groups.groups.from == "near-copies") {
    result.notes.push_back(
        fmt::format("{:.0f} % of the {} have near-copies, which are kept together; if a column names bursts, patients or "
                    "products, give it with --group",
                    100 * groups.groups.joined_share(), rows.embeddings.empty() ? "images" : "rows"));
  }
  for (const AuditColumn& column : rows.columns) {
    if (is_guess && proposes_groups(column, groups)) {
      const std::set<std::string_view> distinct(column.values.begin(), column.values.end());
      result.notes.push_back(fmt::format(
          "column {} has {} values in {} rows: rows of one value are not independent; if it names what belongs together, add --group {}",
          column.name, distinct.size(), column.values.size(), column.name));
    }
    const bool names_groups = std::ranges::find(groups.identifiers, column.name) != groups.identifiers.end() ||
                              std::ranges::find(rows.group_columns, column.name) != rows.group_columns.end();
    if (!column.unusable.empty() && !names_groups) {
      result.notes.push_back(fmt::format("column {} is ignored: it {}", column.name, column.unusable));
    }
  }
  for (const std::string& name : groups.identifiers) {
    if (groups.groups.from != "column " + name) {
      result.notes.push_back(
          fmt::format("column {} names what the rows are of: its values repeat within one class; it is no finding", name));
    }
  }
  result.groups = std::move(groups.groups);
  return result;
}

std::vector<std::string> not_detectable(const AuditResult& result) {
  const auto searched = [&](PropertyKind kind) { return std::ranges::find(result.searched, kind) != result.searched.end(); };
  std::vector<std::string> kinds;
  if (searched(PropertyKind::kDescription)) {
    kinds = {"half-transparent or tilted marks, and logos on very small images, as shortcuts",
             "changes of exposure, contrast, colour or saturation, as shortcuts", "mirrored, rotated and inverted images",
             "backgrounds that recur in kind but not in pixels, such as snow or water",
             "combinations of properties that say nothing one by one"};
  }
  if (result.plain_images > 0) {
    kinds.insert(kinds.begin(),
                 fmt::format("marks in {} of {} images, which are of one colour as they are read (drawings on a clear ground "
                             "need transparency=white)",
                             result.plain_images, result.images));
  } else if (!searched(PropertyKind::kDescription)) {
    kinds.emplace_back("marks in images: no images were given");
  }
  if (!searched(PropertyKind::kColumn)) kinds.emplace_back("where and how images were taken: no columns were given");
  if (searched(PropertyKind::kDirection))
    kinds.emplace_back("shortcuts that features alone show: a direction or a cluster is worth a look at most");
  if (!searched(PropertyKind::kDirection)) kinds.emplace_back("properties of an encoder's features: no embeddings were given");
  return kinds;
}

}  // namespace debias
