// Whether threads can be had, asked before a library needs them that would end the process without them, or wait for them for ever.
#pragma once

namespace debias {

// Throws a resource error unless so many threads, this one among them, can run at a time.
void require_threads(int count);

}  // namespace debias
