#include "debias/data/readers/sentences.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/philox.h"

namespace debias {
namespace {

constexpr const char* kWhat = "data set 'sentences'";

Vocabulary vocabulary_of(const SentencesOptions& options) {
  if (!options.vocabulary.empty()) return Vocabulary::read(options.vocabulary);
  throw usage_error("{}: no vocabulary is given; make one with debias text vocabulary, and write vocabulary: FILE", kWhat);
}

SentenceStore store_of(const SentencesOptions& options, const std::vector<TextFile>& files, const Vocabulary& vocabulary) {
  if (!options.cache.empty()) refuse_inside_data(options.cache, text_folders(options.root), "cache");
  return SentenceStore::make({files, options.text, options.max_tokens}, vocabulary, options.cache);
}

}  // namespace

std::vector<int64_t> chosen_books(const SentencesOptions& options, int64_t books) {
  const int64_t out = options.hold_out;
  if (out >= books) throw usage_error("{}: hold_out: {} of {} books; at least one must be left to train on", kWhat, out, books);
  if (options.split == BookSplit::kHeldOut && out == 0) throw usage_error("{}: split: held_out; give hold_out: N", kWhat);
  const std::vector<int64_t> order = permutation(books, {.domain = RngDomain::kData, .seed = static_cast<uint64_t>(options.seed)});
  const bool held_out = options.split == BookSplit::kHeldOut;
  std::vector<int64_t> chosen(held_out ? order.begin() : order.begin() + out, held_out ? order.begin() + out : order.end());
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

Sentences::Sentences(const SentencesOptions& options)
    : options_(options),
      vocabulary_(vocabulary_of(options)),
      files_(text_files(options.root, kWhat)),
      store_(store_of(options, files_, vocabulary_)) {
  for (const int64_t number : chosen_books(options, store_.books())) {
    const int64_t sentences = store_.end_of(number) - store_.first_of(number);
    books_.push_back({size_, size_ + sentences, number});
    size_ += sentences;
  }
  info_.name = "sentences";
  info_.split = std::string(enum_name(options.split));
  info_.channels = 0;
  info_.words = vocabulary_.size();
}

const Sentences::Book& Sentences::book_of(int64_t index) const {
  return *std::upper_bound(books_.begin(), books_.end(), index, [](int64_t value, const Book& book) { return value < book.end; });
}

int64_t Sentences::id(int64_t index) const {
  const Book& book = book_of(index);
  return store_.first_of(book.number) + index - book.first;
}

std::string Sentences::source(int64_t index) const {
  const Book& book = book_of(index);
  return fmt::format("{} sentence {}", file_of(book).name, index - book.first);
}

std::vector<std::string> Sentences::files() const {
  std::vector<std::string> names;
  for (const Book& book : books_) names.push_back(file_of(book).name);
  return names;
}

std::span<const int32_t> Sentences::words(int64_t index) const { return store_.sentence(id(index)); }

}  // namespace debias
