// Toy tensors are faster on one thread, above all on a busy machine. Tests that mean several threads ask for them.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace {

class OneThread : public testing::Environment {
 public:
  void SetUp() override { at::set_num_threads(1); }
};

[[maybe_unused]] testing::Environment* const environment = testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace
