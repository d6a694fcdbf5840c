// Work over 0 .. count-1 in blocks, on all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace debias {

// Calls work(first, last) for [0, block), [block, 2 block), ... from several threads, in no order, and done(images) with the number
// finished so far, one call at a time. The first exception of either ends it and is thrown again.
void for_each_block(int64_t count, int64_t block, const std::function<void(int64_t first, int64_t last)>& work,
                    const std::function<void(int64_t images)>& done);

}  // namespace debias
