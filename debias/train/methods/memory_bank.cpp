#include "debias/train/methods/memory_bank.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/encoders/state.h"
#include "debias/runtime/device.h"
#include "debias/runtime/unit_rows.h"

namespace debias {
namespace {

enum class BankStream : uint16_t { kDraws = 0, kFirstRows = 1 };

Random bank_random(BankStream stream, uint64_t seed, uint64_t step, int64_t row, uint16_t number) {
  RngKey key = {.domain = RngDomain::kBank,
                .seed = seed,
                .epoch = step,
                .sample = static_cast<uint64_t>(row),
                .view = number,
                .step = static_cast<uint16_t>(stream)};
  return Random(key);
}

// Lemire's method (philox.cpp) on 32 bits, of which a batch's draws need half as many.
int32_t below(Random& random, uint32_t n) {
  const uint32_t biased = (0 - n) % n;
  while (true) {
    const uint64_t product = uint64_t{random.bits()} * n;
    if (static_cast<uint32_t>(product) >= biased) return static_cast<int32_t>(product >> 32);
  }
}

void require_samples(const at::Tensor& ids, int64_t samples) {
  if (ids.scalar_type() != at::kLong || ids.dim() != 1) throw std::logic_error("memory bank: ids are int64 [B]");
  if (ids.numel() == 0) return;
  const auto [low, high] = at::aminmax(ids);
  if (low.item<int64_t>() >= 0 && high.item<int64_t>() < samples) return;
  throw data_error("memory bank: samples {} to {} in the batch, and the bank has rows 0 to {}", low.item<int64_t>(), high.item<int64_t>(),
                   samples - 1);
}

}  // namespace

MemoryBank::MemoryBank(int64_t samples, int64_t dim, uint64_t seed, uint16_t number, c10::Device device) {
  if (samples < 1 || dim < 1 || samples > std::numeric_limits<int32_t>::max()) {
    throw data_error("memory bank: expected 1 to 2147483647 samples of at least 1 dimension, found {} of {}", samples, dim);
  }
  rows_ = at::empty({samples, dim}, at::kFloat);
  const double bound = 1 / std::sqrt(static_cast<double>(dim) / 3);
  float* const values = rows_.mutable_data_ptr<float>();
  at::parallel_for(0, samples, 256, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      Random random = bank_random(BankStream::kFirstRows, seed, 0, row, number);
      for (int64_t d = 0; d < dim; ++d) values[row * dim + d] = static_cast<float>(random.uniform(-bound, bound));
    }
  });
  rows_ = upload(rows_, device);
}

void MemoryBank::update(const at::Tensor& ids, const at::Tensor& features, double momentum) {
  require_samples(ids, samples());
  const at::NoGradGuard no_grad;
  // Of a sample's features the last: index_copy_ has no order among equal rows.
  std::map<int64_t, int64_t> last;
  const auto row = ids.accessor<int64_t, 1>();
  for (int64_t i = 0; i < ids.size(0); ++i) last[row[i]] = i;
  std::vector<int64_t> rows, sources;
  for (const auto& [id, source] : last) {
    rows.push_back(id);
    sources.push_back(source);
  }
  const at::Tensor into = upload(at::tensor(rows, at::kLong), rows_.device());
  const at::Tensor given = features.detach().to(rows_.options()).index_select(0, upload(at::tensor(sources, at::kLong), rows_.device()));
  rows_.index_copy_(0, into, unit_rows(rows_.index_select(0, into).mul_(momentum).add_(given, 1 - momentum)));
}

void MemoryBank::load(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr) throw data_error("{}: no memory bank '{}' in it; resume a run of this method", file.path(), name);
  if (entry->dtype != DType::kFloat32 || rows_.sizes() != entry->shape) {
    throw data_error(
        "{}: memory bank '{}' is [{}], and the data and the head ask for [{}]; resume with the data and the head it began with",
        file.path(), name, fmt::join(entry->shape, ", "), fmt::join(rows_.sizes(), ", "));
  }
  const at::Tensor stored = read_tensor(file, *entry);
  if (!at::isfinite(stored).all().item<bool>()) throw data_error("{}: memory bank '{}' has numbers that are not finite", file.path(), name);
  rows_.copy_(stored);
}

at::Tensor normaliser_state(const BankNce& nce) { return at::full({1}, nce.normaliser().value_or(0), at::kDouble); }

void load_normaliser(BankNce& nce, const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr || entry->dtype != DType::kFloat64 || entry->shape != std::vector<int64_t>{1}) {
    throw data_error("{}: no normaliser '{}' of a memory bank in it; resume a run of this method", file.path(), name);
  }
  const double stored = read_tensor(file, *entry).item<double>();
  if (!(stored >= 0) || !std::isfinite(stored)) {
    throw data_error("{}: normaliser '{}' of a memory bank is {}, where 0 or more was expected", file.path(), name, stored);
  }
  nce.set_normaliser(stored > 0 ? std::optional<double>(stored) : std::nullopt);
}

at::Tensor draw_bank_ids(const at::Tensor& own, int64_t negatives, int64_t samples, uint64_t seed, uint64_t step) {
  require_samples(own, samples);
  const int64_t batch = own.size(0), each = 1 + negatives;
  const at::Tensor ids = at::empty({batch, each}, at::kInt);
  int32_t* const drawn = ids.mutable_data_ptr<int32_t>();
  const auto first_of = own.accessor<int64_t, 1>();
  at::parallel_for(0, batch, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      Random random = bank_random(BankStream::kDraws, seed, step, i, 0);
      drawn[i * each] = static_cast<int32_t>(first_of[i]);
      for (int64_t k = 1; k < each; ++k) drawn[i * each + k] = below(random, static_cast<uint32_t>(samples));
    }
  });
  return ids;
}

}  // namespace debias
