#include "debias/evaluate/sentence_reader.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/evaluate/neighbour_retrieval.h"
#include "debias/evaluate/vocabulary_expansion.h"
#include "debias/text/sentence_store.h"

namespace debias {

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
