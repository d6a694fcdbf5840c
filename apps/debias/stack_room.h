// A stack that is large enough, whatever `ulimit -s` says.
#pragma once

#include <functional>

namespace debias {

// Calls `work` and returns what it returns: on a stack of 8 MB where this process got less than 1 MB, as are then those of all threads that
// start later. A resource error where there is no room for it. `work` throws nothing.
int with_stack_room(const std::function<int()>& work);

}  // namespace debias
