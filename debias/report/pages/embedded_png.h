// PNG files in a page.
#pragma once

#include <string>

#include "debias/report/markup.h"

namespace debias {

// The bytes of a thumbnail's file; empty where there is no such file that can be read, or it is not a PNG of at most 1 MiB.
std::string thumbnail_bytes(const std::string& path);

// <img> of them; of no bytes the words "no image".
Html thumbnail_image(const std::string& bytes, const std::string& alt);

}  // namespace debias
