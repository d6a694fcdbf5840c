// Found pairs as one self-contained page, without a server or external files: the verdict, images whose copies have different labels, other
// copies as one row for each image, leaks by class, and the false negatives (or the random sample) for marking them.
//
// One pair is shown at a time, its images side by side. Keys: s same, d different, space skip, u undo; buttons do the same. The page shows
// progress and stores answers. "Download answers" gives the CSV `a,b,answer,kind` with answers same, different and skip; the kind keeps all
// but random pairs out of the estimate of a class prior.
//
// Images are stored as they are shown, so that a browser enlarges none: those below 96 pixels by a whole factor, others shrunk to 96 to 320
// pixels, as large as fits into kPageBytes. What does not fit at 96 is left out, and the page says how much.
#pragma once

#include <string>

#include "debias/runs/found_pairs.h"

namespace debias {

constexpr size_t kPageBytes = 2'000'000;

// `title` is the heading; names are escaped.
std::string pairs_page(const FoundPairs& found, const PairSource& source, const std::string& title);

}  // namespace debias
