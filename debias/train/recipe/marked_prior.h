// The class prior from marks: the share of pairs of one class among pairs drawn at random.
//
// Design: `debias pairs --sample 200` draws pairs uniformly, without replacement, from all pairs of the training set, and a person answers
// same or different. If x of m answers (without skipped pairs) are same, tau_plus = x / m, with Wilson's 95 % interval. A random negative
// is of its anchor's class with this probability, so that x is binomial. Skipped pairs are assumed to be like the others. A pair that is
// named twice counts once.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "debias/data/readers/pair_marks.h"

namespace debias {

// The pairs of a file of marks (pair_marks.h), each once.

// In the order of the file. A pair of one kind that is named again, in either direction, is left out; a skipped one gives way to an
// answered one. The directions of a leak are different pairs, because its names are of two splits. FileErrors of read_pair_marks, and one
// that names the lines of a pair that is marked same and different.
std::vector<MarkedPair> distinct_marks(const std::string& path);

struct MarkedPrior {
  double tau_plus = 0, low = 0, high = 1;
  int64_t same = 0, marks = 0, skipped = 0;
};

constexpr int64_t kLeastMarks = 50;

// FileErrors: those of distinct_marks; no column `answer`; a pair that is not of kind random, because answers to ranked pairs say nothing
// about the prior; fewer than kLeastMarks answers.
MarkedPrior prior_from_marks(const std::string& path);

// {"tau_plus", "low", "high", "method": "marks", "same", "marks", "skipped"}, and as a line for a person.
nlohmann::ordered_json to_json(const MarkedPrior& prior);
std::string prior_text(const MarkedPrior& prior);

}  // namespace debias
