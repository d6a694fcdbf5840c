// Fresh memory comes from the system a page at a time; for tens of megabytes that costs as much as a tenth of the arithmetic on them.
#pragma once

#include <cstdint>

namespace debias::kernels::cpu {

// Asks for larger pages in a piece of memory that is about to be written for the first time, if the system has them and it pays.
void ask_for_huge_pages(void* data, int64_t bytes);

}  // namespace debias::kernels::cpu
