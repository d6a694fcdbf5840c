// Where images are drawn on the processor, by Mesa.
#pragma once

#include <cstdlib>

namespace debias {

// Mesa's own threads would take turns with torch's; images do not depend on them. To be called before anything is drawn.
inline void draw_in_one_thread() { setenv("LP_NUM_THREADS", "0", 0); }

}  // namespace debias
