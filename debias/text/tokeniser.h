// Words of a sentence, by the treebank rules as NLTK's word tokenizer has them.
//
// Punctuation and brackets are separate words, runs of periods and dashes too; a period is a word if it ends the text (quotes and
// brackets may follow) and else stays with its word ("Mr."); quotation marks become `` and '' by their place; 's 'm 'd 'll 're 've n't
// and the halves of cannot, gonna and the like are split off. The rules are passes over the whole text, each over what the one before left,
// so that their order is part of the definition (NLTKWordTokenizer of nltk 3.10).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace debias {

// Words of one sentence, never an empty one; an empty list for a text of spaces.
std::vector<std::string> tokenise(std::string_view sentence);  // UTF-8
std::vector<std::string> tokenise(const std::u32string& sentence);

// Sentences of running text: paragraphs of wrapped lines, as books come from Project Gutenberg.
//
// Lines of a paragraph (a blank line ends one) are joined. A sentence ends after . ! or ? (quotes and brackets may follow) where a space and
// then a capital, an opening quote or an opening bracket come, but not after titles (Mr. Mrs. Dr. St. Esq. and their like) or initials. Left
// out: `_` of emphasis, and paragraphs that are headings (CHAPTER n, capitals or numbers alone) or rows of signs without a letter. Capitals
// with a quotation mark or an apostrophe are a sentence.

// Sentences of one paragraph, whose spaces may be of any number and kind.
std::vector<std::string> split_sentences(std::string_view paragraph);

// Collects lines and gives sentences.
class SentenceSplitter {
 public:
  explicit SentenceSplitter(std::function<void(const std::string& sentence)> take) : take_(std::move(take)) {}

  void line(std::string_view text);
  void end();  // of a paragraph, or of the text

 private:
  std::function<void(const std::string&)> take_;
  std::string paragraph_;
};

}  // namespace debias
