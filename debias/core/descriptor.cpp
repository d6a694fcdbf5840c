#include "debias/core/descriptor.h"

#include <unistd.h>

#include <utility>

namespace debias {

void Descriptor::shut() {
  if (value_ >= 0) close(std::exchange(value_, -1));
}

}  // namespace debias
