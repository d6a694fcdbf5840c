// Thumbnails of the images that the details of a result refer to.
#pragma once

#include <map>
#include <string>

#include "debias/evaluate/protocol.h"

namespace debias {

// Writes FOLDER/<name>.png for each image, at most 64 pixels wide and high. Earlier content is removed.
void replace_thumbnails(const std::string& folder, const std::map<std::string, ShownImage>& images);

}  // namespace debias
