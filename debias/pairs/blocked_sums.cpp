#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "debias/pairs/pair_engines.h"
#include "debias/pairs/row_blocks.h"

namespace debias {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;
using Block = RowBlocks::Block;

constexpr char kEngineName[] = "blocked";

RowBlocks blocks_of(const at::Tensor& anchors, const at::Tensor& keys, const Rows& rows) {
  return {anchors, rows.square() ? at::Tensor() : keys, rows};
}

// Keys for apply, which takes no undefined tensor.
at::Tensor keys_argument(const Rows& rows) {
  return rows.square() ? at::empty({0}, rows.anchors.options().requires_grad(false)) : rows.keys;
}

// The gradients of (anchors, keys) followed by nothing for the `others` arguments of apply. In the square case both are the anchors'.
variable_list returned(const BlockGradients& gradients, bool square, size_t others) {
  variable_list all = {gradients.anchors, square ? at::Tensor() : gradients.keys};
  all.resize(2 + others);
  return all;
}

// Of the requests with one multiplier k: sums of e^{k s - shift} with one shift for all rows where the scores allow it, else logs by row.
struct Multiple {
  double k = 1;
  std::vector<size_t> requests;
};

std::vector<Multiple> multiples(const std::vector<PairSum>& requests) {
  std::vector<Multiple> all;
  for (size_t r = 0; r < requests.size(); ++r) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Multiple& other) { return other.k == requests[r].multiplier; });
    if (found == all.end()) {
      all.push_back({requests[r].multiplier, {r}});
    } else {
      found->requests.push_back(r);
    }
  }
  return all;
}

// The shift for all rows, or none where e^{-2 shift} would leave the normal numbers of the type.
std::optional<double> common_shift(double k, double largest_score, at::ScalarType type) {
  const double shift = std::abs(k) * largest_score;
  if (2 * shift <= (type == at::kDouble ? 600 : 80)) return shift;
  return std::nullopt;
}

bool any_of(const std::vector<PairSum>& requests, PairSet set) {
  return std::any_of(requests.begin(), requests.end(), [&](const PairSum& request) { return request.set == set; });
}

class BlockedLogSums : public Function<BlockedLogSums> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& anchors, const at::Tensor& keys, const Rows& rows,
                            const std::vector<PairSum>& requests) {
    const RowBlocks blocks = blocks_of(anchors, keys, rows);
    const double largest = rows.within_unit ? 1 / rows.temperature : blocks.largest_score();
    at::Tensor sums =
        at::full({static_cast<int64_t>(requests.size()), anchors.size(0)}, kLogOfNothing, anchors.options().dtype(at::kDouble));
    const bool grouped = any_of(requests, PairSet::kUnequal) || any_of(requests, PairSet::kEqual);
    const auto all = multiples(requests);
    blocks.each([&](const Block& block) {
      const at::Tensor equal = grouped ? blocks.equal(block) : at::Tensor();
      for (const auto& multiple : all) {
        const bool last = &multiple == &all.back();
        const auto shift = common_shift(multiple.k, largest, anchors.scalar_type());
        at::Tensor x = last ? block.scores.mul_(multiple.k) : block.scores * multiple.k;
        if (shift) {
          x.sub_(*shift).exp_();
          blocks.clear_self(block, x, 0);
        }
        for (const size_t r : multiple.requests) {
          const PairSet set = requests[r].set;
          const at::Tensor found = shift ? log_of_sum(x, equal, set, *shift) : log_sum_of(blocks, block, x, set);
          sums[static_cast<int64_t>(r)].slice(0, block.begin, block.end).copy_(found);
        }
      }
    });
    sums = blocks.completed(sums.t()).t().contiguous();
    context->save_for_backward({anchors, keys, sums});
    RowBlocks::remember(context, rows);
    context->saved_data["largest"] = largest;
    std::vector<double> factors;
    std::vector<int64_t> sets, constant;
    for (const auto& request : requests) {
      constant.push_back(request.constant);
      factors.push_back(request.multiplier);
      sets.push_back(static_cast<int64_t>(request.set));
    }
    context->saved_data["multipliers"] = factors;
    context->saved_data["sets"] = sets;
    context->saved_data["constant"] = constant;
    return sums.to(anchors.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("log_sums", kEngineName);
    const auto saved = context->get_saved_variables();
    const RowBlocks blocks = RowBlocks::remembered(context, saved);
    BlockGradients gradients(blocks, saved[1].requires_grad());
    if (!grads[0].defined()) return returned(gradients, blocks.square(), 2);
    std::vector<PairSum> requests;
    const auto factors = context->saved_data["multipliers"].toDoubleVector();
    const auto sets = context->saved_data["sets"].toIntVector(), constant = context->saved_data["constant"].toIntVector();
    for (size_t r = 0; r < sets.size(); ++r) requests.push_back({static_cast<PairSet>(sets[r]), factors[r], constant[r] != 0});
    const double largest = context->saved_data["largest"].toDouble();
    const at::Tensor there = saved[2].gt(kLogOfNothing / 2), upstream = grads[0].to(at::kDouble).where(there, 0);
    std::vector<Multiple> used = multiples(requests);
    for (auto& multiple : used) std::erase_if(multiple.requests, [&](size_t r) { return requests[r].constant; });
    std::erase_if(used, [](const Multiple& multiple) { return multiple.requests.empty(); });
    blocks.each([&](const Block& block) {
      const at::Tensor equal = blocks.equal(block);
      at::Tensor weights;
      for (const auto& multiple : used) {
        const at::Tensor own = weights_of(blocks, block, equal, requests, multiple, largest, saved[2], upstream, &multiple == &used.back());
        weights = weights.defined() ? weights.add_(own) : own;
      }
      if (!weights.defined()) return;
      blocks.square() ? gradients.add_both(block, weights) : gradients.add(block, weights);
    });
    blocks.square() ? gradients.complete_both() : gradients.complete();
    return returned(gradients, blocks.square(), 2);
  }

 private:
  // From exponentials e^{k s - shift} without the anchor itself.
  static at::Tensor log_of_sum(const at::Tensor& e, const at::Tensor& equal, PairSet set, double shift) {
    const at::Tensor taken = set == PairSet::kOthers ? e : e.masked_fill(set == PairSet::kEqual ? equal.logical_not() : equal, 0);
    const at::Tensor sum = taken.sum(1).to(at::kDouble);
    return (sum.log() + shift).where(sum.ne(0), kLogOfNothing);
  }

  static at::Tensor log_sum_of(const RowBlocks& blocks, const Block& block, const at::Tensor& x, PairSet set) {
    const at::Tensor out = blocks.excluded(block, set);
    return at::logsumexp(x.masked_fill(out, kLogOfNothing), 1).to(at::kDouble).where(out.all(1).logical_not(), kLogOfNothing);
  }

  // Weight of each pair from the requests' gradients: of the anchor's row, and in the square case of the key's row too.
  static at::Tensor weights_of(const RowBlocks& blocks, const Block& block, const at::Tensor& equal, const std::vector<PairSum>& requests,
                               const Multiple& multiple, double largest, const at::Tensor& sums, const at::Tensor& upstream, bool last) {
    const double scale = multiple.k / blocks.temperature();
    const auto shift = common_shift(multiple.k, largest, block.scores.scalar_type());
    at::Tensor x = last ? block.scores.mul_(multiple.k) : block.scores * multiple.k;
    const auto by_set = [&](PairSet set, const auto& each) {
      for (const size_t r : multiple.requests) {
        if (requests[r].set == set || requests[r].set == PairSet::kOthers) each(static_cast<int64_t>(r));
      }
    };
    if (shift) {
      x.sub_(*shift).exp_();
      blocks.clear_self(block, x, 0);
      const auto factors = [&](PairSet set) {  // [n] of each row: its gradient over its sum, in units of e^{-shift}
        at::Tensor all = at::zeros({sums.size(1)}, sums.options());
        by_set(set, [&](int64_t r) { all = all + upstream[r] * (*shift - sums[r]).clamp_max(2 * *shift).exp() * scale; });
        return all.to(x.scalar_type());
      };
      const auto pairs = [&](const at::Tensor& of_row) {
        const at::Tensor own = of_row.slice(0, block.begin, block.end).unsqueeze(1);
        return blocks.square() ? own + of_row.unsqueeze(0) : own.expand_as(x);
      };
      const bool has_equal = has(requests, multiple, PairSet::kEqual), has_unequal = has(requests, multiple, PairSet::kUnequal);
      if (!has_equal && !has_unequal) return x.mul_(pairs(factors(PairSet::kOthers)));
      const at::Tensor of_unequal = pairs(factors(PairSet::kUnequal));
      if (!has_equal && !has(requests, multiple, PairSet::kOthers)) return x.mul_(of_unequal).masked_fill_(equal, 0);
      return x.mul_(at::where(equal, pairs(factors(PairSet::kEqual)), of_unequal));
    }
    at::Tensor weights = at::zeros_like(x);
    for (const size_t of : multiple.requests) {
      const auto r = static_cast<int64_t>(of);
      const at::Tensor out = blocks.excluded(block, requests[of].set), factor = (upstream[r] * scale).to(x.scalar_type());
      const at::Tensor sum = sums[r].to(x.scalar_type());
      const auto add = [&](const at::Tensor& sum_of, const at::Tensor& factor_of) {
        weights.add_((x - sum_of).exp_().mul_(factor_of).masked_fill_(out.logical_or(factor_of.eq(0)), 0));
      };
      add(sum.slice(0, block.begin, block.end).unsqueeze(1), factor.slice(0, block.begin, block.end).unsqueeze(1));
      if (blocks.square()) add(sum.unsqueeze(0), factor.unsqueeze(0));
    }
    return weights;
  }

  static bool has(const std::vector<PairSum>& requests, const Multiple& multiple, PairSet set) {
    return std::any_of(multiple.requests.begin(), multiple.requests.end(), [&](size_t r) { return requests[r].set == set; });
  }
};

class BlockedLogAddSums : public Function<BlockedLogAddSums> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& anchors, const at::Tensor& keys, const at::Tensor& c,
                            const Rows& rows, const LogAdd& term) {
    const RowBlocks blocks = blocks_of(anchors, keys, rows);
    at::Tensor sums = at::empty({anchors.size(0)}, anchors.options());
    blocks.each([&](const Block& block) {
      const at::Tensor x = argument(block, c, term), out = blocks.excluded(block, term.set);
      sums.slice(0, block.begin, block.end).copy_(log_add(x.masked_fill_(out, 0), term.epsilon).masked_fill_(out, 0).sum(1));
    });
    sums = blocks.completed(sums);
    context->save_for_backward({anchors, keys, c});
    RowBlocks::remember(context, rows);
    context->saved_data["set"] = static_cast<int64_t>(term.set);
    context->saved_data["sign"] = term.sign;
    context->saved_data["epsilon"] = term.epsilon;
    return sums;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("log_add_sums", kEngineName);
    const auto saved = context->get_saved_variables();
    const LogAdd term{static_cast<PairSet>(context->saved_data["set"].toInt()), context->saved_data["sign"].toDouble(),
                      context->saved_data["epsilon"].toDouble()};
    const RowBlocks blocks = RowBlocks::remembered(context, saved);
    BlockGradients gradients(blocks, saved[1].requires_grad());
    at::Tensor dc = at::zeros_like(saved[2]);
    if (grads[0].defined()) {
      blocks.each([&](const Block& block) {
        const at::Tensor upstream = grads[0].slice(0, block.begin, block.end);
        const at::Tensor slopes =
            argument(block, saved[2], term).add_(term.epsilon).sigmoid_().masked_fill_(blocks.excluded(block, term.set), 0);
        dc.slice(0, block.begin, block.end).copy_(slopes.sum(1) * upstream);
        gradients.add(block, slopes.mul_((upstream * (term.sign / blocks.temperature())).unsqueeze(1)));
      });
      gradients.complete();
      dc = blocks.completed(dc);
    }
    return {gradients.anchors, blocks.square() ? at::Tensor() : gradients.keys, dc, at::Tensor(), at::Tensor()};
  }

 private:
  static at::Tensor argument(const Block& block, const at::Tensor& c, const LogAdd& term) {
    return block.scores.mul_(term.sign).add_(c.slice(0, block.begin, block.end).unsqueeze(1));
  }
};

class BlockedRankedLogSums : public Function<BlockedRankedLogSums> {
 public:
  // log_weights [requests, ranks].
  static at::Tensor forward(AutogradContext* context, const at::Tensor& anchors, const at::Tensor& keys, const at::Tensor& log_weights,
                            const Rows& rows, const std::vector<double>& multipliers, const std::vector<int64_t>& constant) {
    const RowBlocks blocks = blocks_of(anchors, keys, rows);
    const at::Tensor table = by_rank(log_weights, anchors);
    at::Tensor sums = at::empty({log_weights.size(0), anchors.size(0)}, anchors.options());
    blocks.each([&](const Block& block) {
      const at::Tensor out = blocks.excluded(block, PairSet::kUnequal), rank = ranks(block.scores, out);
      for (int64_t r = 0; r < log_weights.size(0); ++r) {
        at::Tensor nothing = out;
        const at::Tensor x = argument(block, rank, table[r], multipliers[static_cast<size_t>(r)], nothing);
        sums[r]
            .slice(0, block.begin, block.end)
            .copy_(at::logsumexp(x.masked_fill(nothing, kLogOfNothing), 1).where(nothing.all(1).logical_not(), kLogOfNothing));
      }
    });
    sums = blocks.completed(sums.t()).t().contiguous();
    context->save_for_backward({anchors, keys, log_weights, sums});
    RowBlocks::remember(context, rows);
    context->saved_data["multipliers"] = multipliers;
    context->saved_data["constant"] = constant;
    return sums;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("ranked_log_sums", kEngineName);
    const auto saved = context->get_saved_variables();
    const RowBlocks blocks = RowBlocks::remembered(context, saved);
    BlockGradients gradients(blocks, saved[1].requires_grad());
    if (!grads[0].defined()) return returned(gradients, blocks.square(), 4);
    const auto multipliers = context->saved_data["multipliers"].toDoubleVector();
    const auto constant = context->saved_data["constant"].toIntVector();
    const at::Tensor table = by_rank(saved[2], saved[0]), &sums = saved[3];
    blocks.each([&](const Block& block) {
      const at::Tensor out = blocks.excluded(block, PairSet::kUnequal), rank = ranks(block.scores, out);
      at::Tensor weights = at::zeros_like(block.scores);
      for (int64_t r = 0; r < table.size(0); ++r) {
        const double k = multipliers[static_cast<size_t>(r)];
        if (constant[static_cast<size_t>(r)] != 0 || k == 0) continue;
        at::Tensor nothing = out;
        const at::Tensor x = argument(block, rank, table[r], k, nothing);
        const at::Tensor sum = sums[r].slice(0, block.begin, block.end), there = sum.gt(kLogOfNothing / 2);
        const at::Tensor factor = (grads[0][r].slice(0, block.begin, block.end) * (k / blocks.temperature())).where(there, 0);
        weights.add_((x - sum.where(there, 0).unsqueeze(1)).masked_fill_(nothing, kLogOfNothing).exp_().mul_(factor.unsqueeze(1)));
      }
      gradients.add(block, weights);
    });
    gradients.complete();
    return returned(gradients, blocks.square(), 4);
  }

 private:
  static at::Tensor by_rank(const at::Tensor& log_weights, const at::Tensor& like) {  // [requests, 1 + ranks]: rank 0 is nothing's
    return at::constant_pad_nd(log_weights, {1, 0}).to(like.device(), like.scalar_type());
  }

  // k s + log w, and `nothing` with the pairs of weight zero added to it.
  static at::Tensor argument(const Block& block, const at::Tensor& rank, const at::Tensor& log_weights, double k, at::Tensor& nothing) {
    const at::Tensor weights = log_weights.index({rank}), none = weights.isinf();
    nothing = nothing.logical_or(none);
    return (block.scores * k).add_(weights.masked_fill(none, 0));
  }
};

}  // namespace

std::vector<at::Tensor> blocked_log_sums(const Rows& rows, const std::vector<PairSum>& requests) {
  return BlockedLogSums::apply(rows.flat(), keys_argument(rows), rows, requests).unbind(0);
}

std::vector<at::Tensor> blocked_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests) {
  std::vector<at::Tensor> log_weights;
  std::vector<double> multipliers;
  std::vector<int64_t> constant;
  for (const auto& request : requests) {
    log_weights.push_back(request.log_weight.to(at::kCPU, at::kDouble));
    multipliers.push_back(request.multiplier);
    constant.push_back(request.constant);
  }
  const auto sums =
      BlockedRankedLogSums::apply(rows.flat(), keys_argument(rows), at::stack(log_weights), rows, multipliers, constant).unbind(0);
  std::vector<at::Tensor> results;
  for (size_t r = 0; r < requests.size(); ++r) results.push_back(constant[r] != 0 ? sums[r].detach() : sums[r]);
  return results;
}

at::Tensor blocked_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term) {
  return BlockedLogAddSums::apply(rows.flat(), keys_argument(rows), c, rows, term);
}

}  // namespace debias
