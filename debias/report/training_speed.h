// How long training took, from the lines "epoch 3: 12.4 s, 403 images/s, ..." of train.log: the metric files hold no times.
#pragma once

#include <limits>
#include <string_view>

namespace debias {

struct TrainingSpeed {
  double seconds = std::numeric_limits<double>::quiet_NaN();            // evaluations aside
  double minutes_per_epoch = std::numeric_limits<double>::quiet_NaN();  // mean; an epoch in several parts is one
  double images_per_second = std::numeric_limits<double>::quiet_NaN();  // median of the epochs
};

// A part of an epoch after which the run was stopped has a line, too. An epoch that was trained again after a resumption counts each time.
// NaN where no epoch is there; other lines are passed over.
TrainingSpeed training_speed(std::string_view log);

}  // namespace debias
