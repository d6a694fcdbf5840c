#include "debias/evaluate/sentence_reader.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/encoders/sentence_encoders.h"
#include "debias/encoders/state.h"
#include "debias/loader/sentence_batches.h"
#include "debias/losses/neighbours.h"
#include "debias/results/statistics.h"
#include "debias/text/sentence_store.h"

namespace debias {
namespace {

constexpr int64_t kSentencesAtOnce = 128;

}  // namespace

std::pair<double, double> NeighbourRetrieval::interval() const { return wilson_interval({accuracy(), static_cast<double>(sentences)}); }

NeighbourRetrieval retrieve_neighbours(Encoder& pair, const std::shared_ptr<const Sentences>& sentences, int64_t batch,
                                       Progress& progress) {
  SentenceBatches batches(sentences, SentenceBatchOptions{.batch_size = batch, .order = BatchOrder::kSequential});
  const at::NoGradGuard no_grad;
  NeighbourRetrieval found;
  found.chance = 2.0 / static_cast<double>(batch);
  progress.begin("neighbours", batches.batches_per_epoch());
  batches.start(0);
  while (const Batch* one = batches.next()) {
    const at::Tensor features = pair.forward(one->input("words")[0]).unflatten(1, {2, -1});
    found.hits += nearest_is_neighbour(features.select(1, 0).mm(features.select(1, 1).t()));
    found.sentences += static_cast<int64_t>(one->ids.size());
    progress.advance(one->number + 1, "");
  }
  progress.end();
  return found;
}

at::Tensor embed_sentences(Encoder& pair, const std::vector<std::vector<int32_t>>& sentences, Progress& progress) {
  const at::NoGradGuard no_grad;
  const auto N = static_cast<int64_t>(sentences.size());
  // Sentences of one length go together, so that a long one does not hold up short ones.
  std::vector<int64_t> order(sentences.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto length = [&](int64_t i) { return sentences[static_cast<size_t>(i)].size(); };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
  at::Tensor vectors = at::empty({N, pair.feature_dim()}, at::kFloat);
  progress.begin("sentence vectors", N);
  for (int64_t begin = 0; begin < N; begin += kSentencesAtOnce) {
    const int64_t end = std::min(begin + kSentencesAtOnce, N);
    std::vector<std::span<const int32_t>> rows;
    for (int64_t i = begin; i < end; ++i) rows.emplace_back(sentences[static_cast<size_t>(order[static_cast<size_t>(i)])]);
    const std::vector<int64_t> places(order.begin() + begin, order.begin() + end);
    vectors.index_copy_(0, at::tensor(places, at::kLong), sentence_vectors(pair, padded_ids(rows)));
    progress.advance(end, "");
  }
  progress.end();
  return vectors;
}

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

std::vector<int32_t> SentenceReader::ids(const std::string& text) const {
  std::vector<int32_t> numbers;
  for (const auto& word : words_of(text, lowercase)) {
    const auto further = gained.find(word);
    numbers.push_back(further == gained.end() ? vocabulary.number(word) : further->second);
  }
  return numbers;
}

bool SentenceReader::knows(const std::string& text) const {
  return std::ranges::any_of(ids(text), [](int32_t id) { return id != 0; });
}

at::Tensor SentenceReader::embed(const std::vector<std::string>& texts, Progress& progress) const {
  std::vector<std::vector<int32_t>> sentences;
  for (const auto& text : texts) {
    sentences.push_back(ids(text));
    if (sentences.back().empty()) throw data_error("text {} has no word: {}", sentences.size(), printable(text));
  }
  return embed_sentences(*encoder, sentences, progress);
}

void SentenceReader::expand(const std::string& what, const std::string& path, const std::vector<std::string>& texts, Log& log) {
  WordSet unknown;
  for (const auto& text : texts) {
    for (auto& word : words_of(text, lowercase)) {
      if (vocabulary.number(word) == 0) unknown.insert(std::move(word));
    }
  }
  const Expansion expansion = expand_vocabulary(*encoder, vocabulary, path, unknown);
  auto number = static_cast<int32_t>(vocabulary.size());
  for (const auto& word : expansion.words) gained.emplace(word, number++);
  log.info(fmt::format("{}: words expanded from '{}': {} shared with the run's vocabulary, vectors for {} of {} unknown words of the text",
                       what, path, expansion.shared, expansion.words.size(), unknown.size()));
}

SentenceInput sentence_input(const std::vector<std::shared_ptr<const SentenceReader>>& readers, Progress& progress) {
  SentenceInput input;
  for (const auto& reader : readers) input.dimensions += reader->encoder->feature_dim();
  input.embed = [readers, &progress](const std::vector<std::string>& texts) {
    std::vector<at::Tensor> parts;
    for (const auto& reader : readers) parts.push_back(reader->embed(texts, progress));
    return at::cat(parts, 1);
  };
  input.knows = [readers](const std::string& text) {
    return std::ranges::any_of(readers, [&](const auto& reader) { return reader->knows(text); });
  };
  return input;
}

}  // namespace debias
