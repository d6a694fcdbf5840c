// Sentences of running text: paragraphs of wrapped lines, as books come from Project Gutenberg.
//
// Lines of a paragraph (a blank line ends one) are joined. A sentence ends after . ! or ? (quotes and brackets may follow) where a space and
// then a capital, an opening quote or an opening bracket come, but not after titles (Mr. Mrs. Dr. St. Esq. and their like) or initials. Left
// out: `_` of emphasis, and paragraphs that are headings (CHAPTER n, capitals or numbers alone) or rows of signs without a letter. Capitals
// with a quotation mark or an apostrophe are a sentence.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace debias {

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
