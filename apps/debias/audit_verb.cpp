#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/debias/arguments.h"
#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/audit/audit_page.h"
#include "debias/audit/audit_summary.h"
#include "debias/audit/bias_file.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/data/settled_pixels.h"
#include "debias/process/terminal.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct AuditArguments {
  AuditFolderOptions folder;
  std::string embeddings, csv, key, label;
  uint64_t seed = 0;
  bool json = false, verbose = false;
  std::string out, accept, bias_out;
  std::vector<std::string> regions;  // of --expect-region
  std::vector<std::string> words;    // key=value
  std::optional<Condition> fail_if;

  AuditTableOptions table() const { return {embeddings, csv, folder.columns, folder.split, key, label, folder.group, folder.expected}; }
};

void check_audit_arguments(const AuditArguments& arguments) {
  if (arguments.folder.folder.empty() == arguments.embeddings.empty())
    throw usage_error("audit: pass exactly one of FOLDER or --embeddings");
  if (!arguments.csv.empty() && arguments.embeddings.empty())
    throw usage_error("audit: --csv needs --embeddings; for a folder, use --labels");
  if (!arguments.folder.labels.empty() && !arguments.embeddings.empty()) {
    throw usage_error("audit: --labels needs a folder; for features, use --csv");
  }
  if (!arguments.folder.mask.empty() && !arguments.embeddings.empty()) throw usage_error("audit: --mask needs a folder of images");
  if (arguments.accept.empty() != arguments.bias_out.empty()) {
    throw usage_error("audit: --accept NAME and --bias-out FILE.csv go together; {} is missing",
                      arguments.accept.empty() ? "--accept" : "--bias-out");
  }
  const std::string ending = fs::path(arguments.out).extension().string();
  if (!arguments.out.empty() && ending != ".html" && ending != ".htm") {
    throw usage_error("audit: --out '{}': unsupported extension '{}'; use .html", arguments.out, ending);
  }
  for (const std::string& path : {arguments.out, arguments.bias_out}) refuse_inside_data(path, {arguments.folder.folder});
  refuse_overwriting("audit", {arguments.out, arguments.bias_out}, {arguments.folder.labels, arguments.csv, arguments.embeddings});
  for (const std::string& path : {arguments.out, arguments.bias_out}) require_folder_of(path);
}

// "x,y,w,h" in fractions of the image.
ImagePlace region_of(const std::string& text) {
  ImagePlace place;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%lf,%lf,%lf,%lf%c", &place.x, &place.y, &place.width, &place.height, &rest) == 4 && place.x >= 0 &&
      place.y >= 0 && place.width > 0 && place.height > 0 && place.x + place.width <= 1.0001 && place.y + place.height <= 1.0001) {
    return place;
  }
  throw usage_error("audit: --expect-region '{}': expected x,y,w,h within the image, in fractions of its width and height, as 0,0.9,1,0.1",
                    text);
}

// Beside the page: what --expect and --expect-region declared, for the next audit with this --out. A line each: "name TEXT" or
// "region x,y,w,h"; a line that begins with # is a remark.
std::string expectations_path(const AuditArguments& arguments) {
  return arguments.out.empty() ? "" : fs::path(arguments.out).replace_extension(".expected.txt").string();
}

struct KeptExpectations {
  std::vector<std::string> names, regions;
  size_t count() const { return names.size() + regions.size(); }
};

KeptExpectations read_expectations(const std::string& path) {
  KeptExpectations kept;
  std::ifstream file(path);
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const size_t blank = line.find(' ');
    const std::string kind = line.substr(0, blank), value = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (value.empty() || (kind != "name" && kind != "region")) {
      throw data_error("audit: {} line {}: '{}': expected 'name PROPERTY' or 'region x,y,w,h'; correct or delete the file", path, number,
                       line);
    }
    if (kind == "region") region_of(value);
    (kind == "name" ? kept.names : kept.regions).push_back(value);
  }
  return kept;
}

void merge(std::vector<std::string>& into, const std::vector<std::string>& more) {
  for (const std::string& each : more) {
    if (std::ranges::find(into, each) == into.end()) into.push_back(each);
  }
}

// Adds what the file says to what was asked for. Gives the text of the file as it is to be, or "" if nothing is new.
std::string take_expectations(AuditArguments& arguments, std::vector<std::string>& notes) {
  const std::string path = expectations_path(arguments);
  if (path.empty()) return "";
  const KeptExpectations kept = read_expectations(path);
  if (kept.count() > 0) {
    notes.push_back(fmt::format("{} expectation{} of earlier audits read from {}, the first is '{}'; delete its line to drop it",
                                kept.count(), kept.count() == 1 ? "" : "s", path,
                                kept.names.empty() ? kept.regions.front() : kept.names.front()));
  }
  KeptExpectations all = kept;
  merge(all.names, arguments.folder.expected.names);
  merge(all.regions, arguments.regions);
  arguments.folder.expected.kept_names = kept.names;
  arguments.regions = all.regions;
  if (all.count() == kept.count()) return "";
  std::string text = "# Properties that are legitimate, read by debias audit with this --out.\n";
  for (const std::string& name : all.names) text += fmt::format("name {}\n", name);
  for (const std::string& region : all.regions) text += fmt::format("region {}\n", region);
  return text;
}

FolderAudit audit_input(const AuditArguments& arguments, Progress& progress) {
  if (arguments.embeddings.empty()) return audit_folder(arguments.folder, arguments.seed, progress);
  return audit_table(arguments.table(), arguments.seed, progress);
}

int run_audit_verb(AuditArguments arguments) {
  check_audit_arguments(arguments);
  std::vector<std::string> notes;
  const std::string expectations = take_expectations(arguments, notes);
  for (const std::string& region : arguments.regions) arguments.folder.expected.regions.push_back(region_of(region));
  arguments.folder.pixels = pixel_options(arguments.words, "audit");
  if (arguments.fail_if) metrics_of(*arguments.fail_if, audit_metrics({}));  // an unknown name is rejected before anything is read
  FolderAudit done = audit_input(arguments, *terminal_progress());
  std::ranges::move(notes, std::back_inserter(done.result.notes));
  const std::vector<std::string> commands = arguments.embeddings.empty()
                                                ? commands_after(arguments.folder, done.result, arguments.bias_out, arguments.seed)
                                                : commands_after(arguments.table(), done.result);
  if (!arguments.accept.empty()) write_file_atomically(arguments.bias_out, bias_file(done, arguments.accept, *terminal_progress()));
  if (!arguments.out.empty())
    write_file_atomically(arguments.out, audit_page(done, arguments.folder.folder + arguments.embeddings, commands));
  if (!expectations.empty()) write_file_atomically(expectations_path(arguments), expectations);
  if (arguments.json) {
    print_json(to_json(done));
  } else {
    const TextStyle style = text_style(arguments.verbose);
    const bool alarm = std::ranges::any_of(done.result.findings, &AuditFinding::is_alarm);
    print_text(audit_text(done, commands, style), style, alarm ? Tone::kBad : Tone::kGood);
  }
  if (arguments.fail_if) check_condition(*arguments.fail_if, audit_metrics(done.result), "audit");
  return 0;
}

}  // namespace

void add_audit_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("audit", "reports which properties of images, files or columns predict the class");
  auto arguments = std::make_shared<AuditArguments>();
  verb->add_option("folder", arguments->folder.folder, "folder of class folders, optionally split into train and test");
  verb->add_option("overrides", arguments->words, "transparency=, bits=, window=[LOW, HIGH]: how pixels are read");
  verb->add_option("--labels", arguments->folder.labels,
                   "CSV with the column path; a column label replaces the class folders, other columns are audited")
      ->option_text("FILE.csv")
      ->transform(with_home);
  auto* embeddings = verb->add_option("--embeddings", arguments->embeddings, "features [n, D] in place of a folder: .npy or .safetensors")
                         ->option_text("Z")
                         ->transform(with_home);
  verb->add_option("--csv", arguments->csv, "CSV with a row for each feature vector: label, path and columns to audit")
      ->option_text("FILE.csv")
      ->transform(with_home);
  verb->add_option("--key", arguments->key, "name of the tensor, if the .safetensors file has several")->needs(embeddings);
  verb->add_option("--label", arguments->label, "column with the class (label)")->option_text("COLUMN")->needs(embeddings);
  verb->add_option("--columns", arguments->folder.columns, "columns of the CSV to audit; default: all")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--split", arguments->folder.split, "split to audit; default: train");
  verb->add_option("--seed", arguments->seed, "seed of the sample and the permutations; default: 0");
  verb->add_option("--group", arguments->folder.group,
                   "columns of the CSV that name what belongs together: bursts, patients; default: looked for")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("COLUMN[,COLUMN]");
  verb->add_option("--expect", arguments->folder.expected.names,
                   "a property that is legitimate: reported, but no alarm; kept for later audits beside --out")
      ->option_text("NAME")
      ->allow_extra_args(false);
  verb->add_option("--expect-region", arguments->regions, "a part of the image where properties are legitimate, in fractions of its size")
      ->option_text("X,Y,W,H")
      ->allow_extra_args(false);
  verb->add_option("--mask", arguments->folder.mask,
                   "folder of mask images named as the images: what is black in them is the outer part, where backgrounds are looked for")
      ->option_text("DIR")
      ->transform(with_home);
  verb->add_option("--out", arguments->out, "HTML page to write, with images that have each property and images that have not")
      ->option_text("FILE.html");
  verb->add_option("--accept", arguments->accept, "candidate whose values are written to --bias-out")->option_text("NAME");
  verb->add_option("--bias-out", arguments->bias_out,
                   "file of bias labels to write: path,label,bias; also split, if the CSV of --embeddings has it, and group, if columns or "
                   "times say what belongs together")
      ->option_text("FILE.csv")
      ->transform(with_home);
  add_fail_if(*verb, arguments->fail_if, "condition for exit code 1; metrics: shortcut, look, none")->option_text("'shortcut>0'");
  add_verbose(*verb, arguments->verbose, "every property with its numbers, all notes, and what cannot be detected");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias audit photos --out audit.html");
  verb->callback([arguments, &action] { action = [arguments] { return run_audit_verb(*arguments); }; });
}

}  // namespace debias
