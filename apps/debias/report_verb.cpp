#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/process/terminal.h"
#include "debias/report/compared_runs.h"
#include "debias/report/sections/run_report.h"
#include "debias/runs/compared_sweeps.h"
#include "debias/runs/recipe_lookup.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargePage = 2'000'000;  // bytes

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;
  bool text = false, json = false, verbose = false;
};

// Any other ending may be a slip, such as the name of a run or of a file in it.
void check_out(const std::string& out) {
  const std::string ending = fs::path(out).extension().string();
  if (ending != ".html" && ending != ".htm")
    throw usage_error("report: --out '{}' does not end in .html; give the page a name that does", out);
  if (fs::is_directory(out)) throw usage_error("report: --out '{}' is a folder; give the name of a file", out);
}

// Where the page goes; nowhere when only text or JSON was asked for.
std::string page_path(const ReportArguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  if (arguments.text || arguments.json) return "";
  const bool in_folder = arguments.runs.size() == 1 && !fs::is_regular_file(arguments.runs[0]);
  return in_folder ? (fs::path(arguments.runs[0]) / "report.html").string() : "report.html";
}

void write_page(const std::string& path, const std::vector<RunRecord>& runs, const std::vector<SeedTable>& tables) {
  refuse_inside_data(path, data_roots(runs));
  const std::string page = run_report_html(runs, DEBIAS_VERSION, tables);
  write_file_atomically(path, page);
  if (page.size() <= kLargePage) return;
  terminal_log()->warn(
      fmt::format("report: '{}' has {:.1f} MB; a page of fewer runs would be smaller", path, static_cast<double>(page.size()) / 1e6));
}

int run_report(ReportArguments arguments) {
  arguments.runs = with_named_recipes(arguments.runs);
  if (arguments.text && arguments.json) throw usage_error("report: --text and --json exclude each other; give one");
  const std::string path = page_path(arguments);
  if (!path.empty()) check_out(path);
  const std::vector<std::string> folders = run_folders(arguments.runs);
  if (folders.empty()) throw data_error("report: no run of '{}' has begun; debias sweep starts them", arguments.runs.front());
  const std::vector<RunRecord> runs = read_runs(folders, {DEBIAS_VERSION, metric_titles()});
  require_same_texts("report", runs);
  if (!path.empty()) write_page(path, runs, sweep_tables(arguments.runs, {DEBIAS_VERSION, metric_titles()}, *terminal_log()));
  if (arguments.json) {
    nlohmann::ordered_json out = run_report_json(runs);
    if (!path.empty()) out["page"] = path;
    print_json(out);
    return 0;
  }
  const TextStyle style = text_style(arguments.verbose);
  print_text(run_report_text(runs, style, terminal_width()), style, Tone::kNeutral);
  if (!path.empty()) print_lines(path + "\n");
  return 0;
}

}  // namespace

void add_report_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("report", "writes a page about one or several runs: verdict, numbers, curves, groups, neighbours");
  auto arguments = std::make_shared<ReportArguments>();
  verb->add_option("runs", arguments->runs, "run folders, or sweeps; runs that differ only in their seed share a column")->required();
  verb->add_option("--out", arguments->out, "HTML page to write (RUN/report.html for one run, report.html for several)")
      ->option_text("FILE.html");
  verb->add_flag("--text", arguments->text, "print the verdict on the terminal; write a page only with --out");
  add_verbose(*verb, arguments->verbose, "all of it: details, every number as a table, what is missing");
  verb->add_flag("--json", arguments->json, "print the verdict and the key numbers as one JSON object; write a page only with --out");
  verb->footer("Example: debias report runs/infonce runs/debiased --out comparison.html");
  verb->callback([arguments, &action] { action = [arguments] { return run_report(*arguments); }; });
}

}  // namespace debias
