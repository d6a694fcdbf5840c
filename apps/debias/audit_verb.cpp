#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/debias/fail_if.h"
#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/audit/audit_page.h"
#include "debias/audit/audit_summary.h"
#include "debias/audit/bias_file.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/process/terminal.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct AuditArguments {
  AuditFolderOptions folder;
  std::string embeddings, csv, key, label;
  uint64_t seed = 0;
  bool json = false;
  std::string out, accept, bias_out;
  std::vector<std::string> regions;  // of --expect-region
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

FolderAudit audit_input(const AuditArguments& arguments, Progress& progress) {
  if (arguments.embeddings.empty()) return audit_folder(arguments.folder, arguments.seed, progress);
  return audit_table(arguments.table(), arguments.seed, progress);
}

int run_audit_verb(AuditArguments arguments) {
  check_audit_arguments(arguments);
  for (const std::string& region : arguments.regions) arguments.folder.expected.regions.push_back(region_of(region));
  if (arguments.fail_if) metrics_of(*arguments.fail_if, audit_metrics({}));  // an unknown name is rejected before anything is read
  const FolderAudit done = audit_input(arguments, *terminal_progress());
  const std::vector<std::string> commands = arguments.embeddings.empty() ? commands_after(arguments.folder, done.result, arguments.bias_out)
                                                                         : commands_after(arguments.table(), done.result);
  if (!arguments.accept.empty()) write_file_atomically(arguments.bias_out, bias_file(done, arguments.accept, *terminal_progress()));
  if (!arguments.out.empty())
    write_file_atomically(arguments.out, audit_page(done, arguments.folder.folder + arguments.embeddings, commands));
  if (arguments.json) {
    print_json(to_json(done));
  } else {
    print_lines(audit_text(done, commands));
  }
  if (arguments.fail_if) check_condition(*arguments.fail_if, audit_metrics(done.result), "audit");
  return 0;
}

}  // namespace

void add_audit_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("audit", "reports which properties of images, files or columns predict the class");
  auto arguments = std::make_shared<AuditArguments>();
  verb->add_option("folder", arguments->folder.folder, "folder of class folders, optionally split into train and test");
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
  verb->add_option("--columns", arguments->folder.columns, "columns of the CSV to audit; default: all")->delimiter(',');
  verb->add_option("--split", arguments->folder.split, "split to audit; default: train");
  verb->add_option("--seed", arguments->seed, "seed of the sample and the permutations; default: 0");
  verb->add_option("--group", arguments->folder.group,
                   "columns of the CSV that name what belongs together: bursts, patients; default: looked for")
      ->delimiter(',')
      ->option_text("COLUMN[,COLUMN]");
  verb->add_option("--expect", arguments->folder.expected.names, "a property that is legitimate: reported, but no alarm")
      ->option_text("NAME")
      ->allow_extra_args(false);
  verb->add_option("--expect-region", arguments->regions, "a part of the image where properties are legitimate, in fractions of its size")
      ->option_text("X,Y,W,H")
      ->allow_extra_args(false);
  verb->add_option("--out", arguments->out, "HTML page to write, with images that have each property and images that have not")
      ->option_text("FILE.html");
  verb->add_option("--accept", arguments->accept, "candidate whose values are written to --bias-out")->option_text("NAME");
  verb->add_option("--bias-out", arguments->bias_out,
                   "file of bias labels to write: path,label,bias; also split, if the CSV of --embeddings has it")
      ->option_text("FILE.csv")
      ->transform(with_home);
  add_fail_if(*verb, arguments->fail_if, "condition for exit code 1; metrics: shortcut, look, none")->option_text("'shortcut>0'");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias audit photos --out audit.html");
  verb->callback([arguments, &action] { action = [arguments] { return run_audit_verb(*arguments); }; });
}

}  // namespace debias
