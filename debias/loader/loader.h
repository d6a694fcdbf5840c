// Batches of views, in order, from several workers and a ring of preallocated buffers.
//
// The bytes of batch k of epoch e depend on the data set, the views, the sampler and the seed alone: not on workers, prefetch or where
// the run was resumed. A worker's failure is rethrown by next() for the batch it belongs to.
//
// With on_error `substitute`, an image whose get() ends in a data error does not fail its batch: up to 16 others are drawn, uniformly
// and as a function of (seed, epoch, sample, occurrence), and the first readable one replaces it; if none is, the error names
// the image. The row has the substitute's id, label and bias, an occurrence that no other row of the batch has, and views drawn as those
// of the image would have been, so that they differ from those of the substitute's own visit. For the second view of `noise` the substitute
// is drawn among the images of another class.
//
// If images are linked (image_reader.h), the second view shows an image of the row's group; the row keeps its own id and label.
//
// JPEG files that are not kept in memory are decoded only as far as all views of a row need, if these begin with random_resized_crop.
// Decode::kScaled keeps no JPEG file's pixels in memory and decodes it at the largest denominator of 1, 2, 4, 8 at which every crop of the
// row still has at least the size of the view. Ids, boxes and all that is drawn are as with kExact; the edges of a box then go to the
// nearest line between the pixels of the reduced image.
//
// With several loaders of one training (`ranks`), each makes the views of its share of every batch's rows. Ids, labels and the like are
// those of all rows; if an image of another rank's row cannot be read, only that rank knows its substitute.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/data/dataset.h"
#include "debias/data/sampler.h"
#include "debias/loader/batch_source.h"
#include "debias/loader/image_reader.h"

namespace debias {

class Loader : public BatchSource {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, ViewPipeline pipeline, std::shared_ptr<const Sampler> sampler, LoaderOptions options);
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::string what() const override { return "views"; }
  const SampleTable& samples() const override;
  int64_t batches_per_epoch() const override;
  void start(int64_t epoch, int64_t first = 0) override;
  const Batch* next() override;  // its images are in a slot of the ring
  double seconds_waited() const override;

  std::vector<int64_t> image_shape() const;  // {C, H, W}

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace debias
