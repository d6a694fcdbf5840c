#include "debias/fix/fix.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/fix/erasure.h"
#include "debias/fix/fairkl_head.h"

namespace debias {
namespace {

constexpr std::array<double, 5> kPenalties = {0.1, 0.01, 1e-3, 1e-4, 1e-5};
constexpr double kSignificance = 0.05;
constexpr double kAssociationP = 0.01;  // of class and bias label
constexpr int64_t kLeastRepeats = 4;    // training rows for each value of a bias column that is not numeric, on average
constexpr double kAssociated = 0.3;     // Cramer's V from which LEACE is warned of

std::string percent(double share) { return std::isnan(share) ? "-" : fmt::format("{:.1f} %", 100 * share); }

std::string described(const HeadChoice& choice) {
  return fmt::format("{} with C {:g}{}", enum_name(choice.method), choice.C,
                     choice.erases() ? fmt::format(", shrinkage by {}", enum_name(choice.shrinkage)) : "");
}

std::string described(const ScoredChoice& scored) {
  return fmt::format("{}: worst group {}, mean over groups {}, bias-conflicting {}", described(scored.choice), percent(scored.scores.worst),
                     percent(scored.scores.mean), percent(scored.scores.conflicting));
}

void require_bias(const FeatureTable& table) {
  if (!table.rows.biases.empty()) return;
  throw usage_error(
      "fix: {} has no bias column, and a correction needs one; name it with --bias, or look for the shortcut first: debias audit "
      "--embeddings {} --csv {}",
      table.rows.path, table.vectors.path(), table.rows.path);
}

// A column of almost as many values as rows is of numbers, or names rows.
void require_repeated_values(const FeatureTable& table, const std::vector<int64_t>& places) {
  for (const size_t place : table.rows.biases) {
    const TableColumn& column = table.rows.columns[place];
    if (column.numeric) continue;
    std::set<int64_t> values;
    for (const int64_t i : places) values.insert(column.values[static_cast<size_t>(i)]);
    values.erase(kUnknown);
    if (std::ssize(values) * kLeastRepeats <= std::ssize(places)) continue;
    throw usage_error("fix: bias column '{}' of {} has {} values in {} training rows; if they are numbers, add --numeric {}", column.name,
                      table.rows.path, values.size(), places.size(), column.name);
  }
}

void require_classes(const FeatureTable& table, const std::vector<int64_t>& places) {
  std::vector<int64_t> count(table.rows.classes.size());
  for (const int64_t i : places) ++count[static_cast<size_t>(table.rows.labels[static_cast<size_t>(i)])];
  if (count.size() < 2) throw data_error("fix: {} has one class, '{}'; a head needs two", table.rows.path, table.rows.classes.front());
  for (size_t y = 0; y < count.size(); ++y) {
    if (count[y] >= kLeastClassRows) continue;
    throw data_error("fix: class '{}' has {} training rows, at least {} are needed; add rows, or remove the class", table.rows.classes[y],
                     count[y], kLeastClassRows);
  }
}

// Better first: the worst group's accuracy, then the mean over groups, then the stronger penalty.
bool is_better(const ScoredChoice& a, const ScoredChoice& b) {
  if (a.scores.worst != b.scores.worst) return a.scores.worst > b.scores.worst;
  if (a.scores.mean != b.scores.mean) return a.scores.mean > b.scores.mean;
  return a.choice.C < b.choice.C;
}

// One step of kPenalties apart.
bool is_beside(double a, double b) { return a != b && std::abs(std::log10(a / b)) < 1.5; }

const ScoredChoice& best_of(const std::vector<ScoredChoice>& scored) { return *std::min_element(scored.begin(), scored.end(), is_better); }

std::vector<HeadChoice> with_each_penalty(FixMethod method, Shrinkage shrinkage = Shrinkage::kRows) {
  std::vector<HeadChoice> choices;
  for (const double C : kPenalties) choices.push_back({method, C, shrinkage});
  return choices;
}

class Correction {
 public:
  Correction(const FeatureTable& table, const FixOptions& options, Progress& progress, bool groups_asked)
      : table_(table), options_(options), progress_(progress), groups_asked_(groups_asked), places_(table.of_split(TableSplit::kTrain)) {
    require_bias(table);
    require_repeated_values(table, places_);
    require_fold_predictions();
    require_classes(table, places_);
    GroupingColumns columns = grouping_columns(table.rows, places_);
    result_.notes = std::move(columns.remarks);
    result_.bias = joint_bias(table.rows, columns.used);
    result_.groups = bias_groups(table.rows, result_.bias, places_);
  }

  FixResult run() {
    progress_.begin("fix", 4);
    load();
    progress_.advance(1, "cross-validation");
    const ScoredChoice before = choose();
    progress_.advance(3, "heads");
    fit_final(before.choice);
    remember_folds(before);
    progress_.end();
    return std::move(result_);
  }

 private:
  // The folds score neither.
  void require_fold_predictions() const {
    const bool scored = options_.method != FixMethod::kFairkl && options_.method != FixMethod::kLeace;
    if (scored || std::ssize(places_) < table_.size()) return;
    throw usage_error("fix: --method {} is evaluated on valid or test rows, and {} has none; add a column split",
                      enum_name(options_.method), table_.rows.path);
  }

  void load() {
    std::vector<int64_t> strata;
    for (const int64_t i : places_) {
      const int64_t group = result_.groups.of_row[static_cast<size_t>(i)];
      strata.push_back(group != kUnknown ? group : -1 - table_.rows.labels[static_cast<size_t>(i)]);
    }
    folds_ = fold_rows(strata, static_cast<uint64_t>(options_.seed));
    keep_units_together(strata);
    const bool all = folds_.size() == std::ssize(places_);
    fold_places_.clear();
    for (const int64_t i : folds_.places) fold_places_.push_back(places_[static_cast<size_t>(i)]);
    if (all) places_ = fold_places_;
    full_ = fit_rows(StandardRows(table_.vectors, places_), table_.rows, result_.bias, result_.groups, places_);
    if (!full_->x.varies()) {
      throw data_error("fix: all training rows of {} are equal; check the encoder and the file", table_.vectors.path());
    }
    if (!all)
      part_ = fit_rows(full_->x.selected(folds_.places), table_.rows, result_.bias, result_.groups, fold_places_, folds_.importance);
    std::vector<bool> conflicting;
    for (int64_t g = 0; g < std::ssize(result_.groups.count); ++g) conflicting.push_back(result_.groups.is_conflicting(g));
    scorer_.emplace(cross_validated().groups, conflicting, units_of(fold_places_));
    note_groups();
  }

  void keep_units_together(const std::vector<int64_t>& strata) {
    std::vector<int64_t> drawn;
    for (const int64_t i : folds_.places) drawn.push_back(places_[static_cast<size_t>(i)]);
    std::ranges::sort(drawn);
    RowUnits units = row_units(table_, places_, drawn, groups_asked_);
    result_.units = std::move(units.groups);
    std::ranges::move(units.notes, std::back_inserter(result_.notes));
    const std::vector<int32_t> own = units_of(places_);
    if (own.empty()) return;
    folds_ = folds_of_groups(folds_, strata, own, static_cast<uint64_t>(options_.seed));
  }

  // Empty where every row is a unit.
  std::vector<int32_t> units_of(const std::vector<int64_t>& places) const {
    std::vector<int32_t> units;
    if (!result_.units.joins_rows()) return units;
    for (const int64_t i : places) units.push_back(result_.units.of_row[static_cast<size_t>(i)]);
    return units;
  }

  const FitRows& cross_validated() const { return part_ ? *part_ : *full_; }

  void note_groups() {
    result_.log.push_back(fmt::format("{} training rows of {} dimensions, {} classes; {} rows in {} folds, {} of them bias-conflicting",
                                      places_.size(), table_.vectors.dimensions(), table_.rows.classes.size(), folds_.size(), kFolds,
                                      scorer_->conflicting_rows()));
    const auto unknown = std::count(full_->groups.begin(), full_->groups.end(), kUnknown);
    const int64_t more = full_->erased.eq(0).sum().item<int64_t>() - unknown;
    if (unknown > 0) {
      result_.notes.push_back(
          fmt::format("{} of {} training rows have no bias label: erasure and balanced heads leave them out", unknown, places_.size()));
    }
    if (more > 0) result_.notes.push_back(fmt::format("{} more rows have an unknown bias column: erasure leaves them out", more));
    for (size_t y = 0; y < table_.rows.classes.size(); ++y) {
      const auto begin = result_.groups.count.begin() + static_cast<std::ptrdiff_t>(y) * result_.groups.biases;
      if (std::count_if(begin, begin + result_.groups.biases, [](int64_t count) { return count > 0; }) > 1) continue;
      result_.notes.push_back(fmt::format(
          "class '{}' has one bias label in the training rows: it cannot be distinguished from the class there", table_.rows.classes[y]));
    }
    if (scorer_->conflicting_rows() == 0) {
      result_.notes.push_back("no training row contradicts the bias: nothing can be learnt against it; collect such rows");
    }
  }

  // Sets the result's choices; returns erm's scores.
  ScoredChoice choose() {
    CrossValidation folds(cross_validated(), folds_, *scorer_, std::ssize(places_));
    std::vector<HeadChoice> choices = with_each_penalty(FixMethod::kErm);
    if (options_.method != FixMethod::kErm && options_.method != FixMethod::kLeace) {
      const auto balanced = with_each_penalty(FixMethod::kBalanced);
      choices.insert(choices.end(), balanced.begin(), balanced.end());
    }
    const std::vector<ScoredChoice> heads = folds.scored(choices);
    for (const ScoredChoice& scored : heads) result_.log.push_back(described(scored));
    const auto erm_end = heads.begin() + std::ssize(kPenalties);
    const ScoredChoice erm = best_of({heads.begin(), erm_end});
    result_.before_choice = result_.choice = erm.choice;
    chosen_ = erm;
    result_.log.push_back("plain head: " + described(erm));
    if (erm_end == heads.end()) return erm;
    const ScoredChoice balanced = best_of({erm_end, heads.end()});
    decide(folds, erm, balanced);
    return erm;
  }

  // The best of each erasing method: both shrinkages at the penalty of the head without erasure, then the penalties beside it.
  std::vector<ScoredChoice> best_erasing(CrossValidation& folds, const std::vector<HeadChoice>& starts) {
    std::vector<HeadChoice> choices;
    for (const HeadChoice& start : starts) {
      for (const Shrinkage shrinkage : {Shrinkage::kRows, Shrinkage::kEffective}) choices.push_back({start.method, start.C, shrinkage});
    }
    const std::vector<ScoredChoice> at_start = folds.scored(choices);
    choices.clear();
    for (size_t s = 0; s < starts.size(); ++s) {
      const Shrinkage shrinkage = best_of({at_start[2 * s], at_start[2 * s + 1]}).choice.shrinkage;
      for (const double other : kPenalties) {
        if (is_beside(other, starts[s].C)) choices.push_back({starts[s].method, other, shrinkage});
      }
    }
    const std::vector<ScoredChoice> beside = folds.scored(choices);
    std::vector<ScoredChoice> best;
    for (size_t s = 0; s < starts.size(); ++s) {
      std::vector<ScoredChoice> own = {at_start[2 * s], at_start[2 * s + 1]};
      for (const ScoredChoice& scored : beside) {
        if (scored.choice.method == starts[s].method) own.push_back(scored);
      }
      for (const ScoredChoice& scored : own) result_.log.push_back(described(scored));
      best.push_back(best_of(own));
    }
    return best;
  }

  void decide(CrossValidation& folds, const ScoredChoice& erm, const ScoredChoice& balanced) {
    switch (options_.method) {
      case FixMethod::kBalanced:
      case FixMethod::kFairkl:
        return take(balanced, "asked for");
      case FixMethod::kErase:
      case FixMethod::kEraseBalanced: {
        const double C = options_.method == FixMethod::kErase ? erm.choice.C : balanced.choice.C;
        return take(best_erasing(folds, {{options_.method, C}}).front(), "asked for");
      }
      case FixMethod::kAuto:
        return decide_by_itself(folds, erm, balanced);
      case FixMethod::kErm:
      case FixMethod::kLeace:
        return;
    }
  }

  // Of the corrections that keep and improve the plain head: the balanced head, unless another one keeps and beats it in turn. Where the
  // balanced head is not among them, the one with the best mean over groups.
  void decide_by_itself(CrossValidation& folds, const ScoredChoice& erm, const ScoredChoice& balanced) {
    if (scorer_->conflicting_rows() == 0) return;
    if (!is_biased()) return;
    std::vector<ScoredChoice> corrections = {balanced};
    for (ScoredChoice& erasing : best_erasing(folds, {{FixMethod::kEraseBalanced, balanced.choice.C}, {FixMethod::kErase, erm.choice.C}})) {
      corrections.push_back(std::move(erasing));
    }
    const HeldOut of_folds{"the folds", *scorer_, cross_validated().labels};
    const size_t by_folds = decision(of_folds, erm, corrections);
    const size_t chosen = decision_of_valid(erm, corrections, by_folds);
    if (chosen == corrections.size()) return;
    take(corrections[chosen], chosen == by_folds ? "supported by the folds" : "supported by the valid rows");
  }

  // By the counts of as many independent rows as the training rows are worth.
  bool is_biased() {
    std::vector<double> aligned;
    std::vector<int32_t> units;
    for (const int64_t i : places_) {
      const int64_t group = result_.groups.of_row[static_cast<size_t>(i)];
      if (group == kUnknown) continue;
      aligned.push_back(result_.groups.is_conflicting(group) ? 0 : 1);
      units.push_back(result_.units.of_row[static_cast<size_t>(i)]);
    }
    const double mean = std::accumulate(aligned.begin(), aligned.end(), 0.0) / static_cast<double>(aligned.size());
    for (double& own : aligned) own -= mean;
    const double effect = design_effect(aligned, units);
    GroupCounts counts = result_.groups;
    for (int64_t& count : counts.count) count = std::llround(static_cast<double>(count) / effect);
    const double v = cramers_v(counts, /*corrected=*/true), p = independence_p(counts);
    if (v >= kAssociatedColumn && p <= kAssociationP) return true;
    const std::string note = fmt::format(
        "nothing is changed: class and bias label are independent in the training rows (Cramer's V {:.2f}, p {:.2g}); to correct "
        "all the same, choose a --method",
        v, p);
    result_.log.push_back(note);
    result_.notes.push_back(note);
    return false;
  }

  // Rows that heads were not fitted to.
  struct HeldOut {
    const char* name;
    const GroupScorer& scorer;
    const std::vector<int64_t>& labels;
  };

  // The place of the correction to take, or their number for none.
  size_t decision(const HeldOut& rows, const ScoredChoice& erm, const std::vector<ScoredChoice>& corrections) {
    const double needed = needed_p(rows, erm);
    std::vector<size_t> supported;
    for (size_t c = 1; c < corrections.size(); ++c) {
      if (is_supported(rows, corrections[c], erm, "the plain head", needed)) supported.push_back(c);
    }
    std::ranges::stable_sort(supported, std::ranges::greater(), [&](size_t c) { return corrections[c].scores.mean; });
    if (!is_supported(rows, corrections.front(), erm, "the plain head", needed)) {
      if (!supported.empty()) return supported.front();
      result_.log.push_back(fmt::format("in {} no correction is supported by the bias-conflicting rows", rows.name));
      return corrections.size();
    }
    for (const size_t c : supported) {
      if (is_supported(rows, corrections[c], corrections.front(), "the balanced head", kSignificance)) return c;
    }
    return 0;
  }

  // By the rows of the split valid, if enough of them contradict the bias; else `by_folds`.
  size_t decision_of_valid(const ScoredChoice& erm, const std::vector<ScoredChoice>& corrections, size_t by_folds) {
    const std::vector<int64_t> valid = table_.of_split(TableSplit::kValid);
    if (valid.empty()) return by_folds;
    std::vector<int64_t> labels, groups;
    for (const int64_t i : valid) {
      const int64_t group = result_.groups.of_row[static_cast<size_t>(i)];
      labels.push_back(table_.rows.labels[static_cast<size_t>(i)]);
      groups.push_back(group != kUnknown && result_.groups.has_side(group) ? group : kUnknown);
    }
    std::vector<bool> conflicting;
    for (int64_t g = 0; g < std::ssize(result_.groups.count); ++g) conflicting.push_back(result_.groups.is_conflicting(g));
    const GroupScorer scorer(groups, conflicting, units_of(valid));
    if (scorer.conflicting_rows() < kLeastValid) {
      result_.log.push_back(fmt::format("{} valid rows are bias-conflicting, too few to choose by them", scorer.conflicting_rows()));
      return by_folds;
    }
    const AffineErasure none = AffineErasure::none(full_->x.dimensions());
    std::vector<FinalChoice> heads = {{erm.choice, none}};
    for (const ScoredChoice& correction : corrections) {
      heads.push_back({correction.choice, correction.choice.erases() ? fitted_erasure(*full_, correction.choice.shrinkage) : none});
    }
    at::Tensor x = at::empty({std::ssize(valid), table_.vectors.dimensions()}, at::kFloat);
    table_.vectors.read_places(valid, x.mutable_data_ptr<float>());
    std::vector<ScoredChoice> scored;
    for (size_t h = 0; const HeadFit& fit : fit_choices(*full_, heads)) {
      const LinearHead head = unstandardised(fit.head, full_->x.scale());
      const at::Tensor predicted = at::addmm(head.bias, x.to(at::kDouble), head.weight.t()).argmax(1).contiguous();
      const auto* first = predicted.const_data_ptr<int64_t>();
      ScoredChoice own{heads[h++].choice, {}, {first, first + predicted.numel()}};
      own.scores = scorer.scores(labels, own.predictions);
      result_.log.push_back("valid rows: " + described(std::as_const(own)));
      scored.push_back(std::move(own));
    }
    const size_t chosen = decision({"the valid rows", scorer, labels}, scored.front(), {scored.begin() + 1, scored.end()});
    if (chosen == by_folds) return chosen;
    const auto name = [&](size_t c) { return c == corrections.size() ? "no correction" : enum_name(corrections[c].choice.method); };
    result_.notes.push_back(fmt::format(
        "the {} valid rows contradict the folds of the training rows: those support {}, the valid rows {}, which is taken; see fix.log",
        valid.size(), name(by_folds), name(chosen)));
    return chosen;
  }

  // The paired test's p below which a correction is taken. Where the plain head is significantly worse on bias-conflicting rows than on the
  // other rows of their classes, the bias is at work, and being right more often on them is enough.
  double needed_p(const HeldOut& rows, const ScoredChoice& erm) {
    constexpr double kMoreOften = 0.499;  // p is 0.5 where as many rows are won as lost
    const double p = rows.scorer.shortfall_p(rows.labels, erm.predictions);
    const bool falls_short = p <= kSignificance;
    result_.log.push_back(
        fmt::format("in {} the plain head is {}significantly worse on bias-conflicting rows than on others of their classes (p {:.2g})",
                    rows.name, falls_short ? "" : "not ", p));
    return falls_short ? kMoreOften : kSignificance;
  }

  bool is_supported(const HeldOut& rows, const ScoredChoice& candidate, const ScoredChoice& head, const char* name, double needed) {
    const std::string who = fmt::format("in {}, {} against {}: ", rows.name, described(candidate.choice), name);
    if (candidate.scores.mean < options_.keep * head.scores.mean) {
      result_.log.push_back(fmt::format("{}its mean over groups, {}, is below {:g} of {}", who, percent(candidate.scores.mean),
                                        options_.keep, percent(head.scores.mean)));
      return false;
    }
    const double p = rows.scorer.paired_p(rows.labels, candidate.predictions, head.predictions);
    result_.log.push_back(fmt::format("{}paired test on bias-conflicting rows p {:.2g}, {}", who, p,
                                      p <= needed ? "supported" : fmt::format("above {:g}", needed)));
    return p <= needed;
  }

  void take(const ScoredChoice& choice, const std::string& why) {
    result_.log.push_back(fmt::format("taken ({}): {}", why, described(choice)));
    chosen_ = choice;
    result_.choice = choice.choice;
  }

  void fit_final(const HeadChoice& before) {
    result_.method =
        options_.method == FixMethod::kLeace || options_.method == FixMethod::kFairkl ? options_.method : result_.choice.method;
    result_.changed = result_.method != FixMethod::kErm;
    const AffineErasure none = AffineErasure::none(full_->x.dimensions());
    std::vector<FinalChoice> heads = {{before, none}};
    std::optional<AffineErasure> leace_layer;
    if (result_.method == FixMethod::kLeace) {
      leace_layer = leace(leace_moments(full_->x, full_->z, full_->erased > 0));
      heads.push_back({before, standardised(*leace_layer, full_->x.scale())});
      warn_of_leace();
    } else if (result_.changed && result_.method != FixMethod::kFairkl) {
      heads.push_back({result_.choice, result_.choice.erases() ? fitted_erasure(*full_, result_.choice.shrinkage) : none});
    }
    const std::vector<HeadFit> fits = fit_choices(*full_, heads);
    result_.before = fitted(heads.front().erasure, fits.front());
    result_.after = fits.size() == 1 ? result_.before : fitted(heads.back().erasure, fits.back());
    if (leace_layer) result_.after.layer = *leace_layer;
    if (result_.method == FixMethod::kFairkl) fit_fairkl();
  }

  // `erasure` and the head behind it, for features as the table has them.
  FixedModel fitted(const AffineErasure& erasure, const HeadFit& fit) {
    if (!fit.converged) result_.notes.push_back(fmt::format("a head has not converged in {} iterations", fit.iterations));
    const StandardScale& scale = full_->x.scale();
    return {table_.rows.classes, unstandardised(erasure, scale), unstandardised(fit.head, scale)};
  }

  void fit_fairkl() {
    const double l2 = 1 / (result_.choice.C * static_cast<double>(places_.size()));
    const auto seed = static_cast<uint64_t>(options_.seed);
    result_.after.head = unstandardised(fit_fairkl_head(*full_, result_.groups.biases, l2, seed), full_->x.scale());
  }

  void warn_of_leace() {
    const double association = cramers_v(result_.groups);
    if (association <= kAssociated) return;
    result_.notes.push_back(fmt::format(
        "leace: label and bias are associated (Cramer's V {:.2f}), so what it erases is mostly the label; use --method auto", association));
  }

  void remember_folds(const ScoredChoice& before) { result_.folds = {fold_places_, before.predictions, chosen_->predictions}; }

  const FeatureTable& table_;
  const FixOptions& options_;
  Progress& progress_;
  bool groups_asked_;
  std::vector<int64_t> places_, fold_places_;  // of the table: training rows, and those of the folds
  FoldRows folds_;
  std::optional<FitRows> full_, part_;
  std::optional<GroupScorer> scorer_;
  std::optional<ScoredChoice> chosen_;
  FixResult result_;
};

}  // namespace

FixResult fix(const FeatureTable& table, const FixOptions& options, Progress& progress, bool groups_asked) {
  return Correction(table, options, progress, groups_asked).run();
}

}  // namespace debias
