#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/debias/arguments.h"
#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/process/terminal.h"
#include "debias/report/pages/page.h"
#include "debias/runs/found_pairs.h"
#include "debias/runs/pairs_page.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct PairsArguments {
  RunToEmbed run;
  TableArguments table;
  PairRequest request;
  int64_t threads = 0;
  std::vector<std::string> group;
  std::string leaks, out, html, groups_out, rank = "similarity";
  bool json = false, verbose = false;
};

constexpr size_t kPrintedNotes = 8, kPrintedRows = 4;  // of text of at most 15 lines

void require_ending(const std::string& path, const char* option, const std::string& ending) {
  if (path.empty() || fs::path(path).extension() == ending) return;
  throw usage_error("pairs: {} '{}': unsupported extension '{}'; use {}", option, path, fs::path(path).extension().string(), ending);
}

void check_pairs_arguments(const PairsArguments& arguments) {
  if (arguments.run.path.empty() != arguments.table.given()) throw usage_error("pairs: pass exactly one of RUN or --embeddings");
  if (arguments.request.sample && !arguments.leaks.empty())
    throw usage_error("pairs: --sample draws pairs of one split; leave --leaks out");
  require_ending(arguments.out, "--out", ".csv");
  require_ending(arguments.html, "--html", ".html");
  require_ending(arguments.groups_out, "--groups-out", ".csv");
  if (arguments.request.sample && !arguments.groups_out.empty())
    throw usage_error("pairs: --sample searches for no copies; leave --groups-out out");
}

int64_t count_of(const FoundPairs& found, PairKind kind) {
  return std::ranges::count(found.rows, kind, [](const PairRow& row) { return row.pair.kind; });
}

std::string leaks_text(const SplitLeaks& leaks) {
  std::string text = fmt::format("leaks: {} of {} rows, {} of them copies\n", leaks.leaked, leaks.rows, leaks.copies);
  for (const LeakedClass& of : leaks.classes) {
    if (of.leaked > 0) text += fmt::format("  {:<24} {:>6} of {}\n", of.name, of.leaked, of.rows);
  }
  if (leaks.accuracy && leaks.accuracy_without) {
    text += fmt::format("kNN accuracy {:.2f} %, {:.2f} % without them\n", 100 * *leaks.accuracy, 100 * *leaks.accuracy_without);
  }
  return text;
}

std::string shown_gradient(const MinedPair& pair) {
  return std::isnan(pair.gradient) ? std::string("-") : fmt::format("{:.3g}", pair.gradient);
}

std::string copies_text(const FoundPairs& found, const PairSource& source) {
  std::string text;
  for (const CopiedImage& image : found.copies) {
    text += fmt::format("{} images are one image{}: {} ({}{})\n", image.rows.size(), image.labels_conflict ? " with different labels" : "",
                        row_words(source, image.rows[0]).path, counted_labels(source, image.rows),
                        source.second ? "; " + counted_splits(source, image.rows) : "");
  }
  return text;
}

// Of each kind at most `most`.
std::string table_of_pairs(const std::vector<PairRow>& rows, size_t most) {
  std::string text = fmt::format("{:<15}{:>11}{:>15}{:>11}{:>7}  pair\n", "kind", "similarity", "false_negative", "gradient", "same");
  std::map<PairKind, size_t> printed;
  for (const PairRow& row : rows) {
    if (++printed[row.pair.kind] > most) continue;
    text +=
        fmt::format("{:<15}{:>11.4f}{:>15.4f}{:>11}{:>7}  {} | {}\n", enum_name(row.pair.kind), row.pair.cosine, row.pair.false_negative,
                    shown_gradient(row.pair), row.same_label ? (*row.same_label ? "yes" : "no") : "-", row.a, row.b);
  }
  return text;
}

// The verdict, the notes and the first false negatives, in at most 15 lines.
std::string short_text(const FoundPairs& found) {
  std::string text = found.verdict + "\n";
  for (size_t i = 0; i < std::min(kPrintedNotes, found.notes.size()); ++i) text += "note: " + found.notes[i] + "\n";
  std::vector<PairRow> shown;
  std::ranges::copy_if(found.rows, std::back_inserter(shown),
                       [](const PairRow& row) { return row.pair.kind == PairKind::kFalseNegative || row.pair.kind == PairKind::kRandom; });
  if (!shown.empty()) text += table_of_pairs(shown, kPrintedRows);
  const size_t hidden = found.notes.size() - std::min(kPrintedNotes, found.notes.size());
  return text + fmt::format("{}all with -v; as a table with --out, to mark with --html\n",
                            hidden > 0 ? fmt::format("{} more notes and ", hidden) : "");
}

std::string full_text(const FoundPairs& found, const PairSource& source) {
  std::string text = found.verdict + "\n" + copies_text(found, source);
  text += fmt::format("{} rows; temperature {:g}, tau_plus {:g}, posterior from {}\n", found.searched, found.options.temperature,
                      found.options.tau_plus, found.by_views ? "two views" : "the mixture");
  text += table_of_pairs(found.rows, found.rows.size());
  for (const auto& [name, kind] : EnumNames<PairKind>::values) {
    if (count_of(found, kind) == 0) continue;
    const auto share = same_label_share(found.rows, kind);
    text += fmt::format("{}: {} pairs{}\n", name, count_of(found, kind), share ? fmt::format(", {:.1f} % of one class", 100 * *share) : "");
  }
  if (found.leaks) text += leaks_text(*found.leaks);
  for (const auto& note : found.notes) text += "note: " + note + "\n";
  return text;
}

int run_pairs(const PairsArguments& arguments) {
  check_pairs_arguments(arguments);
  use_threads(arguments.threads > 0 ? std::optional(arguments.threads) : std::nullopt);
  const SplitPair splits = arguments.leaks.empty() ? SplitPair{} : parse_splits(arguments.leaks);
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  const PairSource source = arguments.table.given() ? pairs_of_table(arguments.table.files(), arguments.table.columns(), arguments.run.root,
                                                                     splits, arguments.group)
                                                    : pairs_of_run(arguments.run, splits, *progress, *log);
  refuse_overwriting("pairs", {arguments.out, arguments.html, arguments.groups_out}, source.inputs);
  for (const auto& path : {arguments.out, arguments.html, arguments.groups_out}) refuse_inside_data(path, source.roots);
  PairRequest request = arguments.request;
  request.rank = read_value<PairRank>(Config::scalar(arguments.rank), "pairs: --rank");
  const MiningOptions options = mining_options(request, source);
  const FoundPairs found = find_pairs(request, options, source, *progress);
  if (!arguments.out.empty()) write_file_atomically(arguments.out, pairs_csv(found.rows));
  if (!arguments.groups_out.empty()) write_file_atomically(arguments.groups_out, groups_csv(found, source));
  if (!arguments.html.empty())
    write_file_atomically(arguments.html, pairs_page(found, source, "Pairs of " + last_part(arguments.run.path + arguments.table.vectors)));
  if (!arguments.json) {
    print_text(arguments.verbose ? full_text(found, source) : short_text(found), text_style(arguments.verbose),
               found.copies.empty() ? Tone::kNeutral : Tone::kBad);
    return 0;
  }
  for (const auto& note : found.notes) log->warn(note);
  print_json(to_json(found, source));
  return 0;
}

}  // namespace

void add_pairs_verb(CLI::App& root, VerbAction& action) {
  auto* verb =
      root.add_subcommand("pairs", "finds false negatives, duplicates and images that are in two splits; writes a page to mark them");
  auto arguments = std::make_shared<PairsArguments>();
  verb->add_option("run", arguments->run.path, "a run folder or a checkpoint, whose training set is embedded first");
  auto* embeddings = verb->add_option("--embeddings", arguments->table.vectors, "vectors [n, D] of any encoder: .npy or .safetensors")
                         ->option_text("Z")
                         ->transform(with_home);
  add_table_columns(*verb, *embeddings, arguments->table);
  verb->add_option(
          "--group", arguments->group,
          "columns whose values name rows that belong together, such as patients: no false negatives, and leaks across splits (group)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("COLUMN,...")
      ->needs(embeddings);
  auto* top = verb->add_option("--top", arguments->request.top, "number of false negatives to report (500)")
                  ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
                  ->option_text("500");
  verb->add_option("--rank", arguments->rank, "order of the false negatives: similarity (default) or gradient")->option_text("NAME");
  verb->add_option("--leaks", arguments->leaks, "also search for images that are in both splits")->option_text("train:test");
  verb->add_option("--sample", arguments->request.sample, "number of random pairs to draw instead; their marks estimate tau_plus")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->excludes(top)
      ->option_text("200");
  verb->add_option("--out", arguments->out, "CSV of the pairs to write")->option_text("FILE.csv")->transform(with_home);
  verb->add_option("--groups-out", arguments->groups_out,
                   "CSV to write with a group for each image, the same for copies and rows of one --group")
      ->option_text("FILE.csv")
      ->transform(with_home);
  verb->add_option("--html", arguments->html, "HTML page to write, with thumbnails, for marking the pairs")
      ->option_text("FILE.html")
      ->transform(with_home);
  verb->add_option("--temperature", arguments->request.temperature,
                   "temperature of the loss whose gradient is computed; default: the run's, or 0.07 for --embeddings");
  verb->add_option("--tau-plus", arguments->request.tau_plus, "class prior for the posterior; default: the run's, else 0.1");
  verb->add_option("--root", arguments->run.root, "folder of the images: that of the run's data, or of the paths in the CSV")
      ->option_text("DIR")
      ->transform(with_home);
  verb->add_option("--checkpoint", arguments->run.which, "last, best or previous")
      ->check(CLI::IsMember({"last", "best", "previous"}))
      ->excludes(embeddings);
  verb->add_option("--device", arguments->run.device, "device of the run's encoder: auto, cpu or cuda")->excludes(embeddings);
  verb->add_option("--seed", arguments->request.seed, "seed of the random pairs (1)");
  verb->add_option("--threads", arguments->threads, "number of CPU threads; does not change the result")->check(CLI::Range(1, 4096));
  add_verbose(*verb, arguments->verbose, "all groups of copies and all pairs");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias pairs --embeddings Z.npy --csv C.csv --out pairs.csv --html pairs.html");
  verb->callback([arguments, &action] { action = [arguments] { return run_pairs(*arguments); }; });
}

}  // namespace debias
