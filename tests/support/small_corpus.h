// Three made-up books and their vocabulary, in a folder: neighbouring sentences share words, so that there is something to learn.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace debias {

constexpr int kSmallBooks = 3, kSmallSentences = 40;  // of a book

inline std::string small_word(int64_t number) { return "w" + std::to_string(number % 30); }

// Below `folder`: books/0.txt ... and vocab.txt.
inline void write_small_corpus(const std::string& folder) {
  std::filesystem::create_directories(folder + "/books");
  for (int64_t book = 0; book < kSmallBooks; ++book) {
    std::ofstream text(folder + "/books/" + std::to_string(book) + ".txt");
    for (int64_t i = 0; i < kSmallSentences; ++i) {
      text << "W" << (i / 2 + book * 7) % 30 << " " << small_word(i / 2 + 3) << " " << small_word(i * 5 + book);
      for (int64_t k = 0; k < i % 4; ++k) text << " " << small_word(i + k);
      text << ".\n\n";
    }
  }
  std::ofstream words(folder + "/vocab.txt");
  words << "<unk>\n.\n";
  for (int64_t k = 0; k < 30; ++k) words << small_word(k) << "\n";
}

// data.train of a recipe.
inline std::string small_corpus_section(const std::string& folder) {
  return "{name: sentences, root: " + folder + "/books, vocabulary: " + folder + "/vocab.txt, lowercase: true}";
}

}  // namespace debias
