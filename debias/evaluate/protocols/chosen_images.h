// Which images of a split are looked at where looking at all would cost too much, or show too much.
#pragma once

#include <cstdint>
#include <vector>

namespace debias {

// Places of at most `count` of `images` images, ascending, drawn without replacement: the same for every protocol of a seed.
std::vector<int64_t> chosen_images(int64_t images, int64_t count, uint64_t seed);

std::vector<int64_t> at_places(const std::vector<int64_t>& values, const std::vector<int64_t>& places);

}  // namespace debias
