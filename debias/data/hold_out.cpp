#include "debias/data/hold_out.h"

#include <algorithm>
#include <map>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/data_stream.h"
#include "debias/data/dataset.h"

namespace debias {
namespace {

struct Stratum {
  int64_t label = kUnknown;
  std::vector<int64_t> members;  // ascending
  int64_t quota = 0;
  int64_t remainder = 0;  // of count * members / total
};

std::vector<Stratum> strata_of(const std::vector<int64_t>& labels) {
  std::map<int64_t, std::vector<int64_t>> by_label;
  for (size_t i = 0; i < labels.size(); ++i) by_label[labels[i]].push_back(static_cast<int64_t>(i));
  std::vector<Stratum> strata;
  for (auto& [label, members] : by_label) strata.push_back({label, std::move(members), 0, 0});
  return strata;
}

void set_quotas(std::vector<Stratum>& strata, int64_t count, int64_t total) {
  int64_t left = count;
  for (Stratum& stratum : strata) {
    const int64_t share = count * static_cast<int64_t>(stratum.members.size());  // both below 2^31: see the check of sizes
    stratum.quota = share / total;
    stratum.remainder = share % total;
    left -= stratum.quota;
  }
  std::vector<Stratum*> by_remainder;
  for (Stratum& stratum : strata) by_remainder.push_back(&stratum);
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [](const Stratum* a, const Stratum* b) { return a->remainder > b->remainder; });
  for (int64_t i = 0; i < left; ++i) ++by_remainder[static_cast<size_t>(i)]->quota;
}

HoldOutParts parts_of(const std::vector<bool>& held) {
  HoldOutParts parts;
  for (size_t i = 0; i < held.size(); ++i) (held[i] ? parts.held_out : parts.kept).push_back(static_cast<int64_t>(i));
  return parts;
}

std::vector<std::vector<size_t>> members_of(const std::vector<int64_t>& groups) {
  std::map<int64_t, size_t> number;
  std::vector<std::vector<size_t>> members;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto [at, is_new] = groups[i] == kUnknown ? std::pair(number.end(), true) : number.try_emplace(groups[i], members.size());
    if (is_new) {
      members.push_back({i});
    } else {
      members[at->second].push_back(i);
    }
  }
  return members;
}

// `wanted`: number to hold out, by label.
HoldOutParts whole_groups(const std::vector<int64_t>& labels, std::map<int64_t, int64_t> wanted, uint64_t seed,
                          const std::vector<int64_t>& groups) {
  const std::vector<std::vector<size_t>> members = members_of(groups);
  if (members.size() < 2)
    throw usage_error("hold_out: all {} images are one group; none can be held out without the others", labels.size());
  // Change of the sum of squares if the group is held out.
  const auto cost = [&](const std::vector<size_t>& group) {
    std::map<int64_t, int64_t> counts;
    for (const size_t i : group) ++counts[labels[i]];
    int64_t change = 0;
    for (const auto& [label, rows] : counts) change += rows * (rows - 2 * wanted[label]);
    return change;
  };
  std::vector<bool> held(labels.size(), false);
  size_t taken = 0;
  const auto take = [&](const std::vector<size_t>& group) {
    ++taken;
    for (const size_t i : group) {
      held[i] = true;
      --wanted[labels[i]];
    }
  };
  const RngKey key = {.domain = RngDomain::kData, .seed = seed, .step = static_cast<uint16_t>(DataStream::kHoldOut)};
  for (const int64_t place : permutation(std::ssize(members), key)) {
    const std::vector<size_t>& group = members[static_cast<size_t>(place)];
    if (taken + 1 < members.size() && cost(group) < 0) take(group);
  }
  if (taken == 0) take(*std::ranges::min_element(members, {}, cost));
  return parts_of(held);
}

}  // namespace

HoldOutParts partition_hold_out(const std::vector<int64_t>& labels, int64_t count, uint64_t seed, const std::vector<int64_t>& groups) {
  const auto total = static_cast<int64_t>(labels.size());
  if (count < 0 || count >= total) throw usage_error("hold_out: {} of {} images; at least one must be left to train on", count, total);
  std::vector<Stratum> strata = strata_of(labels);
  set_quotas(strata, count, total);
  if (!groups.empty() && count > 0) {
    std::map<int64_t, int64_t> wanted;
    for (const Stratum& stratum : strata) wanted[stratum.label] = stratum.quota;
    return whole_groups(labels, std::move(wanted), seed, groups);
  }

  std::vector<bool> held(labels.size(), false);
  for (const Stratum& stratum : strata) {
    RngKey key = {.domain = RngDomain::kData,
                  .seed = seed,
                  .sample = static_cast<uint64_t>(stratum.label + 1),
                  .step = static_cast<uint16_t>(DataStream::kHoldOut)};
    const std::vector<int64_t> order = permutation(static_cast<int64_t>(stratum.members.size()), key);
    for (int64_t i = 0; i < stratum.quota; ++i) held[static_cast<size_t>(stratum.members[static_cast<size_t>(order[i])])] = true;
  }
  return parts_of(held);
}

std::unique_ptr<Dataset> take_hold_out_part(std::unique_ptr<Dataset> train, const HoldOutOptions& options, HoldOutPart part,
                                            const std::function<NearCopies(const Dataset&)>& copies) {
  const bool wants_held_out = part == HoldOutPart::kHeldOut;
  if (options.count == 0) {
    if (!wants_held_out) return train;
    throw usage_error("data set '{}': split held_out is empty; give hold_out: N, as in the train entry", train->info().name);
  }
  std::vector<int64_t> labels(static_cast<size_t>(train->size()));
  for (int64_t i = 0; i < train->size(); ++i) labels[static_cast<size_t>(i)] = train->label(i);
  std::vector<int64_t> groups;
  for (int64_t i = 0; i < train->size() && !train->info().group_names.empty(); ++i) groups.push_back(train->group(i));
  NearCopies found;
  if (groups.empty() && copies) {
    found = copies(*train);
    groups = found.source_of_image;
  }
  HoldOutParts parts = partition_hold_out(labels, options.count, static_cast<uint64_t>(options.seed), groups);
  std::string remark =
      groups.empty() ? "" : fmt::format("hold_out: {}: {} of {} images are held out", options.count, parts.held_out.size(), labels.size());
  if (!train->info().group_names.empty()) {
    remark += fmt::format(", so that each of the {} groups stays on one side", train->info().group_names.size());
  } else if (const std::string note = copies ? note_on_copies(found, train->size()) : ""; !note.empty()) {
    remark = note + (remark.empty() ? "" : " (" + remark + ")");
  }
  std::string split = wants_held_out ? "held_out" : train->info().split;
  return std::make_unique<Subset>(std::move(train), std::move(wants_held_out ? parts.held_out : parts.kept), std::move(split), remark);
}

}  // namespace debias
