#include "debias/runs/rank_certificates.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "debias/core/error.h"
#include "debias/core/safetensors.h"
#include "debias/process/stop_signals.h"
#include "debias/runs/certificate.h"
#include "debias/runs/rank_launcher.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runtime/device.h"
#include "debias/train/methods/method.h"

namespace debias {
namespace {

constexpr double kStatisticsApart = 2e-6;  // roundings of float32, some tens of them
constexpr double kStepApart = 1e-6;        // after one step, in another order of sums
constexpr double kDeviceApart = 2e-3;      // of 1 + the value: a device may add in varying order
constexpr double kDeviceStepApart = 0.05;  // of a step's length

// What makes parts of one process out of shares of ranks, whatever the recipe has: own rows for the normalisation, one way through the pairs
// (one process has no own rows of the loss), no parts of parts, and no short batch, which shares and parts divide otherwise.
std::vector<std::string> shares_as_parts() {
  return {"train.synchronise_norm=false", "train.loss_rows=all", "train.micro_batch=auto", "train.drop_last=true"};
}

bool is_running(const std::string& name) { return name.ends_with("running_mean") || name.ends_with("running_var"); }

struct StepCost {  // of a step, all ranks together
  double cpu_seconds = 0;
  std::map<std::string, double> share;         // of what is exchanged, by kind
  std::map<std::string, double> calls, bytes;  // a rank's
};

class RankCertificates {
 public:
  RankCertificates(const RankSelfTest& test, const StopSignals& signals, const CertificateObserver& observer)
      : test_(test),
        observer_(observer),
        recipe_(read_recipe(read_recipe_config(test.recipe, test.overrides))),
        device_(resolve_device(test.device)),
        signals_(signals) {
    has_parts_ = method_of(recipe_).takes_micro_batch;
  }

  Certificate run() {
    for (const int64_t W : test_.ranks) {
      equals_parts(W);
      resumes(W);
      equals_whole(W, "", "train.loss_rows=all");
      equals_whole(W, ", each with the loss of its own rows,", "train.loss_rows=own");
      measure_costs(W);
    }
    return std::move(certificate_);
  }

 private:
  // Whole shares, so that one process has parts of the same size.
  int64_t batch_of(int64_t W) const {
    const int64_t batch = recipe_.train.batch_size / W * W;
    if (batch >= 2 * W) return batch;
    throw usage_error("certify: {} ranks share batches of {} images; each needs two: lower --ranks, or raise train.batch_size", W,
                      recipe_.train.batch_size);
  }

  // Runs a trial of W ranks and returns the path of its file.
  std::string trial(const std::string& name, int64_t W, int64_t batch, int64_t parts, int64_t steps, const std::string& from = "",
                    const std::vector<std::string>& more = shares_as_parts()) const {
    const std::string out = folder_ / name;
    std::vector<std::string> words = {"certify", "trial", test_.recipe};
    words.insert(words.end(), test_.overrides.begin(), test_.overrides.end());
    words.insert(words.end(),
                 {fmt::format("train.batch_size={}", batch), "train.threads=1", "train.workers=0", "train.device=" + test_.device});
    words.insert(words.end(), more.begin(), more.end());
    if (parts > 1) words.push_back(fmt::format("train.micro_batch={}", batch / parts));
    words.insert(words.end(), {"--steps", std::to_string(steps), "--out", out});
    if (!from.empty()) words.insert(words.end(), {"--from", from});
    if (const int code = launch(W, words); code != 0) throw TrialEnded{code};
    return out;
  }

  int launch(int64_t W, const std::vector<std::string>& words) const {
    const auto stop_if_asked = [this] {
      const int signal = signals_.received;
      if (signal == 0) return;
      throw Error(ErrorKind::kInterrupted, fmt::format("certify: stopped by {}; no trial is kept", name_of_signal(signal)));
    };
    stop_if_asked();
    try {
      const int code = launch_ranks({.ranks = W, .words = words, .signals = &signals_});
      stop_if_asked();
      return code;
    } catch (const Error&) {  // a rank was ended by a signal: ours, or another
      stop_if_asked();
      throw;
    }
  }

  void claim(const std::string& text) {  // that same_ holds
    certificate_.claims.push_back({text, same_});
    observer_.on_claim(certificate_.claims.back());
  }

  void equals_parts(int64_t W) {
    if (!has_parts_) return;
    const int64_t batch = batch_of(W), steps = test_.steps;
    const std::string ranks = trial(fmt::format("ranks-{}", W), W, batch, 1, steps),
                      one = trial(fmt::format("parts-{}", W), 1, batch, W, steps);
    claim(fmt::format("{} processes = one process with micro_batch {} after {} steps, {}: {}", W, batch / W, steps, how_equal(),
                      differences(ranks, one)));
  }

  void resumes(int64_t W) {
    const int64_t half = test_.steps / 2, other = W == test_.ranks.front() ? test_.ranks.back() : test_.ranks.front();
    if (half < 1 || (has_parts_ && other == W)) return;
    const int64_t batch = recipe_.train.batch_size / (W * other) * W * other;
    if (!has_parts_ || batch < 2 * std::max(W, other)) return;
    const std::string first = trial("first-half", W, batch, 1, half), second = trial("second-half", other, batch, 1, 2 * half, first);
    const std::string one = trial("first-one", 1, batch, W, half), rest = trial("second-one", 1, batch, other, 2 * half, one);
    claim(fmt::format("{} processes for {} steps, then {} = one process with micro_batch {}, then {}, {}: {}", W, half, other, batch / W,
                      batch / other, how_equal(), differences(second, rest)));
  }

  // One step of gradient descent: adaptive optimizers make steps of full size of gradients that are rounding errors.
  void equals_whole(int64_t W, const std::string& how, const std::string& loss_rows) {
    if (!method_of(recipe_).equals_one_process) return;
    const std::vector<std::string> words = {"optimizer={name: sgd, learning_rate: 0.01, momentum: 0}", "schedule=constant",
                                            "train.synchronise_norm=true", "train.micro_batch=auto", loss_rows};
    const int64_t batch = batch_of(W);
    const std::string plain = trial("plain", 1, batch, 1, 1, "", words);
    const std::string together = trial("together", W, batch, 1, 1, "", words);
    const double apart = on_cpu() ? farthest_tensors(together, plain) : share_of_step(together, plain, words, batch);
    const double largest = on_cpu() ? kStepApart : kDeviceStepApart;
    same_ = apart <= largest;
    claim(fmt::format("{} processes{} with synchronise_norm = one process after a step, within {:.0e}{}: {:.0e} apart{}", W, how, largest,
                      on_cpu() ? "" : " of the step", apart, same_ ? "" : beside_rounding(words, batch, plain)));
  }

  double share_of_step(const std::string& together, const std::string& plain, std::vector<std::string> words, int64_t batch) const {
    words.push_back("optimizer.learning_rate=1e-12");
    return euclidean_distance(together, plain) / std::max(euclidean_distance(trial("still", 1, batch, 1, 1, "", words), plain), 1e-30);
  }

  // A network of many layers enlarges roundings, most where they carry an activation across zero. How much, one process tells that adds up
  // in another order: that of the other layout of its maps. It is for the reader; it changes no verdict.
  std::string beside_rounding(std::vector<std::string> words, int64_t batch, const std::string& plain) const {
    words.push_back(fmt::format("train.channels_last={}", !recipe_.train.channels_last));
    const std::string other = trial("other-layout", 1, batch, 1, 1, "", words);
    const double apart = on_cpu() ? farthest_tensors(other, plain) : share_of_step(other, plain, words, batch);
    return fmt::format(" (one process in the other memory layout is {:.0e} from itself)", apart);
  }

  bool on_cpu() const { return device_.is_cpu(); }
  std::string how_equal() const { return on_cpu() ? "byte for byte" : fmt::format("within {:.0e}", kDeviceApart); }

  // Differences of two trials' tensors; sets same_. Running statistics, which no step reads, are joined from the ranks' in another
  // order of roundings than one process has.
  std::string differences(const std::string& a, const std::string& b) {
    if (!on_cpu()) {
      const double apart = farthest_tensors(a, b);
      same_ = apart <= kDeviceApart;
      return fmt::format("{:.0e} apart", apart);
    }
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
        farthest = std::max(farthest, tensor_distance(here, there));
      } else if (first.empty()) {
        first = entry.name;
      }
    }
    same_ = same_ && first.empty() && farthest <= kStatisticsApart;
    if (!first.empty()) return fmt::format("'{}' differs, {} of {} tensors are equal", first, equal, in_a.tensors().size());
    return statistics == 0 ? fmt::format("{} tensors", equal)
                           : fmt::format("{} tensors; {} of running statistics within {:.0e}", equal, statistics, farthest);
  }

  StepCost cost_of(const std::string& out, int64_t W) const {
    StepCost cost;
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
  void measure_costs(int64_t W) {
    const int64_t batch = batch_of(W);
    const double one = cost_of(trial("whole", 1, batch, 1, test_.steps, "", {}), 1).cpu_seconds;
    const StepCost ranks = cost_of(trial("ranks", W, batch, 1, test_.steps, "", {}), W);
    nlohmann::ordered_json json = {{"ranks", W},
                                   {"images_a_rank", batch / W},
                                   {"cpu_seconds_one", one},
                                   {"cpu_seconds_ranks", ranks.cpu_seconds},
                                   {"ratio", one / ranks.cpu_seconds}};
    std::string text = fmt::format("{} processes, {} images each: {:.3f} s of processor time a step, one process {:.3f} s: ratio {:.3f}", W,
                                   batch / W, ranks.cpu_seconds, one, one / ranks.cpu_seconds);
    for (const auto& [kind, share] : ranks.share) {
      json[kind] = {{"share", share}, {"calls", ranks.calls.at(kind)}, {"bytes", ranks.bytes.at(kind)}};
      text += fmt::format("; {} {:.1f} % ({:.0f} exchanges, {:.0f} kB a rank)", kind, 100 * share, ranks.calls.at(kind),
                          ranks.bytes.at(kind) / 1000);
    }
    certificate_.costs.push_back(json);
    observer_.on_cost(text);
  }

  const RankSelfTest& test_;
  const CertificateObserver& observer_;
  Recipe recipe_;
  c10::Device device_;  // the type of each process's
  const StopSignals& signals_;
  TrialFolder folder_;
  bool has_parts_ = true, same_ = false;
  Certificate certificate_;
};

}  // namespace

Certificate certify_ranks(const RankSelfTest& test, const StopSignals& signals, const CertificateObserver& observer) {
  for (const int64_t W : test.ranks) {
    if (W < 2) throw usage_error("certify: --ranks {}: give numbers of 2 or more, such as 2,3,4", W);
  }
  if (test.steps < 1) throw usage_error("certify: --steps {}: give 1 or more", test.steps);
  return RankCertificates(test, signals, observer).run();
}

}  // namespace debias
