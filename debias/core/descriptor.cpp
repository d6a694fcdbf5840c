#include "debias/core/descriptor.h"

#include <unistd.h>

namespace debias {

void Descriptor::shut() {
  if (value_ >= 0) close(release());
}

}  // namespace debias
