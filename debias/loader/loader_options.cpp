#include "debias/loader/loader_options.h"

#include "debias/core/error.h"

namespace debias {

void LoaderOptions::check() const {
  const auto at_least = [](const char* name, int64_t value, int64_t least) {
    if (value < least) throw usage_error("loader: {}: {} is out of range; give a value that is >= {}", name, value, least);
  };
  at_least("batch_size", batch_size(), 1);
  at_least("views", views(), 1);
  at_least("workers", workers(), 0);
  at_least("prefetch", prefetch(), 1);
  at_least("cache_megabytes", cache_megabytes(), 0);
  at_least("rank", rank(), 0);
  at_least("ranks", ranks(), rank() + 1);
  const auto at_most = [](const char* name, int64_t value, int64_t most) {
    if (value > most) throw usage_error("loader: {}: {} is out of range; give a value that is <= {}", name, value, most);
  };
  at_most("views", views(), UINT16_MAX);  // what a RngKey holds
  at_most("workers", workers(), 1024);
  at_most("prefetch", prefetch(), 1024);
  if (!(noise() >= 0 && noise() <= 1)) {
    throw usage_error("views: noise: {} is out of range; give a value in [0, 1]", noise());
  }
  if (links() != nullptr && views() < 2) throw usage_error("data: must_link: positive needs a second view; set views.count: 2");
  if (links() != nullptr && noise() > 0) {
    throw usage_error("data: must_link: positive and views: noise both choose the image of a second view; leave one out");
  }
  if (noise() > 0 && views() < 2) throw usage_error("views: noise needs a second view; set count: 2");
}

}  // namespace debias
