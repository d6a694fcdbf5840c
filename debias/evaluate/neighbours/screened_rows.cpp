#include "debias/evaluate/neighbours/screened_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "debias/evaluate/neighbours/parallel_pieces.h"

namespace debias {
namespace {

constexpr double kSigmas = 3;
constexpr int64_t kGroup = RoundedRows::kGroup, kStep = RoundedRows::kStep, kPadding = 16;
constexpr int64_t kRowsOfAMean = 4096, kRowsOfAPiece = 64 * kGroup;

int64_t up_to_multiple(int64_t value, int64_t of) { return (value + of - 1) / of * of; }

// Mean of some thousand rows: subtracting the same vector from every row changes no order.
std::vector<float> mean_row(const UnitRows& rows, int64_t padded) {
  const int64_t stride = std::max<int64_t>(1, rows.count() / kRowsOfAMean);
  std::vector<double> total(static_cast<size_t>(padded));
  int64_t count = 0;
  for (int64_t i = 0; i < rows.count(); i += stride, ++count) {
    for (int64_t d = 0; d < rows.dim; ++d) total[d] += rows.row(i)[d] * rows.scale[i];
  }
  std::vector<float> mean;
  for (const double sum : total) mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  return mean;
}

}  // namespace

ScreenedRows::ScreenedRows(const UnitRows& gallery, const Screen& screen)
    : gallery_(gallery),
      screen_(screen),
      groups_(up_to_multiple(up_to_multiple(gallery.count(), kGroup) / kGroup, screen.groups)),
      padded_(up_to_multiple(gallery.dim, kPadding)),
      bytes_(static_cast<size_t>(groups_ * kGroup * padded_)),
      step_(static_cast<size_t>(groups_ * kGroup)),
      sum_step_(static_cast<size_t>(groups_ * kGroup)) {
  const std::vector<float> mean = mean_row(gallery, padded_);
  std::vector<RoundedRow> rounded(static_cast<size_t>(gallery.count()));
  each_piece((gallery.count() + kRowsOfAPiece - 1) / kRowsOfAPiece, [&](int64_t piece) {
    const int64_t low = piece * kRowsOfAPiece, high = std::min(low + kRowsOfAPiece, gallery.count());
    std::vector<float> row(static_cast<size_t>(padded_));
    std::vector<int8_t> bytes(static_cast<size_t>(padded_));
    for (int64_t i = low; i < high; ++i) {
      std::copy_n(gallery_.row(i), gallery_.dim, row.begin());
      rounded[i] = screen_.round(row.data(), gallery_.scale[i], mean.data(), padded_, screen_.row_levels, bytes.data());
      if (rounded[i].step == 0) continue;
      int8_t* group = bytes_.data() + i / kGroup * kGroup * padded_ + i % kGroup * kStep;
      for (int64_t d = 0; d < padded_; d += kStep) std::copy_n(bytes.data() + d, kStep, group + d * kGroup);
    }
  });
  for (size_t i = 0; i < rounded.size(); ++i) {
    step_[i] = rounded[i].step;
    sum_step_[i] = rounded[i].sum_step;
    largest_centred_ = std::max(largest_centred_, rounded[i].centred);
    largest_missing_ = std::max(largest_missing_, rounded[i].missing);
  }
}

ScreenedQuery ScreenedRows::round_query(const UnitRows& queries, int64_t i, int64_t k, uint8_t* bytes) const {
  const float* row = queries.row(i);
  const int64_t D = queries.dim;
  const auto [low, high] = std::minmax_element(row, row + D);
  const float scale = queries.scale[i], zero = *low * scale;
  const float step = std::max((*high - *low) * scale / screen_.query_levels, std::numeric_limits<float>::min());
  double squared = 0, error = 0;
  for (int64_t d = 0; d < D; ++d) {
    const auto byte = static_cast<uint8_t>(std::min((row[d] * scale - zero) / step + 0.5f, screen_.query_levels));
    const float rounded = zero + step * static_cast<float>(byte);
    bytes[d] = byte;
    squared += rounded * rounded;
    error += (row[d] * scale - rounded) * (row[d] * scale - rounded);
  }
  const double variance = (error * largest_centred_ + squared * largest_missing_) / static_cast<double>(D);
  return {zero / step, static_cast<float>(kSigmas * std::sqrt(variance) / step), k};
}

int64_t ScreenedRows::nearest(const UnitRows& queries, int64_t begin, int64_t count, int64_t k, const TakeNeighbours& take) const {
  const int64_t tile = up_to_multiple(count, screen_.queries);  // queries that pad repeat the last one and are not taken
  std::vector<uint8_t> bytes(static_cast<size_t>(tile * padded_));
  std::vector<ScreenedQuery> rounded;
  for (int64_t q = 0; q < tile; ++q) {
    rounded.push_back(round_query(queries, begin + std::min(q, count - 1), k, bytes.data() + q * padded_));
  }
  const RoundedRows rows{gallery_.count(), groups_, padded_, bytes_.data(), step_.data(), sum_step_.data()};
  screen_.sweep(rows, rounded, bytes.data());
  rounded.erase(rounded.begin() + count, rounded.end());
  for (ScreenedQuery& query : rounded) query.renew();
  std::vector<std::vector<Neighbour>> nearest = compare(rounded, queries, begin);
  int64_t compared = 0;
  for (int64_t q = 0; q < count; ++q) {
    std::vector<Neighbour>& found = nearest[q];
    compared += static_cast<int64_t>(found.size());
    if (static_cast<int64_t>(found.size()) > k) {
      std::nth_element(found.begin(), found.begin() + (k - 1), found.end(), nearer);
      found.resize(static_cast<size_t>(k));
    }
    take(begin + q, found);
  }
  return compared;
}

// Row by row, so that each row of the gallery comes from memory once for all queries that want it.
std::vector<std::vector<Neighbour>> ScreenedRows::compare(const std::vector<ScreenedQuery>& rounded, const UnitRows& queries,
                                                          int64_t begin) const {
  struct Wanted {
    int32_t query, place;
  };
  std::vector<std::vector<Neighbour>> nearest(rounded.size());
  std::vector<int64_t> ends(static_cast<size_t>(gallery_.count()) + 1);
  for (size_t q = 0; q < rounded.size(); ++q) {
    nearest[q].resize(static_cast<size_t>(rounded[q].kept));
    for (int64_t i = 0; i < rounded[q].kept; ++i) ++ends[static_cast<size_t>(rounded[q].rows[i]) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<Wanted> wanted(static_cast<size_t>(ends.back()));
  for (size_t q = 0; q < rounded.size(); ++q) {
    for (int64_t i = 0; i < rounded[q].kept; ++i) {
      wanted[static_cast<size_t>(ends[static_cast<size_t>(rounded[q].rows[i])]++)] = {static_cast<int32_t>(q), static_cast<int32_t>(i)};
    }
  }
  int64_t next = 0;  // ends[row] is now where the row's own end
  for (int64_t row = 0; row < gallery_.count(); ++row) {
    for (; next < ends[row]; ++next) {
      const auto [q, place] = wanted[static_cast<size_t>(next)];
      const float cosine = screen_.dot(queries.row(begin + q), gallery_.row(row), gallery_.dim);
      nearest[q][place] = {cosine * queries.scale[begin + q] * gallery_.scale[row], row};
    }
  }
  return nearest;
}

}  // namespace debias
