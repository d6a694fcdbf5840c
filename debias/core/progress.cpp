#include "debias/core/progress.h"

namespace debias {

Progress& Progress::silent() {
  static Progress progress;
  return progress;
}

Log& Log::silent() {
  static Log log;
  return log;
}

}  // namespace debias
