#include "debias/data/folder_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/group_counts.h"
#include "debias/data/hold_out.h"
#include "debias/data/name_table.h"
#include "debias/data/row_groups.h"

namespace debias {
namespace {

constexpr double kLeastShare = 0.2, kLargestShare = 0.4;  // of the training images, held out
constexpr double kEvaluatedConflicting = 30;              // an accuracy over 30 images is known to about 15 points
constexpr int64_t kSeeds = 100;
constexpr int64_t kLeastOfGroup = 4;  // training images on average; with fewer, frequencies of groups are those of single images

Config section(const std::string& root, const Config& given) {
  Config config = Config::map({{"name", Config::string("image_folder")}, {"root", Config::string(root)}});
  for (const auto& [option, value] : given.entries()) config.set(option, value);
  return config;
}

Config split_section(const std::string& root, const std::string& folder, const Config& given) {
  Config config = section(root, given);
  if (!folder.empty() && folder != "train") config.set("split", Config::string(folder));
  return config;
}

// image_folder holds out of `train` or of a root alone.
Config hold_out_section(const std::string& root, const std::string& folder, const Config& given) {
  if (folder.empty() || folder == "train") return section(root, given);
  return section((std::filesystem::path(root) / folder).string(), given);
}

bool can_evaluate(const Dataset& evaluated, const Dataset& train) {
  return evaluated.info().class_names.empty() == train.info().class_names.empty() &&
         evaluated.info().bias_names.empty() == train.info().bias_names.empty();
}

double held_out_share(const DataCheck& train) {
  const int64_t conflicting = GroupCounts(train.bias_table).conflicting();
  if (conflicting == 0) return kLeastShare;
  const double share = std::clamp(kEvaluatedConflicting / static_cast<double>(conflicting), kLeastShare, kLargestShare);
  return std::ceil(20 * share) / 20;  // a round number
}

std::vector<BadFile> bad_held_out(const Dataset& train, const std::vector<int64_t>& held_out, const std::vector<BadFile>& bad) {
  std::vector<BadFile> found;
  for (const int64_t index : held_out) {
    const std::string source = train.source(index);
    for (const BadFile& file : bad) {
      if (file.path == source || file.path.ends_with("/" + source)) found.push_back(file);
    }
  }
  return found;
}

// Below its class folder, where it lies in one.
std::string name_in_class(const std::string& source, const std::string& label) {
  const size_t begins = source.starts_with(label + "/") ? 0 : source.find("/" + label + "/");
  return begins == std::string::npos ? source : source.substr(source.find('/', begins + 1) + 1);
}

// "200 images lie in 40 sub-folders of one class each, such as 'pat11': ...", where names may say what images are of; empty else.
std::string note_on_names(const Dataset& train, const std::vector<int64_t>& labels) {
  std::vector<std::string> names;
  const auto& classes = train.info().class_names;
  for (int64_t i = 0; i < train.size() && !classes.empty(); ++i) {
    if (labels[static_cast<size_t>(i)] == kUnknown) return "";
    names.push_back(name_in_class(train.source(i), classes[static_cast<size_t>(labels[static_cast<size_t>(i)])]));
  }
  const std::vector<int32_t> narrow(labels.begin(), labels.end());
  for (const NamePart& part : parts_of_names(names)) {
    if (!names_groups(part.values, narrow, static_cast<int32_t>(classes.size()))) continue;
    const auto first = std::ranges::find_if(part.values, [](const std::string& value) { return !value.empty(); });
    return fmt::format(
        "{} images have {} values of their {} ('{}' is the first), each in one class: if these are patients or bursts, images held out are "
        "of "
        "the same ones; name them in a column group of a CSV and give it with --labels",
        names.size(), std::set<std::string>(first, part.values.end()).size(), part.from, *first);
  }
  return "";
}

void hold_out(const Dataset& train, FolderSurvey& survey) {
  const int64_t images = train.size();
  if (images < 2) throw FileError(train.source(0), "is the only image; training needs one, and evaluation another");
  survey.hold_out = std::clamp<int64_t>(std::llround(held_out_share(survey.train_check) * static_cast<double>(images)), 1, images - 1);
  std::vector<int64_t> labels, groups;
  for (int64_t i = 0; i < images; ++i) labels.push_back(train.label(i));
  for (int64_t i = 0; i < images && !train.info().group_names.empty(); ++i) groups.push_back(train.group(i));
  if (groups.empty()) {
    NearCopies copies = survey.train_check.small.empty() ? find_near_copies(train) : near_copies_of(survey.train_check.small, labels);
    const bool reads_csv = !train.info().bias_names.empty() || !survey.train_check.columns.file.empty();
    for (const std::string& note : {note_on_copies(copies, images), reads_csv ? "" : note_on_names(train, labels)}) {
      if (!note.empty()) survey.remarks.push_back(note);
    }
    groups = std::move(copies.source_of_image);
  }
  int64_t best = 0;
  for (int64_t seed = 0; seed < kSeeds; ++seed) {
    const auto parts = partition_hold_out(labels, survey.hold_out, static_cast<uint64_t>(seed), groups);
    std::vector<BadFile> bad = bad_held_out(train, parts.held_out, survey.train_check.bad_files);
    if (seed == 0 || bad.size() < survey.evaluated_bad.size()) {
      best = seed;
      survey.held_out = std::ssize(parts.held_out);
      survey.evaluated_bad = std::move(bad);
    }
    if (survey.evaluated_bad.empty()) break;
  }
  survey.train.set("hold_out", Config::integer(survey.hold_out));
  if (best != 0) survey.train.set("seed", Config::integer(best));
  survey.evaluated = survey.train;
  survey.evaluated.set("split", Config::string("held_out"));
}

// A recipe for one class would compare nothing. A single class folder is a folder without classes.
void refuse_single_class(const std::string& root, const DataCheck& train) {
  const auto has_images = [](int64_t images) { return images > 0; };
  if (std::ranges::count_if(train.per_class, has_images) != 1 || (train.class_names.size() == 1 && !train.columns.has_labels)) return;
  const auto only = std::ranges::find_if(train.per_class, has_images);
  throw FileError(
      train.columns.has_labels ? train.columns.file : root,
      fmt::format("all {} labelled training images are of class '{}', and training needs two classes; add images of another, or "
                  "leave the labels out",
                  *only, train.class_names[static_cast<size_t>(only - train.per_class.begin())]));
}

// "240 training images are 60 groups (column burst), which hold_out keeps whole".
void remark_on_groups(const Dataset& train, FolderSurvey& survey) {
  if (train.info().group_names.empty()) return;
  std::set<int64_t> groups;
  int64_t alone = 0;
  for (int64_t i = 0; i < train.size(); ++i) {
    if (train.group(i) == kUnknown) {
      ++alone;
    } else {
      groups.insert(train.group(i));
    }
  }
  survey.groups = std::ssize(groups) + alone;
  survey.remarks.push_back(fmt::format("{} training images are {} groups ({}): they stay on one side, and training does not contrast them",
                                       train.size(), survey.groups, train.info().groups_from));
}

// Bias labels that training has not, such as those of another site, are no reason to refuse; a class is.
MappedDataset with_unknown_biases(std::shared_ptr<const Dataset> evaluated, const Dataset& train) {
  const NameTable names = name_table(train);
  map_to_table(evaluated, {.classes = names.classes, .biases = {}}, UnknownNames::kRefuse);
  return map_to_table(std::move(evaluated), names, UnknownNames::kIgnore);
}

// A class of which every file is damaged would be missing without a word.
void remark_on_unread_classes(const Dataset& train, FolderSurvey& survey) {
  const DataCheck& check = survey.train_check;
  std::vector<int64_t> files(check.class_names.size(), 0);
  for (int64_t i = 0; i < train.size(); ++i) {
    if (train.label(i) != kUnknown) ++files.at(static_cast<size_t>(train.label(i)));
  }
  for (size_t c = 0; c < files.size(); ++c) {
    if (files[c] == 0 || check.per_class[c] > 0) continue;
    survey.remarks.push_back(fmt::format("class '{}': none of its {} files can be read, so nothing is learned about it; repair them",
                                         check.class_names[c], files[c]));
  }
}

}  // namespace

std::string bias_doubt(const FolderSurvey& survey) {
  if (!survey.has_biases()) return "";
  int64_t known = 0, groups = 0;
  for (const auto& row : survey.train_check.bias_table) {
    known = std::accumulate(row.begin(), row.end(), known);
    groups += std::ranges::count_if(row, [](int64_t images) { return images > 0; });
  }
  const int64_t all = survey.train_check.count;
  if (2 * known < all) return fmt::format("only {} of {} training images have a label and a bias label", known, all);
  if (known >= kLeastOfGroup * groups) return "";
  return fmt::format("the {} groups of a class and a bias label have {:.1f} training images on average, fewer than {}", groups,
                     static_cast<double>(known) / static_cast<double>(groups), kLeastOfGroup);
}

FolderSurvey survey_folder(const std::string& root, const Config& labels, Progress& progress, const Config& pixels) {
  Config given = pixels;
  if (!labels.is_null()) given.set("labels", labels);
  FolderSurvey survey;
  survey.layout = find_layout(root);
  survey.remarks = survey.layout.remarks;
  survey.train = split_section(root, survey.layout.train, given);
  const std::unique_ptr<const Dataset> train = read_data(survey.train).make_images();
  const bool holds_out = survey.layout.test.empty() && survey.layout.valid.empty();
  const bool looks_for_copies = holds_out && train->info().group_names.empty() && train->size() <= kMostComparedImages;
  survey.train_check = check_data(*train, 0, progress, looks_for_copies);
  if (survey.train_check.count == 0) {
    const BadFile& first = survey.train_check.bad_files.at(0);
    throw FileError(root, fmt::format("none of its {} images can be read; the first, {}: {}", train->size(), first.path, first.reason));
  }
  refuse_single_class(root, survey.train_check);
  remark_on_unread_classes(*train, survey);
  remark_on_groups(*train, survey);
  for (const std::vector<std::string>* notes : {&survey.train_check.columns.remarks, &survey.train_check.pixel_notes}) {
    survey.remarks.insert(survey.remarks.end(), notes->begin(), notes->end());
  }
  for (const std::string& folder : {survey.layout.test, survey.layout.valid}) {
    if (folder.empty()) continue;
    const Config evaluated = split_section(root, folder, given);
    std::shared_ptr<const Dataset> dataset = read_data(evaluated).make_images();
    if (!can_evaluate(*dataset, *train)) {
      survey.remarks.push_back(fmt::format("{} has no labels or bias labels to evaluate with, so images of {} are held out instead", folder,
                                           survey.layout.train));
      continue;
    }
    const MappedDataset mapped = with_unknown_biases(dataset, *train);
    survey.has_unknown_biases = number_of_unknown_bias(mapped.dataset->info()) != kUnknown;
    survey.remarks.insert(survey.remarks.end(), mapped.remarks.begin(), mapped.remarks.end());
    survey.evaluated = evaluated;
    survey.evaluated_check = check_data(*mapped.dataset, 0, progress);
    survey.evaluated_bad = survey.evaluated_check->bad_files;
    return survey;
  }
  survey.train = hold_out_section(root, survey.layout.train, given);
  hold_out(*train, survey);
  return survey;
}

}  // namespace debias
