// Words of a sentence, by the treebank rules as NLTK's word tokenizer has them.
//
// Punctuation and brackets are separate words, runs of periods and dashes too; a period is a word if it ends the text (quotes and
// brackets may follow) and else stays with its word ("Mr."); quotation marks become `` and '' by their place; 's 'm 'd 'll 're 've n't
// and the halves of cannot, gonna and the like are split off. The rules are passes over the whole text, each over what the one before left,
// so that their order is part of the definition (NLTKWordTokenizer of nltk 3.10).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace debias {

// Words of one sentence, never an empty one; an empty list for a text of spaces.
std::vector<std::string> tokenise(std::string_view sentence);  // UTF-8
std::vector<std::string> tokenise(const std::u32string& sentence);

}  // namespace debias
