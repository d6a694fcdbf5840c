// The images that a result's details speak of, beside it.
#pragma once

#include <map>
#include <string>

#include "debias/evaluate/protocol.h"

namespace debias {

// Writes FOLDER/<name>.png, at most 64 pixels wide and high, of each image. Earlier content is removed.
void replace_thumbnails(const std::string& folder, const std::map<std::string, ShownImage>& images);

}  // namespace debias
