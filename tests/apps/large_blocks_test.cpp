// Training keeps the memory of its tensors from step to step (debias/process/startup.h).
#include <sys/resource.h>

#include "tests/apps/command.h"

namespace debias::large_blocks_test {

long faults_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_minflt;
}

class LargeBlocks : public InFolder {
 protected:
  LargeBlocks() { std::ofstream("recipe.yaml") << kSmallRecipe; }

  // Pages that the system had to give to a training of six steps of 64 images an epoch, some 20 MB of tensors each.
  long pages_given(int epochs) const {
    const std::string number = std::to_string(epochs);
    const long before = faults_of_children();
    done({"train", "recipe.yaml", "output=run-" + number, "train.epochs=" + number, "train.batch_size=64", "data.train.train_count=384",
          "train.workers=0"});
    return faults_of_children() - before;
  }
};

TEST_F(LargeBlocks, AreNotAskedForAgainInEveryStep) {
  const long one = pages_given(1), four = pages_given(4);
  EXPECT_LT((four - one) / 18, 300) << one << " pages for an epoch, " << four << " for four";
}

}  // namespace debias::large_blocks_test
