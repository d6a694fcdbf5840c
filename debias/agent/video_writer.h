// Videos as files, in the format of their extension: .gif, or .mp4 by the program ffmpeg.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "debias/image/image.h"

namespace debias {

// Writes one or more RGB frames of one size, each shown for so many hundredths of a second. The file is whole or absent; a resource error
// says why.
using VideoWriter = std::function<void(const std::vector<Image>& frames, int64_t hundredths)>;

// The writer of the video `path`. A usage error for another extension, and for .mp4 unless an ffmpeg on PATH can encode it; a resource error
// where no file can be written there.
VideoWriter video_writer(const std::string& path);

}  // namespace debias
