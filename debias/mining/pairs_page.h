// Found pairs as one self-contained page for marking them, without a server or external files.
//
// The page shows one pair at a time, its images side by side. Keys: s same, d different, space skip, u undo; buttons do the same. The page
// shows progress and stores answers. "Download answers" gives the CSV `a,b,answer,kind` with answers same, different and skip. The kind
// keeps leaks out of links, and all but random pairs out of the estimate of a class prior.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debias/image/image.h"
#include "debias/mining/pair_rows.h"

namespace debias {

// The images of a pair; nullopt if one cannot be shown, and the page then shows its name.
using ShowPairImage = std::function<std::optional<Image>(int64_t row, bool of_second)>;

// `title` is the heading. Names are escaped. `download` is the name of the file of answers.
std::string pairs_page(const std::vector<PairRow>& rows, const std::string& title, const std::string& download, const ShowPairImage& show);

}  // namespace debias
