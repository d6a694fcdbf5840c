// Tests under every instruction set that was compiled and that this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace debias {

template <class Body>
void for_each_instruction_set(const Body& body) {
  const auto choose = [](int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
  };
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    choose(target);
    const testing::ScopedTrace trace(__FILE__, __LINE__, hwy::TargetName(target));
    body();
  }
  choose(0);
}

}  // namespace debias
