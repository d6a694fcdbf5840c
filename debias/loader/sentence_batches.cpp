#include "debias/loader/sentence_batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "debias/core/error.h"
#include "debias/core/philox.h"

namespace debias {

at::Tensor padded_ids(const std::vector<std::span<const int32_t>>& sentences) {
  size_t longest = 0;
  for (const auto& sentence : sentences) longest = std::max(longest, sentence.size());
  at::Tensor ids = at::full({static_cast<int64_t>(sentences.size()), static_cast<int64_t>(longest)}, -1, at::kLong);
  int64_t* row = ids.mutable_data_ptr<int64_t>();
  for (const auto& sentence : sentences) {
    if (sentence.empty()) throw data_error("a sentence without a word");
    std::copy(sentence.begin(), sentence.end(), row);
    row += longest;
  }
  return ids;
}

int64_t longest_book(const Sentences& sentences) {
  int64_t longest = 0;
  for (const auto& book : sentences.books()) longest = std::max(longest, book.end - book.first);
  return longest;
}

std::string short_books(const Sentences& sentences, int64_t shortest_batch) {
  constexpr int64_t kNamed = 3;
  const std::vector<std::string> files = sentences.files();
  int64_t books = 0, left_out = 0;
  std::string names;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& book = sentences.books()[i];
    if (book.end - book.first >= shortest_batch) continue;
    left_out += book.end - book.first;
    if (books++ < kNamed) names += (names.empty() ? "" : ", ") + files[i];
  }
  if (books == 0) return "";
  return fmt::format("{} of {} books have fewer than {} sentences, and none of their {} is read: {}{}", books, files.size(), shortest_batch,
                     left_out, names, books > kNamed ? ", ..." : "");
}

SentenceBatches::SentenceBatches(std::shared_ptr<const Sentences> sentences, const SentenceBatchOptions& options)
    : sentences_(std::move(sentences)), options_(options) {
  const int64_t B = options.batch_size;
  if (B < options.least) {
    throw usage_error("train: batch_size {}: a sentence needs its neighbours and one other in its batch; give at least {}", B,
                      options.least);
  }
  for (const auto& book : sentences_->books()) {
    for (int64_t first = book.first; first < book.end; first += B) {
      const int64_t end = std::min(first + B, book.end);
      if (end - first < shortest()) continue;
      starts_.emplace_back(first, end);
    }
  }
  if (starts_.empty()) {
    throw usage_error("train: batch_size {}: no book has {} sentences, the longest has {}; {}", B,
                      options.drop_last ? "as many" : fmt::format("the {} that a batch needs", options.least), longest_book(*sentences_),
                      options.drop_last ? "lower it, or drop_last: false" : "give longer books");
  }
}

std::vector<std::string> SentenceBatches::notes() const {
  const std::string line = short_books(*sentences_, shortest());
  if (line.empty()) return {};
  return {fmt::format("train: {}{}", line, options_.drop_last ? "; a smaller batch_size or drop_last: false reads them" : "")};
}

void SentenceBatches::start(int64_t epoch, int64_t first) {
  epoch_ = epoch;
  next_ = first;
  const int64_t batches = batches_per_epoch();
  if (options_.order == BatchOrder::kShuffled) {
    order_ = permutation(batches, {.domain = RngDomain::kOrder, .seed = options_.seed, .epoch = static_cast<uint64_t>(epoch)});
  } else {
    order_.resize(static_cast<size_t>(batches));
    std::iota(order_.begin(), order_.end(), int64_t{0});
  }
}

const Batch* SentenceBatches::next() {
  if (next_ >= static_cast<int64_t>(order_.size())) return nullptr;
  const auto [first, end] = starts_[static_cast<size_t>(order_[static_cast<size_t>(next_)])];
  const int64_t B = end - first;
  batch_ = {};
  batch_.epoch = epoch_;
  batch_.number = next_++;
  for (int64_t i = first; i < end; ++i) {
    batch_.ids.push_back(sentences_->id(i));
    batch_.indices.push_back(i);
  }
  batch_.occurrences.assign(static_cast<size_t>(B), 0);
  batch_.labels.assign(static_cast<size_t>(B), kUnknown);
  batch_.biases.assign(static_cast<size_t>(B), kUnknown);
  batch_.first_row = B * options_.rank / options_.ranks;
  std::vector<std::span<const int32_t>> rows;
  for (int64_t i = first + batch_.first_row; i < first + B * (options_.rank + 1) / options_.ranks; ++i)
    rows.push_back(sentences_->words(i));
  batch_.inputs = {{"words", padded_ids(rows).unsqueeze(0)}};
  return &batch_;
}

}  // namespace debias
