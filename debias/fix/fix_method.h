// The ways to correct a head on frozen features.
//
//   erm             a plain head without correction, the reference of all others
//   balanced        groups of class and bias label have equal weight (weighted_heads.h); also called dfr, although no row is
//                   discarded (Kirichenko et al. 2023, arXiv 2204.02937)
//   erase           class-conditional erasure of the bias (erasure.h), then a plain head
//   erase_balanced  the same, then a balanced head
//   fairkl          a projection by epsilon-SupInfoNCE and FairKL, then a balanced head (fairkl_head.h)
//   leace           concept-erasure's projection, then a plain head, for comparison (leace.h): harmful if label and bias are correlated
//   auto            the one of erm, balanced, erase and erase_balanced that cross-validation selects (fix.h)
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/enum_names.h"

namespace debias {

enum class FixMethod { kAuto, kErm, kBalanced, kErase, kEraseBalanced, kFairkl, kLeace };
template <>
struct EnumNames<FixMethod> {
  static constexpr std::array<std::pair<std::string_view, FixMethod>, 8> values = {{{"auto", FixMethod::kAuto},
                                                                                    {"erm", FixMethod::kErm},
                                                                                    {"balanced", FixMethod::kBalanced},
                                                                                    {"dfr", FixMethod::kBalanced},
                                                                                    {"erase", FixMethod::kErase},
                                                                                    {"erase_balanced", FixMethod::kEraseBalanced},
                                                                                    {"fairkl", FixMethod::kFairkl},
                                                                                    {"leace", FixMethod::kLeace}}};
};

}  // namespace debias
