#include "debias/data/sample_table.h"

#include "debias/data/dataset.h"
#include "debias/data/readers/sentences.h"

namespace debias {

std::shared_ptr<const Dataset> images_of(const std::shared_ptr<const SampleTable>& samples) {
  const Dataset* images = samples == nullptr ? nullptr : samples->images();
  return images == nullptr ? nullptr : std::shared_ptr<const Dataset>(samples, images);
}

std::shared_ptr<const Sentences> sentences_of(const std::shared_ptr<const SampleTable>& samples) {
  const Sentences* sentences = samples == nullptr ? nullptr : samples->sentences();
  return sentences == nullptr ? nullptr : std::shared_ptr<const Sentences>(samples, sentences);
}

}  // namespace debias
