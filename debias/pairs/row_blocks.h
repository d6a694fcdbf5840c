// Blocks of anchors against all keys, for the sums that walk them (blocked_sums.cpp).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "debias/pairs/rows.h"

namespace debias {

class RowBlocks {
 public:
  // The rows with anchors [n, D] and keys [m, D] or undefined, both without gradient, in the place of their own.
  // A block and what is made of it take no more than the budget, one row at least.
  RowBlocks(const at::Tensor& anchors, const at::Tensor& keys, Rows rows);

  // The same, kept by a forward pass for its backward pass. Anchors and keys are its first two saved tensors.
  static void remember(torch::autograd::AutogradContext* context, const Rows& rows);
  static RowBlocks remembered(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& saved);

  struct Block {
    int64_t begin = 0, end = 0;  // anchors
    at::Tensor scores;           // [rows, m] s_aj; the visitor may write over it
  };
  void each(const std::function<void(const Block&)>& visit) const;  // of the own share
  at::Tensor completed(const at::Tensor& of_rows) const;            // [n, ...] with what the others made of their blocks

  at::Tensor equal(const Block& block) const;  // bool [rows, m]: keys of the anchor's group, itself among them
  void clear_self(const Block& block, const at::Tensor& of_block, double value) const;  // its entry of each row, where it has one
  at::Tensor excluded(const Block& block, PairSet set) const;                           // as excluded() of rows.h

  bool square() const { return rows_.square(); }
  int64_t size() const { return anchors().size(0); }
  const at::Tensor& anchors() const { return rows_.anchors; }
  const at::Tensor& keys() const { return square() ? rows_.anchors : rows_.keys; }
  double temperature() const { return rows_.temperature; }
  double largest_score() const;  // no |s_aj| is larger
  const RowShare* share() const { return rows_.share; }

 private:
  int64_t block_rows() const;
  std::vector<int64_t> bounds() const;  // of the shares: whole blocks

  Rows rows_;
};

// Gradients of anchors and keys, gathered block by block.
class BlockGradients {
 public:
  BlockGradients(const RowBlocks& blocks, bool keys_need_gradient);

  // weights [rows, m] = dL / d z_a . z_j as the anchors' scores have it.
  void add(const RowBlocks::Block& block, const at::Tensor& weights);
  // In the square case, with both roles of the rows in the weights already.
  void add_both(const RowBlocks::Block& block, const at::Tensor& weights);

  // After the last block, of several shares: what the others added. complete_both() where the blocks went to add_both().
  void complete();
  void complete_both();

  at::Tensor anchors, keys;  // keys: undefined where nothing requests them

 private:
  const RowBlocks& blocks_;
};

}  // namespace debias
