#include "debias/runtime/precision.h"

#include <ATen/autocast_mode.h>

namespace debias {

Autocast::Autocast(c10::DeviceType device, Precision precision) : device_(device), before_(at::autocast::is_autocast_enabled(device)) {
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(device_, precision == Precision::kBf16);
  if (precision == Precision::kBf16) at::autocast::set_autocast_dtype(device_, at::kBFloat16);
}

Autocast::~Autocast() {
  at::autocast::set_autocast_enabled(device_, before_);
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

}  // namespace debias
