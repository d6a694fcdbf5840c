// The rows of objectives over classes: n = V*B rows, all of them anchors, in the order of the input: view v of sample i is row i*V + v.
//
// The positives P(a) of anchor a are the other rows of its class, its own other views among them; its negatives are the rows of other
// classes. A sample of unknown label (-1) has its own other views as positives and every other sample as a negative.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/losses/objective.h"
#include "debias/losses/pair_keys.h"
#include "debias/losses/pair_rows.h"

namespace debias {

struct ClassRows {
  PairKeys keys;            // of the n rows
  PairRows pairs;           // grouped by class, or by sample where the input has no labels
  at::Tensor positives;     // [n] |P(a)|, in the dtype of z
  at::Tensor negatives;     // [n]
  at::Tensor is_attracted;  // bool [n]: P(a) is not empty
  int64_t views = 1;

  at::Tensor by_view(const at::Tensor& per_row) const;  // [n] in the order of results, view-major
};

// Throws a data error unless z is [B, V, D], floating point and not empty, and the keys fit. Half precision is computed in float32.
ClassRows class_rows(const ObjectiveInput& input, double temperature, const char* objective);

// What stands for the sum of an anchor's terms, one for each positive.
enum class OverPositives { kMean, kSum };

template <>
struct EnumNames<OverPositives> {
  static constexpr std::array<std::pair<std::string_view, OverPositives>, 2> values = {
      {{"mean", OverPositives::kMean}, {"sum", OverPositives::kSum}}};
};

// log(e^{-epsilon} + e^x): max(-epsilon, x), smoothed. x itself for an infinite epsilon.
at::Tensor log_add(const at::Tensor& x, double epsilon);

// [n]: the sum over positives i and negatives j of log(e^{-epsilon} + e^{s_j - s_i}). No sum per row expresses it: n |P| N terms, computed
// in panels of at most panel_terms (8 MB in double, of which a panel holds a handful) and again in the backward pass, which cannot be
// differentiated itself (usage error).
inline constexpr int64_t kPanelTerms = int64_t{1} << 20;
at::Tensor log_add_pair_sums(const PairRows& rows, double epsilon, int64_t panel_terms = kPanelTerms);

}  // namespace debias
