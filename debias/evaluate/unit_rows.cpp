#include "debias/evaluate/unit_rows.h"

#include "debias/core/error.h"

namespace debias {

at::Tensor unit_rows(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::string& who) {
  if (rows.size(0) != static_cast<int64_t>(labels.size())) {
    throw data_error("{}: {} rows and {} labels; give one label per row", who, rows.size(0), labels.size());
  }
  return unit_rows(rows, who);
}

}  // namespace debias
