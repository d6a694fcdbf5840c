// What `debias audit` finds of planted shortcuts, and how often it raises a false alarm, on images of ROOT's class folders.
//
//   audit_trial ROOT [--seeds 1,2,3,4,5] [--correlations 0.9,0.95,0.99] [--images 1000] [--kinds square,blur] [--clean 24]
//   audit_trial ROOT --folders DIR,DIR    (audits these as they are)
//
// Even seeds take four classes, odd ones two, all drawn by seed. Half of the clean folders are 90:10 or 80:20. One CSV line a trial: kind,
// correlation, seed, classes, images, shortcuts found, kind and name of the first, its accuracy and reference, the share of images with a
// bias label, and the normalised mutual information of these values with the planted ones. With --all, one line a candidate.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "debias/audit/folder_audit.h"
#include "debias/core/philox.h"
#include "debias/data/builders/planted_folder.h"
#include "debias/data/readers/csv_table.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct TrialOptions {
  std::string root;
  std::vector<std::string> seeds = {"1", "2", "3", "4", "5"}, correlations = {"0.9", "0.95", "0.99"}, kinds, folders;
  int64_t images = 1000, clean = 24;
  bool all = false;
};

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

std::vector<std::string> folders_in(const std::string& root) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// `classes` of the root's class folders, `images[k]` files of the k-th, drawn by seed.
std::string drawn_folder(const TrialOptions& options, const std::vector<int64_t>& images, uint64_t seed) {
  const std::string out = (fs::temp_directory_path() / fmt::format("audit-trial-{}", ::getpid())).string();
  fs::remove_all(out);
  const std::vector<std::string> names = folders_in(options.root);
  const auto classes = permutation(std::ssize(names), {.seed = seed, .sample = 1});
  for (size_t k = 0; k < images.size(); ++k) {
    const std::string& name = names[static_cast<size_t>(classes[k])];
    const std::vector<std::string> files = folders_in(options.root + "/" + name);
    const auto order = permutation(std::ssize(files), {.seed = seed, .sample = 2 + k});
    fs::create_directories(out + "/" + name);
    for (int64_t i = 0; i < images[k]; ++i) {
      const std::string& file = files[static_cast<size_t>(order[static_cast<size_t>(i)])];
      fs::copy_file(options.root + "/" + name + "/" + file, out + "/" + name + "/" + file);
    }
  }
  return out;
}

double entropy(const std::map<std::string, double>& counts, double n) {
  double sum = 0;
  for (const auto& [name, count] : counts) sum -= count / n * std::log(count / n);
  return sum;
}

// Of the images that have a value. With hundreds of images and a handful of values, chance adds less than 0.005 to it.
double normalised_information(const FolderAudit& audit, const AuditFinding& finding, const std::string& truth) {
  std::map<std::string, std::string> planted;
  for (const CsvRecord& record : read_csv(truth)) planted[record.fields[0]] = record.fields[2];
  std::map<std::string, double> found, true_values, both;
  double n = 0;
  for (size_t row = 0; row < finding.values.size(); ++row) {
    if (!finding.values[row].confident) continue;
    const std::string& value = audit.result.classes[static_cast<size_t>(finding.values[row].value)];
    const std::string& own = planted.at(audit.folder.files[static_cast<size_t>(audit.files[row])].source);
    ++found[value];
    ++true_values[own];
    ++both[value + "/" + own];
    ++n;
  }
  const double a = entropy(found, n), b = entropy(true_values, n);
  return a + b > 0 ? 2 * (a + b - entropy(both, n)) / (a + b) : 0;
}

void print_candidates(const std::string& trial, const AuditResult& result) {
  for (const AuditFinding& f : result.findings) {
    fmt::print("{},{},{},{:.4f},{:.4f},{:.3f},{}\n", trial, enum_name(f.candidate.kind), f.candidate.name, f.accuracy, f.reference,
               f.p_adjusted, enum_name(f.verdict));
  }
}

// `truth` is the CSV of planted values, or empty.
void print_trial(const std::string& trial, const TrialOptions& options, const AuditFolderOptions& folder, const std::string& truth) {
  const FolderAudit done = audit_folder(folder, 0);
  const std::string line = fmt::format("{},{},{}", trial, done.result.classes.size(), done.result.images);
  if (options.all) return print_candidates(line, done.result);
  const AuditFinding& first = done.result.findings.front();
  const auto shortcuts = std::ranges::count(done.result.findings, AuditVerdict::kShortcut, &AuditFinding::verdict);
  const bool has_values = first.assignable && !truth.empty();
  fmt::print("{},{},{},\"{}\",{:.4f},{:.4f},{:.3f},{:.3f}\n", line, shortcuts, enum_name(first.candidate.kind), first.candidate.name,
             first.accuracy, first.reference, first.assignable ? first.confident_share : 0.0,
             has_values ? normalised_information(done, first, truth) : 0.0);
  std::fflush(stdout);
}

std::vector<int64_t> even(int64_t images, int64_t classes) { return std::vector<int64_t>(static_cast<size_t>(classes), images / classes); }

void run(const TrialOptions& options) {
  for (const std::string& folder : options.folders) print_trial(folder + ",,", options, {folder, "", {}, ""}, "");
  if (!options.folders.empty()) return;
  for (const std::string& seed : options.seeds) {
    const uint64_t number = std::stoull(seed);
    for (const auto& [kind_name, kind] : EnumNames<PlantKind>::values) {
      if (!options.kinds.empty() && std::find(options.kinds.begin(), options.kinds.end(), kind_name) == options.kinds.end()) continue;
      for (const std::string& correlation : options.correlations) {
        const std::string clean = drawn_folder(options, even(options.images, number % 2 == 0 ? 4 : 2), number);
        const std::string planted = clean + "-planted";
        fs::remove_all(planted);
        plant_shortcut(kind, PlantOptions().correlation(std::stod(correlation)).seed(static_cast<int64_t>(number)), clean, planted);
        const bool column = kind == PlantKind::kColumn;
        print_trial(fmt::format("{},{},{}", kind_name, correlation, seed), options,
                    {planted, column ? planted + "/columns.csv" : "", {}, ""}, planted + "/planted.csv");
        fs::remove_all(planted);
      }
    }
  }
  for (int64_t c = 0; c < options.clean; ++c) {
    const uint64_t number = 100 * std::stoull(options.seeds.front()) + static_cast<uint64_t>(c);
    std::vector<int64_t> images = even(options.images, c % 2 == 0 ? 2 : 4);
    if (c % 4 >= 2) {  // 80:20 or 90:10
      const int64_t share = c % 8 >= 4 ? 4 : 9;
      for (size_t k = 1; k < images.size(); ++k) images[k] = std::max<int64_t>(20, images[0] / share);
    }
    const std::string clean = drawn_folder(options, images, number);
    print_trial(fmt::format("{},,{}", c % 4 >= 2 ? "clean-uneven" : "clean", number), options, {clean, "", {}, ""}, "");
    fs::remove_all(clean);
  }
}

TrialOptions parse(int argc, char** argv) {
  TrialOptions options;
  options.root = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--all") {
      options.all = true;
      continue;
    }
    const std::string value = argv[++i];
    if (word == "--seeds") options.seeds = split_words(value);
    if (word == "--correlations") options.correlations = split_words(value);
    if (word == "--folders") options.folders = split_words(value);
    if (word == "--kinds") options.kinds = split_words(value);
    if (word == "--images") options.images = std::stoll(value);
    if (word == "--clean") options.clean = std::stoll(value);
  }
  return options;
}

}  // namespace
}  // namespace debias

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  debias::run(debias::parse(argc, argv));
}
