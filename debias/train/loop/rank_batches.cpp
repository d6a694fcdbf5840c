#include "debias/train/loop/rank_batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace debias {
namespace {

enum Field : int64_t { kStop, kSave, kFailed, kSubstituted, kNotes, kFields };

constexpr std::array<std::vector<int64_t> Batch::*, 5> kColumns = {&Batch::ids, &Batch::occurrences, &Batch::labels, &Batch::biases,
                                                                   &Batch::indices};

void require_own_share(const Batch& batch, const Ranks& ranks) {
  const RowRange share = ranks.share_of(static_cast<int64_t>(batch.ids.size()));
  const auto is_own = [&](const auto& input) { return input.second.size(1) == share.size(); };
  if (batch.first_row == share.begin && std::all_of(batch.inputs.begin(), batch.inputs.end(), is_own)) return;
  throw usage_error("train: this source of batches cannot be split between processes; train in one process");
}

}  // namespace

const Batch* RankBatches::next(const StepOrders& own) {
  if (ranks_.is_alone()) return source_.next();
  const Batch* batch = nullptr;
  std::optional<Error> failure;
  try {
    batch = source_.next();
    if (batch == nullptr) return nullptr;  // on every rank
    require_own_share(*batch, ranks_);
  } catch (const Error& error) {
    failure = ranks_.failed(error);
  }
  const int64_t places = ranks_.largest_share(batch_size_);
  at::Tensor header = at::zeros({kFields + static_cast<int64_t>(kColumns.size()) * places}, at::kLong);
  int64_t* fields = header.mutable_data_ptr<int64_t>();
  fields[kStop] = own.stop_signal;
  fields[kSave] = own.save ? 1 : 0;
  fields[kFailed] = failure ? 1 : 0;
  if (batch != nullptr) {
    batch_ = *batch;
    fields[kSubstituted] = batch_.substituted;
    fields[kNotes] = batch_.unreadable.empty() ? 0 : 1;
    for (size_t i = 0; i < kColumns.size(); ++i) {
      const auto first = (batch_.*kColumns[i]).begin() + batch_.first_row;
      std::copy_n(first, ranks_.share_of(static_cast<int64_t>(batch_.ids.size())).size(),
                  fields + kFields + static_cast<int64_t>(i) * places);
    }
  }
  const at::Tensor headers = ranks_.gather(header);
  if (failure) throw RankLost(failure->kind(), failure->what());
  merge(headers);
  return &batch_;
}

void RankBatches::merge(const at::Tensor& headers) {
  const auto B = static_cast<int64_t>(batch_.ids.size()), places = ranks_.largest_share(batch_size_);
  orders_ = {};
  batch_.substituted = 0;
  bool has_notes = false;
  for (int64_t rank = 0; rank < ranks_.size(); ++rank) {
    const int64_t* fields = headers.const_data_ptr<int64_t>() + rank * headers.size(1);
    if (fields[kFailed] != 0) throw ranks_.reported_failure();
    if (fields[kStop] != 0 && orders_.stop_signal == 0) {
      orders_.stop_signal = static_cast<int>(fields[kStop]);
      orders_.stopped_rank = rank;
    }
    if (rank == 0) orders_.save = fields[kSave] != 0;
    batch_.substituted += fields[kSubstituted];
    has_notes = has_notes || fields[kNotes] != 0;
    const RowRange share = ranks_.share_of(B, rank);
    for (size_t i = 0; i < kColumns.size(); ++i) {
      std::copy_n(fields + kFields + static_cast<int64_t>(i) * places, share.size(), (batch_.*kColumns[i]).begin() + share.begin);
    }
  }
  if (has_notes) join_notes();
}

// Why images could not be read, which rank 0 logs.
void RankBatches::join_notes() {
  nlohmann::json own = nlohmann::json::array();
  for (const auto& [index, reason] : batch_.unreadable) own.push_back({index, nlohmann::json::binary({reason.begin(), reason.end()})});
  const auto packed = nlohmann::json::to_cbor(own);
  for (const auto& text : ranks_.tell_leader({packed.begin(), packed.end()})) {
    for (const auto& note : nlohmann::json::from_cbor(text)) {
      const auto& reason = note[1].get_binary();
      batch_.unreadable.emplace(note[0].get<int64_t>(), std::string(reason.begin(), reason.end()));
    }
  }
}

}  // namespace debias
