// What texts that differ in every row have in common: the source in "flickr/01234567", the words of a template.
#pragma once

#include <string>
#include <vector>

namespace debias {

// Of each text the common ones among its first and last run of letters or digits, its first eight fields (between blanks and punctuation)
// and its last. A part is common if a twentieth of the texts has the same there, and at least kLeastRows; parts count if nine of ten texts
// have a common one. The words of a caption, which describe what an image shows, differ too much for that.
std::vector<std::string> common_words(const std::vector<std::string>& texts);

}  // namespace debias
