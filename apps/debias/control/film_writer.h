// Films as files, in the format that a name ends in: .gif, or .mp4 by the program ffmpeg.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "debias/image/image.h"

namespace debias {

// Writes one or more RGB pictures of one size, each shown for so many hundredths of a second. The file is whole or absent; a resource error
// says why.
using FilmWriter = std::function<void(const std::vector<Image>& pictures, int64_t hundredths)>;

// The one that makes the film `path`. A usage error for another ending, and for .mp4 unless an ffmpeg on PATH can encode it; a resource error
// where no file can be written there.
FilmWriter film_writer(const std::string& path);

}  // namespace debias
