// Finds properties of images, files or columns that go with the class, and says which of them are shortcuts.
//
// Every candidate is a property computed without labels; labels enter one permutation test (label_test.h), in which every group of rows
// weighs 1. A property is a
//   shortcut  if p <= 0.01 and its effect J* >= 0.30, or if a value that is read or of an edge is on 10 % of a class and 8 times
//             rarer elsewhere, in 8 groups
//   look      if p <= 0.05 and J* >= 0.15: it may be what the classes are about; at most five are named, and none is an alarm
// Descriptions of whole images need J* >= 0.30 to 0.60, and only those that content affects little can be shortcuts. Where groups are a guess
// from near-copies that joins a fifth of the rows, facts, columns, edges, backgrounds and details need J* >= 0.50.
// What is measured in pixels and separates classes without exception is content as far as anyone can tell, and at most worth a look.
// Shortcuts are ordered by kind (facts and columns; edges, backgrounds and marks; details; descriptions) and effect. One that adds nothing
// within the values of an earlier one (p > 0.05 if labels are permuted within them) is listed with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "debias/audit/exact_properties.h"
#include "debias/audit/label_test.h"
#include "debias/audit/picture_properties.h"
#include "debias/core/progress.h"

namespace debias {

// One row per image, shuffled without regard to labels.
struct AuditRows {
  std::vector<std::string> classes;
  std::vector<int32_t> labels;
  std::vector<Picture> pictures;  // empty without images
  int side = 0;                   // of their thumbnails
  std::vector<AuditColumn> columns;
  std::vector<std::string> group_columns;  // that were asked for; empty: they are looked for
  std::vector<float> embeddings;           // [rows, dimensions]; empty without features
  int64_t dimensions = 0;
};

struct Expected {
  std::vector<std::string> names;
  std::vector<std::string> kept_names = {};  // of an earlier audit: noted, not rejected, where there is no such property
  std::vector<ImagePlace> regions = {};
};

enum class AuditVerdict { kShortcut, kLook, kNone };
constexpr auto enum_words(AuditVerdict) { return named("shortcut", "look", "none"); }

struct AuditFinding {
  Property property = {};
  TestedProperty tested = {};  // its contrast is the largest in either sense
  AuditVerdict verdict = AuditVerdict::kNone;
  std::vector<std::string> with_it = {};  // names of shortcuts that add nothing
  bool follows = false;                   // it is one of those of another finding
  bool names_classes = false;             // the label under another name
  bool divides_classes = false;           // of names: each value lies in one class, of which there are several
  bool expected = false;
  // Empty where a column has the values, or where no other row can be given one.
  std::function<std::string(const Picture&)> value_of = {};
  std::function<std::string(std::span<const float>)> value_of_vector = {};

  bool assignable() const { return property.kind == PropertyKind::kColumn || value_of || value_of_vector; }
  bool is_alarm() const { return verdict == AuditVerdict::kShortcut && !follows && !expected; }
  std::string class_value_text() const;  // "AP", ">= 512", "present"
};

struct AuditResult {
  int64_t images = 0;
  std::vector<std::string> classes;
  RowGroups groups;
  std::vector<std::string> identifiers;  // columns of the CSV that name groups
  std::vector<AuditFinding> findings;    // shortcuts in order, then what is worth a look, then the others by effect
  int64_t plain_images = 0;              // of one colour: nothing can be seen in them
  double smallest_share = 1;             // of a class's groups: a mark on fewer would be missed
  std::vector<PropertyKind> searched;
  std::vector<std::string> notes;

  std::vector<const AuditFinding*> of(AuditVerdict verdict) const;  // without those that follow from another
};

// RowGroups::from of names that count anew in each class.
std::string restarting(const std::string& name);

// Shortcuts that this audit cannot detect, in words.
std::vector<std::string> not_detectable(const AuditResult& result);

// The finding of this name, with or without "column ". Usage error with the nearest name, beginning with `what`.
const AuditFinding& finding_named(const AuditResult& result, const std::string& name, const std::string& what);

// Requires at least two classes; folder_audit.h ensures this.
AuditResult audit(const AuditRows& rows, const Expected& expected, uint64_t seed, Progress& progress = Progress::silent());

}  // namespace debias
