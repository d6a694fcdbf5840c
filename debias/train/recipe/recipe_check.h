// The sections of a recipe that registries read when training begins (data sets, views), checked before anything is opened
// or built, so that all mistakes of a recipe are reported at once.
#pragma once

#include "debias/core/config.h"
#include "debias/core/mistakes.h"

namespace debias {

// Collects mistakes in each of these sections and in `train`: unknown names, unknown keys, and invalid options of views. Training makes the
// checks that depend on the data or on other sections.
void check_sections(const Config& root, Mistakes& mistakes);

}  // namespace debias
