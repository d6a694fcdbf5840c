// The training of an encoder, and what joins it, by a method on the batches of a source: what the loop of a run (loop/training.h) asks of it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "debias/train/loop/rank_batches.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/loop/training.h"

namespace debias {

class EncoderTraining final : public Training {
 public:
  explicit EncoderTraining(const TrainInput& input);  // which must outlive it

  void build() override;
  void begin(RunAccess& run, const OpenCheckpoint* checkpoint) override;
  void write_files(const DataRecord& data) const override;
  void announce() const override;
  std::vector<EpochObserver*> observers() override;

  void begin_epoch() override;
  bool next(const StepOrders& own) override;
  void step() override;
  StepOrders orders_of_all() const override { return batches_->orders(); }
  Metrics epoch_metrics() const override;
  void end_epoch(const Metrics& metrics) override;

  std::optional<RunProgress> progress() const override;
  Counted counted() const override { return {samples_, input_.dataset->what()}; }
  std::string speed_text(double per_second) const override;
  std::string place() const override;

  NamedTensors weights() const override { return parts_.model.state(); }
  NamedTensors tensors() override { return stored_tensors(trained()); }

 private:
  Trained trained() const { return {parts_.model, *parts_.optimizers, *parts_.method, *parts_.source}; }
  int64_t steps_per_epoch() const { return parts_.source->batches_per_epoch(); }
  void restore_from(const OpenCheckpoint& checkpoint);
  void note_substitutions(const Batch& batch);
  void log_step(const StepReport& report, double learning_rate) const;
  std::string progress_note() const;

  const TrainInput& input_;
  const Recipe& recipe_;
  int64_t frozen_epochs_;  // at the beginning, of the whole encoder
  RunParts parts_;
  std::vector<std::unique_ptr<EpochObserver>> observers_;
  RunAccess* run_ = nullptr;
  std::optional<RankBatches> batches_;
  const Batch* batch_ = nullptr;  // of the step that is next
  std::set<int64_t> named_;       // unreadable images
  int64_t samples_ = 0;           // seen since begin_epoch()
  double waited_ = 0;             // for batches, before that
};

}  // namespace debias
