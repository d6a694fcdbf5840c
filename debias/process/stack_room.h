// A stack that is large enough for any `ulimit -s`.
#pragma once

#include <functional>

namespace debias {

// Calls `work` and returns what it returns. If this process got less than 1 MB, it runs on a stack of 8 MB, as all threads then have
// that start later, and the process exits with what it returns. A resource error if there is no room for it. `work` throws nothing. The
// program may start anew with `argv`.
int with_stack_room(char** argv, const std::function<int()>& work);

}  // namespace debias
