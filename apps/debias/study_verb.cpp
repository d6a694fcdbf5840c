#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/atomic_file.h"
#include "debias/core/cpu_share.h"
#include "debias/core/options.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/process/terminal.h"
#include "debias/report/pages/study_page.h"
#include "debias/report/sections/missing_parts.h"
#include "debias/study/embedding_study.h"
#include "debias/study/study_results.h"

namespace debias {
namespace {

using Json = nlohmann::ordered_json;

struct StudyArguments {
  StudyRun run;
  std::string out, interval = "text", embeddings, labels, command;
  BclSetting base;
  EmbeddingStudyOptions embedding;
  bool json = false;
};

struct OutputFile {
  std::string name, text;
};

// The folder of --out, opened before the work, so that one that cannot be written is found at once; whole or absent. Without --out,
// nothing.
class Output {
 public:
  explicit Output(const std::string& path) {
    if (!path.empty()) folder_.emplace(path);
  }
  void write(const Json& json, std::vector<OutputFile> files) {
    if (!folder_) return;
    files.push_back({"study.json", json.dump(2) + "\n"});
    for (const auto& file : files) write_file_atomically(folder_->building() + "/" + file.name, file.text);
    folder_->commit();
  }

 private:
  std::optional<AtomicFolder> folder_;
};

Json header(const StudyArguments& arguments) {
  return {{"command", arguments.command}, {"seed", arguments.run.seed}, {"repetitions", arguments.run.repetitions}};
}

int run_bcl(StudyArguments arguments) {
  arguments.base.population.reading = read_value<ProposalReading>(Config::scalar(arguments.interval), "study: --interval");
  verify(arguments.base);
  Output output(arguments.out);
  const BclResults results = study_bcl(arguments.base, arguments.run);
  Json json = header(arguments);
  json.update(to_json(results));
  output.write(json, {{"reference.csv", reference_csv(results)},
                      {"panels.csv", panels_csv(results)},
                      {"densities.csv", densities_csv()},
                      {"samples.csv", samples_csv(results)},
                      {"figures.html", bcl_page(json)}});
  arguments.json ? print_json(json) : print_lines(bcl_text(results));
  return 0;
}

int run_theorems(const StudyArguments& arguments) {
  Output output(arguments.out);
  const auto checks = check_theorems(arguments.run);
  Json json = header(arguments);
  json.erase("repetitions");
  json["statements"] = to_json(checks);
  output.write(json, {{"theorems.csv", theorems_csv(checks)}, {"figures.html", theorems_page(json)}});
  if (arguments.json) {
    print_json(json);
    return 0;
  }
  print_lines(theorems_text(checks));
  return 0;
}

int run_embeddings(const StudyArguments& arguments) {
  Output output(arguments.out);
  const EmbeddingStudy study =
      study_embeddings(read_labelled_embeddings(arguments.embeddings, arguments.labels), arguments.embedding, arguments.run);
  Json json = header(arguments);
  json.update(to_json(study));
  output.write(json, {{"estimators.csv", embeddings_csv(study)}, {"figures.html", estimators_page(json)}});
  arguments.json ? print_json(json) : print_lines(embeddings_text(study));
  return 0;
}

// The words that give the same figures again.
std::string spelled(const CLI::App& verb) {
  constexpr std::array<std::string_view, 4> kWithoutFigures = {"--json", "--out", "--quiet", "--threads"};
  std::string command = "debias study " + verb.get_name();
  for (const auto* option : verb.get_options()) {
    const bool left_out = std::find(kWithoutFigures.begin(), kWithoutFigures.end(), option->get_name()) != kWithoutFigures.end();
    if (option->count() == 0 || left_out) continue;
    command += fmt::format(" {} {}", option->get_name(), shell_word(option->results().front()));
  }
  return command;
}

}  // namespace

void add_study_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("study", "compares estimators with the known true value, and checks the papers' theorems");
  verb->require_subcommand(1);
  const auto part = [&](const char* name, const char* meaning, int (*run)(StudyArguments)) {
    auto* sub = verb->add_subcommand(name, meaning);
    auto arguments = std::make_shared<StudyArguments>();
    arguments->run.threads = available_cpus();
    sub->add_option("--out", arguments->out, "new folder to write: JSON, CSV and a page of figures")->option_text("DIR");
    sub->add_option("--seed", arguments->run.seed, "seed of all random numbers (1)")->option_text("S");
    sub->add_option("--threads", arguments->run.threads, "number of threads; does not change the numbers")
        ->option_text("T")
        ->check(CLI::Range(1, 4096));
    sub->add_flag("--json", arguments->json, "one JSON object on standard output");
    sub->callback([arguments, sub, run, &action] {
      arguments->command = spelled(*sub);
      action = [arguments, run] {
        const auto progress = terminal_progress();
        arguments->run.progress = progress.get();
        return run(*arguments);
      };
    });
    return std::pair(sub, arguments);
  };
  const auto number = [](CLI::App* sub, const char* flag, auto& target, const char* meaning, const char* type) {
    sub->add_option(flag, target, meaning)->option_text(type);
  };

  auto [bcl, base] = part("bcl", "recomputes figures 3, 4, 5 and 8 of Bayesian contrastive learning", run_bcl);
  Population& population = base->base.population;
  bcl->add_option("--repetitions", base->run.repetitions, "number of repetitions of every setting (20)")
      ->option_text("R")
      ->check(CLI::Range(1, 100000));
  number(bcl, "--interval", base->interval, "interval of similarities at the base setting, as in the paper's text or its code (text)",
         "text|code");
  number(bcl, "--alpha", population.alpha, "probability that a positive ranks above a true negative, [0.5, 1] (0.9)", "A");
  number(bcl, "--gamma", population.gamma, "slide gamma of the interval (0.1)", "G");
  number(bcl, "--tau-plus", population.tau_plus, "class prior, [0, 1) (0.1)", "TAU");
  number(bcl, "--temperature", population.temperature, "temperature (0.5)", "t");
  number(bcl, "--negatives", base->base.negatives, "number of negatives (64)", "N");
  number(bcl, "--positives", base->base.positives, "number of positives (10)", "K");
  number(bcl, "--anchors", base->base.anchors, "number of anchors (1000)", "M");
  number(bcl, "--beta", base->base.beta, "hardness of the forms paper and corrected (0)", "B");

  part("theorems", "computes both sides of every theorem", [](StudyArguments arguments) { return run_theorems(arguments); });

  auto [estimators, given] =
      part("estimators", "compares every estimator on your embeddings", [](StudyArguments arguments) { return run_embeddings(arguments); });
  number(estimators, "--embeddings", given->embeddings, "embeddings: float [N, D]", "NPY");
  number(estimators, "--labels", given->labels, "labels: integers [N], -1 = unknown", "NPY");
  estimators->get_option("--embeddings")->required();
  estimators->get_option("--labels")->required();
  given->run.repetitions = 10;
  estimators->add_option("--repetitions", given->run.repetitions, "number of draws for each anchor (10)")
      ->option_text("R")
      ->check(CLI::Range(1, 100000));
  number(estimators, "--temperature", given->embedding.temperature, "temperature (0.5)", "t");
  number(estimators, "--tau-plus", given->embedding.tau_plus, "class prior, [0, 1); default: computed from the labels", "TAU");
  number(estimators, "--alpha", given->embedding.alpha,
         "probability that a positive outranks a negative, [0.5, 1]; default: from the labels", "A");
  number(estimators, "--beta", given->embedding.beta, "hardness of the hard estimator (1)", "B");
  number(estimators, "--negatives", given->embedding.negatives, "number of negatives (256)", "N");
  number(estimators, "--positives", given->embedding.positives, "number of positives (1)", "K");
  number(estimators, "--anchors", given->embedding.anchors, "number of anchors (500)", "A");
  verb->footer("Example: debias study bcl --repetitions 5 --out bcl");
}

}  // namespace debias
