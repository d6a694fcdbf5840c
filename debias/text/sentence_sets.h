// The six sentence sets that sentence vectors are evaluated by, in their published files and encodings.
//
//   mr     rt-polarity.pos, rt-polarity.neg        a sentence a line, Windows-1252
//   cr     custrev.pos, custrev.neg                blank lines are left out, here and above, and those of other spaces (U+00A0)
//   subj   subj.subjective, subj.objective
//   mpqa   mpqa.pos, mpqa.neg
//   trec   TREC.train, TREC.test (or train_5500.label, TREC_10.label)   "COARSE:fine words of the question"
//   msrp   msr_paraphrase_train.txt, msr_paraphrase_test.txt            UTF-8, a header, five fields between tabs; quotes are characters
//
// Files are looked for in the root, and in folders of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace debias {

struct LabelledText {
  std::vector<std::string> texts;    // UTF-8
  std::vector<std::string> seconds;  // of pairs, else empty
  std::vector<int64_t> labels;
};

struct SentenceSet {
  std::string name;
  std::vector<std::string> classes;
  LabelledText train;
  std::optional<LabelledText> test;  // without one, a set is evaluated by cross-validation
  bool has_pairs() const { return !train.seconds.empty(); }
};

const std::vector<std::string>& sentence_set_names();

// nullopt where not a file of the set is there; FileErrors with the line where one is, and the other is not or they are not as above.
std::optional<SentenceSet> read_sentence_set(const std::string& name, const std::string& root);

}  // namespace debias
