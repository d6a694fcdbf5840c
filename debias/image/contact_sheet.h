// Images side by side.
#pragma once

#include <vector>

#include "debias/image/image.h"

namespace debias {

// Cells of the largest image's size on mid-grey, two pixels apart; images of one or three channels keep their size. `rows`: at least one,
// all of one length. A usage error where the sheet would have more than kLargestImage pixels.
Image contact_sheet(const std::vector<std::vector<Image>>& rows);

}  // namespace debias
