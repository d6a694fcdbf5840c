// Backends of sums over pairs.
#pragma once

#include <cstdint>

#include "debias/core/enum_names.h"

namespace debias {

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

}  // namespace debias
