// How long training took, from the lines "epoch 3: 12.4 s, 403 images/s, ..." of train.log: the metric files hold no times.
#pragma once

#include <limits>
#include <string_view>

namespace debias {

struct TrainingSpeed {
  double seconds = std::numeric_limits<double>::quiet_NaN();            // in epochs that came to their end, evaluations aside
  double images_per_second = std::numeric_limits<double>::quiet_NaN();  // median of the epochs
};

// An epoch that was trained again after a resumption counts each time. NaN where no epoch is there; other lines are passed over.
TrainingSpeed training_speed(std::string_view log);

}  // namespace debias
