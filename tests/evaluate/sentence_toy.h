// A small pair of encoders of sentences, books to look for neighbours in, and one sentence set (cr) whose classes have words of their own.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "debias/data/readers/sentences.h"
#include "debias/encoders/sentence_encoders.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/sentence_reader.h"
#include "debias/text/vocabulary.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"

namespace debias {

class SentenceToy {
 public:
  SentenceToy() {
    write_small_corpus(folder_.path());
    std::filesystem::create_directories(sets());
    std::ofstream good(sets() + "/custrev.pos"), bad(sets() + "/custrev.neg");
    for (int i = 0; i < 30; ++i) {
      good << "w1 w2 " << small_word(i) << "\n";
      bad << "w9 w8 " << small_word(i) << "\n";
    }
    SentencesOptions options{.root = folder_ / "books", .vocabulary = folder_ / "vocab.txt"};
    options.text.lowercase = true;
    books_ = std::make_shared<Sentences>(options);
    const Config bag = parse_yaml("{name: bag_of_words, features: 6}", "");
    const int64_t words = books_->vocabulary().size();
    reader_ = std::make_shared<SentenceReader>(SentenceReader{
        sentence_pair(read_encoder(bag).make(words, 1), read_encoder(bag).make(words, 2)), Vocabulary(books_->vocabulary().words()), true});
    input_.encoder = reader_->encoder;
    input_.sentences = sentence_input({reader_}, Progress::silent());
    input_.sentences->evaluated = {{"test", books_}};
    input_.sentences->batch_size = 10;
  }

  EvaluationInput& input() { return input_; }
  std::shared_ptr<const SentenceReader> reader() const { return reader_; }
  const std::shared_ptr<const Sentences>& books() const { return books_; }
  std::string sets() const { return folder_ / "sets"; }
  std::string task_options() const { return "{tasks: [cr], root: " + sets() + "}"; }

 private:
  TemporaryFolder folder_;
  std::shared_ptr<const Sentences> books_;
  std::shared_ptr<SentenceReader> reader_;
  EvaluationInput input_;
};

}  // namespace debias
