#include "debias/evaluate/vocabulary_expansion.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "debias/core/error.h"
#include "debias/encoders/state.h"
#include "debias/text/vocabulary.h"

namespace debias {
namespace {

constexpr int64_t kRowsAtOnce = 4096;      // in double, of tables that may have a million
constexpr double kLeastVariation = 1e-12;  // of the largest eigenvalue of the scatter

// Vectors of a file, of words that are of use.
class KeptVectors {
 public:
  void keep(std::string_view word, const std::vector<float>& numbers) {
    const auto [place, is_new] = places_.emplace(word, places_.size());
    if (is_new) values_.resize(values_.size() + numbers.size());
    std::copy(numbers.begin(), numbers.end(), values_.begin() + static_cast<std::ptrdiff_t>(place->second * numbers.size()));
  }
  bool has(const std::string& word) const { return places_.contains(word); }

  // float [N, dimensions]
  at::Tensor rows(const std::vector<std::string>& words, size_t dimensions) const {
    at::Tensor rows = at::empty({std::ssize(words), static_cast<int64_t>(dimensions)}, at::kFloat);
    float* out = rows.mutable_data_ptr<float>();
    for (const auto& word : words) {
      const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(places_.at(word) * dimensions);
      out = std::copy(begin, begin + static_cast<std::ptrdiff_t>(dimensions), out);
    }
    return rows;
  }

 private:
  std::unordered_map<std::string, size_t> places_;
  std::vector<float> values_;
};

bool is_phrase(std::string_view word) { return word.find('_') != std::string_view::npos; }

std::vector<std::string> shared_words(const Vocabulary& vocabulary, const KeptVectors& kept) {
  std::vector<std::string> shared;
  for (const auto& word : vocabulary.words()) {
    if (word != kUnknownWord && kept.has(word)) shared.push_back(word);
  }
  return shared;
}

void require_enough(const std::string& path, size_t shared, size_t dimensions) {
  if (shared == 0) throw FileError(path, "it has not one word of the run's vocabulary; give vectors of the same language and case");
  if (shared > dimensions) return;
  throw FileError(path, fmt::format("{} of its words are in the run's vocabulary, and a map from vectors of {} numbers takes {}; give "
                                    "shorter vectors, or a file with more of the words",
                                    shared, dimensions, dimensions + 1));
}

// The file's vectors, float [S, D] and [U, D], of words that both have, which are `numbers` to the vocabulary, and of those that are new.
struct FileVectors {
  const std::string& path;
  at::Tensor numbers, shared, further;

  at::Tensor further_rows(const at::Tensor& table) const {
    const LinearMap map = fit_linear_map(shared, table.index_select(0, numbers));
    if (map.rank < shared.size(1)) {
      throw FileError(path, fmt::format("vectors of the {} words that are in the run's vocabulary vary in {} of {} directions, so that no "
                                        "one map fits best; give other vectors",
                                        shared.size(0), map.rank, shared.size(1)));
    }
    const at::Tensor rows = map(further).to(table.scalar_type());
    if (!rows.isfinite().all().item<bool>()) throw FileError(path, "a mapped vector is not finite; give vectors with smaller numbers");
    return rows;
  }
};

}  // namespace

at::Tensor LinearMap::operator()(const at::Tensor& rows) const { return at::addmm(intercept, rows.to(at::kDouble), weight); }

LinearMap fit_linear_map(const at::Tensor& from, const at::Tensor& to) {
  const int64_t S = from.size(0), D = from.size(1), E = to.size(1);
  const at::Tensor from_mean = from.mean(at::IntArrayRef{0}, false, at::kDouble), to_mean = to.mean(at::IntArrayRef{0}, false, at::kDouble);
  at::Tensor scatter = at::zeros({D, D}, at::kDouble), cross = at::zeros({D, E}, at::kDouble);
  for (int64_t begin = 0; begin < S; begin += kRowsAtOnce) {
    const int64_t end = std::min(begin + kRowsAtOnce, S);
    const at::Tensor x = from.slice(0, begin, end).to(at::kDouble) - from_mean, y = to.slice(0, begin, end).to(at::kDouble) - to_mean;
    scatter.addmm_(x.t(), x);
    cross.addmm_(x.t(), y);
  }
  const auto [values, directions] = at::linalg_eigh(scatter);
  const at::Tensor varies = values.gt(values.max() * kLeastVariation);
  const at::Tensor inverse = at::where(varies, values.reciprocal(), at::zeros_like(values));
  const at::Tensor weight = directions.mm(directions.t().mm(cross) * inverse.unsqueeze(1));
  return {weight, to_mean - from_mean.unsqueeze(0).mm(weight).squeeze(0), varies.sum().item<int64_t>()};
}

Expansion expand_vocabulary(Encoder& pair, const Vocabulary& vocabulary, const std::string& path, const WordSet& sought) {
  const at::NoGradGuard no_grad;
  const auto is_of_use = [&](std::string_view word) {
    return vocabulary.number(word) != 0 || (!is_phrase(word) && sought.find(word) != sought.end());
  };
  KeptVectors kept;
  const size_t dimensions =
      for_each_word_vector(path, is_of_use, [&](std::string_view word, const std::vector<float>& numbers) { kept.keep(word, numbers); });
  const std::vector<std::string> shared = shared_words(vocabulary, kept);
  require_enough(path, shared.size(), dimensions);
  Expansion expansion{std::ssize(shared), {}};
  for (const auto& word : sought) {
    if (kept.has(word)) expansion.words.push_back(word);
  }
  std::vector<int64_t> numbers;
  for (const auto& word : shared) numbers.push_back(vocabulary.number(word));
  const FileVectors vectors{path, at::tensor(numbers, at::kLong), kept.rows(shared, dimensions), kept.rows(expansion.words, dimensions)};
  std::vector<std::pair<at::Tensor, at::Tensor>> grown;
  for (const auto& [name, table] : named_state(pair)) {
    if (name.ends_with(".embedding")) grown.emplace_back(table, at::cat({table, vectors.further_rows(table)}));
  }
  for (const auto& [table, rows] : grown) table.set_data(rows);  // the encoder's own tensors: they grow in place
  return expansion;
}

}  // namespace debias
