// A sweep's runs, written as training leaves them, and the table of them.
#pragma once

#include "debias/report/tables/seed_table.h"
#include "debias/sweep/sweep_record.h"
#include "tests/report/reports.h"

namespace debias {

struct FixtureRun {
  std::string variant = {}, size = {}, seed = {};
  double accuracy = 0;
  double published = NAN;
  std::string test = "{name: glyphs, root: \"\", correlation: 0.1, split: test}";
  std::string more = {};   // lines of the recipe
  std::string batch = {};  // train.batch_size
  int64_t epochs_done = 2;
  std::string train_images = {}, test_images = {};  // their digests in data/sets.json; no file without
  std::string correlation = {};                     // in the grid, as data.train.correlation
  std::string metric = "test.acc1";                 // that is published
  std::string also_published = {};                  // further keys of it, each with a comma before it
};

inline SeedTableOptions against(const std::string& setting) {
  SeedTableOptions options;
  options.against = setting;
  return options;
}

inline SeedTableOptions at_epoch(const EpochChoice& epoch) {
  SeedTableOptions options;
  options.epoch = epoch;
  return options;
}

inline SeedTableOptions of_metrics(const std::vector<std::string>& metrics) {
  SeedTableOptions options;
  options.metrics = metrics;
  return options;
}

class SeedTables : public InFolder {
 protected:
  // A run of two epochs whose accuracy in the first is 0.1 higher.
  void add(const FixtureRun& run) {
    SweepPoint point{run.variant, {}};
    if (!run.correlation.empty()) point.grid.emplace_back("data.train.correlation", run.correlation);
    if (!run.size.empty()) point.grid.emplace_back("train.batch_size", run.size);
    if (plan_.points.empty() || plan_.points.back() != point) plan_.points.push_back(point);
    plan_.runs.push_back({point, run.seed, {}});
    const std::string folder = output() + "/" + plan_.runs.back().name();
    const std::string expected = std::isnan(run.published)
                                     ? ""
                                     : fmt::format("expected: [{{metric: {}, value: {}, spread: 0.01, source: \"Table 3\"{}}}]\n",
                                                   run.metric, run.published, run.also_published);
    write_text(folder + "/config.yaml",
               fmt::format("name: {}\nseed: {}\ndata: {{train: {{name: glyphs}}, test: {}}}\nobjective: {}\ntrain: {{epochs: 2{}}}\n{}{}",
                           run.variant.empty() ? "x" : run.variant, run.seed, run.test, run.variant,
                           run.batch.empty() ? "" : ", batch_size: " + run.batch, run.more, expected));
    if (!run.train_images.empty()) {
      write_text(folder + "/data/sets.json",
                 fmt::format(R"({{"train": {{"count": 9, "images": "{}"}}, "test": {{"count": 5, "images": "{}"}}}})", run.train_images,
                             run.test_images));
    }
    std::string lines;
    for (int64_t epoch = 1; epoch <= run.epochs_done; ++epoch) {
      const double accuracy = run.accuracy + (epoch == 1 ? 0.1 : 0);
      lines += fmt::format(R"({{"epoch":{},"train_loss":1,"valid.acc1":{},"test.acc1":{}}})", epoch, 1.0 / static_cast<double>(epoch),
                           accuracy) +
               "\n";
    }
    write_text(folder + "/metrics.jsonl", lines);
    write_text(folder + "/times.jsonl", fmt::format(R"({{"epoch":1,"seconds":{},"count":400,"counted":"images"}})"
                                                    "\n",
                                                    60 * plan_.runs.size()));
  }
  std::string output() const { return "sweep"; }
  ComparedRuns compared() {
    plan_.file = "sweep.yaml";
    plan_.output = output();
    plan_.metric = "test.acc1";
    std::filesystem::create_directories("sweep");
    if (!has_sweep_record(output())) open_sweep_record(plan_);
    return read_compared_runs({output()}, reading_program());
  }
  SeedTable table(const SeedTableOptions& options = {}) { return seed_table(compared(), options); }
  std::string refusal(const SeedTableOptions& options = {}) {
    return usage_error_of([&] { table(options); });
  }
  // Two settings of three seeds, b above a by 0.02, 0.03 and 0.04, published the other way round.
  void two_settings() {
    for (int seed = 1; seed <= 3; ++seed)
      add({.variant = "a", .size = "", .seed = std::to_string(seed), .accuracy = 0.5 + 0.1 * seed, .published = 0.9});
    for (int seed = 1; seed <= 3; ++seed) {
      add({.variant = "b", .size = "", .seed = std::to_string(seed), .accuracy = 0.51 + 0.11 * seed, .published = 0.8});
    }
  }
  // After the last epoch, by debias eval.
  // `more`: further keys of the file, each with a comma before it.
  void evaluate(size_t run, const std::string& protocol, const std::string& options, const std::string& metric, double value,
                const std::string& more = "") {
    write_text(fmt::format("{}/{}/evaluation/{}.json", output(), plan_.runs.at(run).name(), protocol),
               fmt::format(R"({{"protocol": "{}", "metrics": {{"{}": {}}}, "options": {}, "epoch": 2{}}})", protocol, metric, value,
                           options, more));
  }
  // After the last epoch; `kind` is of the file's name.
  void evaluate_sentences(const SweepRun& run, const std::string& kind, const std::string& options, double accuracy) {
    write_text(fmt::format("{}/{}/evaluation/sentences{}.json", output(), run.name(), kind),
               fmt::format(R"({{"protocol": "sentences", "metrics": {{"mr_acc": {}}}, "options": {}, "epoch": 2}})", accuracy, options));
  }

  SweepPlan plan_;
};

}  // namespace debias
