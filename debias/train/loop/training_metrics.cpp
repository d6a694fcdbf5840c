#include "debias/train/loop/training_metrics.h"

#include "debias/results/run_files.h"
#include "debias/train/methods/diagnostics.h"
#include "debias/train/methods/method.h"

namespace debias {

std::vector<Metric> training_metrics() {
  std::vector<Metric> all = {{"train_loss", "training loss", Unit::kNumber, Better::kLowerOfOneObjective, Standing::kTraining}};
  const auto add = [&all](const std::vector<Metric>& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(speed_metrics());
  add({{"grad_norm", "gradient norm", Unit::kNumber, Better::kNeither, Standing::kTraining},
       {"learning_rate", "learning rate", Unit::kNumber, Better::kNeither, Standing::kTraining},
       {"substituted", "substituted images", Unit::kNumber, Better::kNeither, Standing::kTraining}});
  add(diagnostics_metrics());
  for (const auto& method : method_registry()) add(method.metrics);
  return all;
}

}  // namespace debias
