#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "apps/debias/rank_environment.h"
#include "apps/debias/rank_launcher.h"
#include "apps/debias/rank_trial.h"
#include "apps/debias/recipe_lookup.h"
#include "apps/debias/results.h"
#include "apps/debias/stop_signals.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/safetensors.h"
#include "debias/data/dataset_registry.h"
#include "debias/train/method.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr double kStatisticsApart = 2e-6;  // roundings of float32, some tens of them

struct RanksArguments {
  std::string recipe;
  std::vector<std::string> words;
  std::vector<int64_t> ranks = {2, 3, 4};
  int64_t steps = 20;
  bool json = false;
};

struct TrialArguments {
  std::string recipe;
  std::vector<std::string> words;
  Trial trial;
};

Recipe read_words(const std::string& path, const std::vector<std::string>& words) {
  Config root = read_yaml_file(find_recipe(path));
  for (const auto& word : words) root.assign(word);
  return read_recipe(root);
}

class TrialFolder {
 public:
  TrialFolder() {
    std::string path = (fs::temp_directory_path() / "debias-certify-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw resource_error("certify: no folder can be made in '{}'", fs::temp_directory_path().string());
    path_ = path;
  }
  ~TrialFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

nlohmann::ordered_json to_json(const Traffic& traffic) {
  return {{"calls", traffic.calls}, {"bytes", traffic.bytes}, {"cpu_seconds", traffic.cpu_seconds}, {"seconds", traffic.seconds}};
}

int run_one_trial(const TrialArguments& arguments) {
  end_with_launcher();
  const Recipe recipe = read_words(arguments.recipe, arguments.words);
  const auto start = rank_start({});
  const Ranks ranks(start ? start->place : Place{}, start ? start->rendezvous : Rendezvous{});
  return tell_failures(ranks, [&] {
    const TrialCost cost = run_trial(recipe, make_dataset(recipe.train_data), ranks, arguments.trial);
    const nlohmann::ordered_json json = {{"steps", cost.steps},
                                         {"cpu_seconds", cost.cpu_seconds},
                                         {"rows", to_json(cost.rows)},
                                         {"statistics", to_json(cost.statistics)},
                                         {"sums", to_json(cost.sums)}};
    std::ofstream(fmt::format("{}.cost-{}", arguments.trial.out, ranks.rank())) << json.dump();
    return 0;
  });
}

// One claim, and whether it held.
struct Claim {
  std::string text;
  bool holds = false;
};

struct Cost {  // of a step, all ranks together
  double cpu_seconds = 0;
  std::map<std::string, double> share;         // of what is exchanged, by kind
  std::map<std::string, double> calls, bytes;  // a rank's
};

class RankCertificates {
 public:
  explicit RankCertificates(const RanksArguments& arguments)
      : arguments_(arguments), recipe_(read_words(arguments.recipe, arguments.words)), signals_(watch_stop_signals()) {
    has_parts_ = method_of(recipe_).name == "simclr";
  }

  int run() {
    for (const int64_t W : arguments_.ranks) {
      equals_parts(W);
      resumes(W);
      costs(W);
    }
    const bool all = std::all_of(claims_.begin(), claims_.end(), [](const Claim& claim) { return claim.holds; });
    if (arguments_.json) print_json({{"claims", json_}, {"costs", costs_}, {"all_hold", all}});
    return all ? 0 : 1;
  }

 private:
  // Whole shares, so that one process has parts of the same size.
  int64_t batch_of(int64_t W) const {
    const int64_t batch = recipe_.train.batch_size() / W * W;
    if (batch >= 2 * W) return batch;
    throw usage_error("certify: {} ranks share batches of {} images; each needs two: lower --ranks, or raise train.batch_size", W,
                      recipe_.train.batch_size());
  }

  // Runs a trial of W ranks and returns the path of its file.
  std::string trial(const std::string& name, int64_t W, int64_t batch, int64_t parts, int64_t steps, const std::string& from = "") const {
    const std::string out = folder_ / name;
    std::vector<std::string> words = {"certify", "trial", arguments_.recipe};
    words.insert(words.end(), arguments_.words.begin(), arguments_.words.end());
    words.insert(words.end(), {fmt::format("train.batch_size={}", batch), "train.threads=1", "train.workers=0", "train.device=cpu"});
    if (parts > 1) words.push_back(fmt::format("train.micro_batch={}", batch / parts));
    words.insert(words.end(), {"--steps", std::to_string(steps), "--out", out});
    if (!from.empty()) words.insert(words.end(), {"--from", from});
    const int code = launch_ranks({.ranks = W, .words = words, .signals = &signals_});
    if (code != 0) throw Error(ErrorKind::kFailure, fmt::format("certify: the trial of {} ranks ended with exit code {}", W, code));
    return out;
  }

  void claim(const std::string& text) {  // that same_ holds
    const bool holds = same_;
    claims_.push_back({text, holds});
    json_.push_back({{"claim", text}, {"holds", holds}});
    if (!arguments_.json) print_lines(fmt::format("{}  {}\n", holds ? "holds " : "FAILS ", text));
    std::fflush(stdout);
  }

  void equals_parts(int64_t W) {
    if (!has_parts_) return;
    const int64_t batch = batch_of(W), steps = arguments_.steps;
    const std::string ranks = trial(fmt::format("ranks-{}", W), W, batch, 1, steps),
                      one = trial(fmt::format("parts-{}", W), 1, batch, W, steps);
    claim(fmt::format("{} processes = one process with micro_batch {} after {} steps, byte for byte: {}", W, batch / W, steps,
                      differences(ranks, one)));
  }

  void resumes(int64_t W) {
    const int64_t half = arguments_.steps / 2, other = W == arguments_.ranks.front() ? arguments_.ranks.back() : arguments_.ranks.front();
    if (half < 1 || (has_parts_ && other == W)) return;
    const int64_t batch = recipe_.train.batch_size() / (W * other) * W * other;
    if (!has_parts_ || batch < 2 * std::max(W, other)) return;
    const std::string first = trial("first-half", W, batch, 1, half), second = trial("second-half", other, batch, 1, 2 * half, first);
    const std::string one = trial("first-one", 1, batch, W, half), rest = trial("second-one", 1, batch, other, 2 * half, one);
    claim(fmt::format("{} processes for {} steps, then {} = one process with micro_batch {}, then {}, byte for byte: {}", W, half, other,
                      batch / W, batch / other, differences(second, rest)));
  }

  // What of two trials' tensors is not the same; sets same_. Running statistics, which no step reads, are joined from the ranks' in another
  // order of roundings than one process has.
  std::string differences(const std::string& a, const std::string& b) {
    const auto in_a = SafetensorsFile::open(a), in_b = SafetensorsFile::open(b);
    same_ = in_a.tensors().size() == in_b.tensors().size();
    size_t equal = 0, statistics = 0;
    double farthest = 0;
    std::string first;
    for (const auto& entry : in_a.tensors()) {
      const TensorEntry* other = in_b.find(entry.name);
      const std::string there = other == nullptr ? "" : bytes_of(in_b, *other), here = bytes_of(in_a, entry);
      if (here == there) {
        ++equal;
      } else if (is_running(entry.name) && here.size() == there.size()) {
        ++statistics;
        farthest = std::max(farthest, distance(here, there));
      } else if (first.empty()) {
        first = entry.name;
      }
    }
    same_ = same_ && first.empty() && farthest <= kStatisticsApart;
    if (!first.empty()) return fmt::format("'{}' differs, {} of {} tensors are equal", first, equal, in_a.tensors().size());
    return statistics == 0 ? fmt::format("{} tensors", equal)
                           : fmt::format("{} tensors; {} of running statistics within {:.0e}", equal, statistics, farthest);
  }

  static bool is_running(const std::string& name) { return name.ends_with("running_mean") || name.ends_with("running_var"); }

  // The largest |x - y| / (1 + |x|) of two tensors of float32.
  static double distance(const std::string& a, const std::string& b) {
    double farthest = 0;
    for (size_t at = 0; at + sizeof(float) <= a.size(); at += sizeof(float)) {
      float x = 0, y = 0;
      std::memcpy(&x, a.data() + at, sizeof x);
      std::memcpy(&y, b.data() + at, sizeof y);
      farthest = std::max(farthest, std::abs(static_cast<double>(x) - y) / (1 + std::abs(x)));
    }
    return farthest;
  }

  static std::string bytes_of(const SafetensorsFile& file, const TensorEntry& entry) {
    std::string bytes(entry.end - entry.begin, 0);
    file.read(entry, bytes.data());
    return bytes;
  }

  Cost cost_of(const std::string& out, int64_t W) const {
    Cost cost;
    for (int64_t rank = 0; rank < W; ++rank) {
      const auto json = nlohmann::json::parse(std::ifstream(fmt::format("{}.cost-{}", out, rank)));
      const double steps = std::max(1.0, json.at("steps").get<double>());
      cost.cpu_seconds += json.at("cpu_seconds").get<double>() / steps;
      for (const char* kind : {"rows", "statistics", "sums"}) {
        cost.share[kind] += json.at(kind).at("cpu_seconds").get<double>() / steps;
        cost.calls[kind] = json.at(kind).at("calls").get<double>() / steps;
        cost.bytes[kind] = json.at(kind).at("bytes").get<double>() / steps;
      }
    }
    for (auto& [kind, share] : cost.share) share /= cost.cpu_seconds;
    return cost;
  }

  // Processor time of the same steps in one process and in several. No claim: a busy machine spoils it.
  void costs(int64_t W) {
    const int64_t batch = batch_of(W);
    const double one = cost_of(trial("whole", 1, batch, 1, arguments_.steps), 1).cpu_seconds;
    const Cost ranks = cost_of(trial("ranks", W, batch, 1, arguments_.steps), W);
    nlohmann::ordered_json json = {{"ranks", W},
                                   {"images_a_rank", batch / W},
                                   {"cpu_seconds_one", one},
                                   {"cpu_seconds_ranks", ranks.cpu_seconds},
                                   {"ratio", one / ranks.cpu_seconds}};
    std::string text =
        fmt::format("costs   {} processes, {} images each: {:.3f} s of processor time a step, one process {:.3f} s: ratio {:.3f}", W,
                    batch / W, ranks.cpu_seconds, one, one / ranks.cpu_seconds);
    for (const auto& [kind, share] : ranks.share) {
      json[kind] = {{"share", share}, {"calls", ranks.calls.at(kind)}, {"bytes", ranks.bytes.at(kind)}};
      text += fmt::format("; {} {:.1f} % ({:.0f} exchanges, {:.0f} kB a rank)", kind, 100 * share, ranks.calls.at(kind),
                          ranks.bytes.at(kind) / 1000);
    }
    costs_.push_back(json);
    if (!arguments_.json) print_lines(text + "\n");
    std::fflush(stdout);
  }

  const RanksArguments& arguments_;
  Recipe recipe_;
  StopSignals& signals_;
  TrialFolder folder_;
  bool has_parts_ = true, same_ = false;
  std::vector<Claim> claims_;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::array(), costs_ = nlohmann::ordered_json::array();
};

int certify_ranks(const RanksArguments& arguments) {
  for (const int64_t W : arguments.ranks) {
    if (W < 2) throw usage_error("certify: --ranks {}: give numbers of 2 or more, such as 2,3,4", W);
  }
  if (arguments.steps < 1) throw usage_error("certify: --steps {}: give 1 or more", arguments.steps);
  return RankCertificates(arguments).run();
}

}  // namespace

void add_certify_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("certify", "checks on this machine what the documentation claims");
  verb->require_subcommand(1);
  auto* ranks =
      verb->add_subcommand("ranks", "trainings of several processes against those of one: a line a claim, exit 1 where one fails");
  auto asked = std::make_shared<RanksArguments>();
  ranks->add_option("recipe", asked->recipe, "a YAML file, or the name of a recipe (debias list recipes)")->required();
  ranks->add_option("words", asked->words, "key.sub=value: overrides of the recipe");
  ranks->add_option("--ranks", asked->ranks, "numbers of processes, such as 2,3,4")->delimiter(',')->allow_extra_args(false);
  ranks->add_option("--steps", asked->steps, "steps of each trial");
  ranks->add_flag("--json", asked->json, "one JSON object on standard output");
  ranks->callback([asked, &action] { action = [asked] { return certify_ranks(*asked); }; });
  auto* trial = verb->add_subcommand("trial", "")->group("");  // what the processes of `ranks` run
  auto given = std::make_shared<TrialArguments>();
  trial->add_option("recipe", given->recipe)->required();
  trial->add_option("words", given->words);
  trial->add_option("--steps", given->trial.steps);
  trial->add_option("--from", given->trial.from);
  trial->add_option("--out", given->trial.out)->required();
  trial->callback([given, &action] { action = [given] { return run_one_trial(*given); }; });
  verb->footer("Example: debias certify ranks mini/cross_entropy train.batch_size=64 --ranks 2,4");
}

}  // namespace debias
