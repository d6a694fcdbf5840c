// How long training took, from lines of train.log, as the metric files hold no times: "epoch 3: 12.4 s, 403 images/s, ..." of images,
// "epoch 3: 12.4 s, 403 sentences/s, ..." of sentences, "epoch 3: 12.4 s, 41.3 steps of the agent a second" of an agent.
#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace debias {

struct TrainingSpeed {
  double seconds = std::numeric_limits<double>::quiet_NaN();            // evaluations aside
  double minutes_per_epoch = std::numeric_limits<double>::quiet_NaN();  // mean; an epoch in several parts is one
  double per_second = std::numeric_limits<double>::quiet_NaN();         // median of the epochs
  std::string counted = {};                                             // what per_second counts: "images", "sentences", "agent_steps"
};

// A part of an epoch after which the run was stopped has a line, too. An epoch that was trained again after a resumption counts each time.
// NaN where no epoch is there; other lines are passed over.
TrainingSpeed training_speed(std::string_view log);

}  // namespace debias
