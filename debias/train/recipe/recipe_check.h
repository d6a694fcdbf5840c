// The sections of a recipe that registries read when training begins (data sets, views, encoder, head), checked before anything is opened
// or built, so that all mistakes of a recipe are reported at once.
#pragma once

#include "debias/core/config.h"
#include "debias/core/mistakes.h"

namespace debias {

// Collects, from each of these sections by itself and from `train`: names that are not known, keys that are not known, and values of the
// options of views that are not allowed. Checks that depend on the data or on other sections are left to training.
void check_sections(const Config& root, Mistakes& mistakes);

}  // namespace debias
