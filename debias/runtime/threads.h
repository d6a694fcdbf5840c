// Number of threads of torch.
#pragma once

#include <cstdint>
#include <optional>

namespace debias {

// From now on `asked`, or else what torch would take, but no more than the processors that this process may use. A resource error where so
// many cannot run at a time: OpenMP would end the process without them, or wait for them for ever.
void use_threads(std::optional<int64_t> asked = {});

}  // namespace debias
