// Vocabularies and tables of word vectors by the library.
#include "debias/runs/text_files.h"
#include "tests/runs/trained_run.h"

namespace debias::text_files_test {

class TextFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  VocabularyRequest request() const {
    VocabularyRequest request;
    request.corpora = {written("book.txt", "the cat sat\nthe cat ran\nthe dog\n")};
    request.out = path("words.txt");
    request.options = TextOptions{.format = TextFormat::kLines};
    return request;
  }
  TemporaryFolder folder_;
};

TEST_F(TextFiles, AVocabularyIsOrderedByFrequencyAndSaysWhatItCovers) {
  VocabularyRequest asked = request();
  asked.min_count = 2;
  const VocabularyFile made = write_vocabulary(asked, Progress::silent());
  EXPECT_EQ(file_text(asked.out), "<unk>\nthe\ncat\n");
  EXPECT_EQ(made.files, 1);
  EXPECT_EQ(made.sentences, 3);
  EXPECT_EQ(made.tokens, 8);
  EXPECT_EQ(made.distinct, 5);
  EXPECT_EQ(made.words, 3);
  EXPECT_DOUBLE_EQ(made.covered, 5.0 / 8);
}

TEST_F(TextFiles, AVocabularyWithoutAFrequentWordIsRejectedAndNotWritten) {
  VocabularyRequest asked = request();
  asked.min_count = 9;
  EXPECT_THAT(usage_error_of([&] { write_vocabulary(asked, Progress::silent()); }), HasSubstr("no word occurs 9 times"));
  EXPECT_FALSE(fs::exists(asked.out));
}

TEST_F(TextFiles, AVocabularyNeverOverwritesItsCorpus) {
  VocabularyRequest asked = request();
  asked.out = asked.corpora.front();
  EXPECT_THAT(usage_error_of([&] { write_vocabulary(asked, Progress::silent()); }), HasSubstr("book.txt"));
  EXPECT_EQ(file_text(asked.out).substr(0, 7), "the cat");
}

TEST_F(TextFiles, AWordTableHasTheVectorsOfKnownWordsAndDrawsTheOthers) {
  const WordTableRequest asked = {written("vectors.txt", "cat 1 2 3\nmouse 4 5 6\n"), written("vocabulary.txt", "<unk>\nthe\ncat\n"),
                                  path("t.npy")};
  const WordTableFile made = write_word_table(asked);
  EXPECT_EQ(made.words, 3);
  EXPECT_EQ(made.found, 1);
  EXPECT_EQ(made.dimensions, 3);
  const NpyArray table = read_npy(asked.out);
  const std::vector<float> values{table.as<float>().begin(), table.as<float>().end()};
  EXPECT_EQ(std::vector<float>(values.begin() + 6, values.end()), (std::vector<float>{1, 2, 3}));
  for (size_t i = 0; i < 6; ++i) EXPECT_LE(std::abs(values[i]), 0.1f);
}

}  // namespace debias::text_files_test
