// The ways to correct a head on frozen features.
//
//   erm             nothing is corrected: a plain head, which all others are compared with
//   balanced        groups of class and bias label weigh alike (weighted_heads.h); also called dfr, which it is but that no row is discarded
//                   (Kirichenko et al. 2023, arXiv 2204.02937)
//   erase           class-conditional erasure of the bias (erasure.h), then a plain head
//   erase_balanced  the same, then a balanced head
//   fairkl          a projection by epsilon-SupInfoNCE and FairKL, then a balanced head (fairkl_head.h)
//   leace           concept-erasure's projection, then a plain head, for comparison (leace.h): harmful where label and bias go together
//   auto            of erm, balanced, erase and erase_balanced what cross-validation asks for (fix.h)
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/options.h"

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
