// Which bias labels are aligned with which class. A sample is bias-aligned if its bias label is aligned with its class, else
// bias-conflicting.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace debias {

enum class Side { kAligned, kConflicting, kNeither };

class AlignmentMap {
 public:
  AlignmentMap() = default;  // no correspondence: every sample is on neither side
  // By class number its bias labels. Samples of a class without any are on neither side, and so are those of unknown label or bias.
  // So are those of an `unseen` bias label, which training does not have.
  explicit AlignmentMap(std::vector<std::vector<int64_t>> biases_of_class, std::vector<int64_t> unseen = {})
      : biases_(std::move(biases_of_class)), unseen_(std::move(unseen)) {}
  static AlignmentMap by_label(int64_t classes);  // class c is aligned with bias label c

  bool empty() const { return biases_.empty(); }
  Side side(int64_t label, int64_t bias) const;
  const std::vector<std::vector<int64_t>>& biases_of_class() const { return biases_; }
  const std::vector<int64_t>& unseen() const { return unseen_; }

 private:
  std::vector<std::vector<int64_t>> biases_;
  std::vector<int64_t> unseen_;
};

}  // namespace debias
