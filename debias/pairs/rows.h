// Anchors, and the keys that they are compared with: the input of every sum over pairs (pair_sums.h).
//
// n anchors z_a and m keys z_j with s_aj = z_a . z_j / t. If no keys are given, the keys are the anchors themselves: the square case.
// One integer of each row, its group, defines the kind of a pair: a key of the anchor's group is equal, one of another group unequal; the
// key that is the anchor itself is neither. With groups of one sample, the unequal keys are the negatives of a label-free objective; with
// groups of one class, the equal keys are the positives of a supervised one.
//
// There is one order of rows: view v of sample i is row v*B + i. Groups come in it and results go out in it.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"

namespace debias {

struct SortedBatch;

// dense:   the plain composition in libtorch, which holds matrices of pairs and is the definition.
// fused:   tiles of one triangle, never a matrix: float32 on the CPU (and bfloat16, which objectives read as float32), no keys.
// blocked: blocks of anchors against all keys, in libtorch: any device and dtype, with or without keys, O(n * block) memory.
// auto:    fused where it can be; else blocked where the pairs are many or the rows are on a device; else dense.
// An engine that is requested computes, or is a usage error with the reason.
enum class Engine { kAuto, kFused, kBlocked, kDense };

constexpr auto enum_words(Engine) { return named("auto", "fused", "blocked", "dense"); }

inline constexpr int64_t kDefaultMemoryBudget = int64_t{256} << 20;

// Which engines computed the sums of one evaluation.
class EngineRecord {
 public:
  explicit EngineRecord(Engine asked = Engine::kAuto) : asked_(asked) {}
  void note(Engine used);
  Engine engine() const;  // the one that held the most; if there was nothing to sum, the requested one, dense for auto

 private:
  Engine asked_;
  bool dense_ = false, blocked_ = false, fused_ = false;
};

// The work of sums over pairs, divided among processes that each have all rows: one walks some blocks of anchors, and gets what the others
// found of theirs.
struct RowShare {
  int64_t part = 0, parts = 1;  // this process', and how many there are
  // Both are collective. All rows [n, ...], from each part's own [bounds[part + 1] - bounds[part], ...].
  std::function<at::Tensor(const at::Tensor& own, const std::vector<int64_t>& bounds)> gather;
  std::function<at::Tensor(const at::Tensor& own)> sum;  // of the parts', in their order
};

enum class PairSet { kOthers, kUnequal, kEqual };  // all keys but the anchor itself; those of other groups; those of its own

struct Rows {
  at::Tensor anchors;             // [B, V, D] or [n, D], float32 or float64
  at::Tensor group;               // int64 [n]
  at::Tensor keys{};              // [m, D], in the dtype of the anchors, with or without gradient; undefined: the anchors themselves
  at::Tensor key_group{};         // int64 [m], with keys
  std::optional<int64_t> self{};  // with keys: key self + a is anchor a itself; none: no key is an anchor
  double temperature;             // t
  bool within_unit = false;       // no anchor or key is longer than 1; where that is not known, the blocked engine looks
  Engine engine = Engine::kAuto;
  int64_t memory_budget = kDefaultMemoryBudget;
  bool bfloat16_products = false;                 // the fused engine may round rows where it multiplies them
  const RowShare* share = nullptr;                // the blocked engine, which `auto` then is, walks this share of the blocks
  std::shared_ptr<EngineRecord> engines{};        // records which engine computed each sum
  mutable std::shared_ptr<SortedBatch> sorted{};  // made by the first fused sum, shared by the others

  bool square() const { return !keys.defined(); }
  int64_t size() const { return group.size(0); }                                 // n
  int64_t key_count() const { return square() ? group.size(0) : keys.size(0); }  // m
  at::Tensor flat() const;                                                       // the anchors [n, D], in the order of rows
  at::Tensor flat_keys() const { return square() ? flat() : keys; }
  at::Tensor groups_of_keys() const { return square() ? group : key_group; }
  std::optional<int64_t> self_key() const { return square() ? std::optional<int64_t>(0) : self; }
};

// The engine for `rows`. If the fused one is requested, keys are a usage error, and so are rows that are not float32 on the CPU.
Engine engine_of(const Rows& rows);

at::Tensor set_sizes(const Rows& rows, PairSet set);  // how many keys, [n] in the dtype of the anchors, no gradient

// bool [rows of anchors begin..end, m]: the keys that are not in the set.
at::Tensor excluded(const Rows& rows, PairSet set, int64_t begin, int64_t end);

// Groups by class: rows with one known label, or of one sample; rows of unknown label (-1) are equal to their own sample's rows alone.
at::Tensor class_groups(const at::Tensor& label, const at::Tensor& sample);

// The log of an empty sum.
inline constexpr double kLogOfNothing = -1e30;

}  // namespace debias
