#include "debias/runs/certificate.h"

#include <algorithm>

namespace debias {

bool Certificate::all_hold() const { return std::ranges::all_of(claims, &Claim::holds); }

}  // namespace debias
