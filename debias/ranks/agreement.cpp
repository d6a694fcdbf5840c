#include "debias/ranks/agreement.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace debias {
namespace {

std::string difference(const Fact& fact, const std::string& leaders, const std::string& other) {
  if (leaders == other) return "";
  return fact.difference ? fact.difference(leaders, other) : fmt::format("'{}' on rank 0, '{}' there", leaders, other);
}

// Empty where all are the same.
std::string first_difference(const std::vector<Fact>& facts, const std::vector<std::string>& packed) {
  const auto leaders = nlohmann::json::from_cbor(packed[0]);
  for (size_t rank = 1; rank < packed.size(); ++rank) {
    const auto others = nlohmann::json::from_cbor(packed[rank]);
    for (size_t i = 0; i < std::min(facts.size(), others.size()); ++i) {
      const auto& at_leader = leaders[i].get_binary();
      const auto& there = others[i].get_binary();
      const std::string text = difference(facts[i], {at_leader.begin(), at_leader.end()}, {there.begin(), there.end()});
      if (!text.empty()) return fmt::format("rank {} of {} has not {} of rank 0: {}", rank, packed.size(), facts[i].name, text);
    }
    if (others.size() != facts.size()) return fmt::format("rank {} of {} has another debias than rank 0; install one", rank, packed.size());
  }
  return "";
}

}  // namespace

void require_same(const std::vector<Fact>& facts, const Ranks& ranks) {
  if (ranks.is_alone()) return;
  nlohmann::json own = nlohmann::json::array();
  for (const auto& fact : facts) own.push_back(nlohmann::json::binary({fact.value.begin(), fact.value.end()}));
  const auto packed = nlohmann::json::to_cbor(own);
  const std::vector<std::string> gathered = ranks.tell_leader({packed.begin(), packed.end()});
  const std::string verdict = ranks.leader_says([&] { return first_difference(facts, gathered); });
  if (!verdict.empty()) throw RankLost(ErrorKind::kUsage, verdict);
}

}  // namespace debias
