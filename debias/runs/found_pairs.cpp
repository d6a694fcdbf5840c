#include "debias/runs/found_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/core/error.h"
#include "debias/evaluate/thumbnail.h"
#include "debias/mining/copied_images.h"
#include "debias/mining/pairs_page.h"
#include "debias/runtime/unit_rows.h"

namespace debias {
namespace {

constexpr int kPairThumbnailSide = 128;

// Copies among the candidates, by their pixels where all splits have images.
std::vector<MinedPair> copies_of(const std::vector<MinedPair>& candidates, const PairSource& source, Progress& progress, Log& log) {
  if (!source.has_images()) {
    std::vector<MinedPair> copies;
    std::ranges::copy_if(candidates, std::back_inserter(copies), [](const MinedPair& p) { return p.cosine >= kUnconfirmedCopy; });
    return copies;
  }
  const auto read = [&](int64_t row, bool of_second) { return of_second ? source.second->image(row) : source.first.image(row); };
  ConfirmedCopies found = confirm_copies(candidates, read, progress);
  if (found.unreadable > 0)
    log.warn(fmt::format("{} images cannot be read and are not compared: {}", found.unreadable, found.first_unreadable));
  if (found.look_alike > 0) {
    log.info(fmt::format("{} pairs look alike and do not count as copies: more than {:g} % of the images are in such a pair",
                         found.look_alike, 100 * kRareLookAlikes));
  }
  return found.pairs;
}

nlohmann::ordered_json number_or_null(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

}  // namespace

MiningOptions mining_options(const PairRequest& request, const PairSource& source) {
  MiningOptions options;
  options.temperature(request.temperature.value_or(source.temperature))
      .tau_plus(request.tau_plus.value_or(source.tau_plus))
      .batch_size(source.batch_size)
      .rank(request.rank)
      .seed(request.seed);
  options.check();
  return options;
}

FoundPairs find_pairs(const PairRequest& request, const MiningOptions& options, const PairSource& source, Progress& progress, Log& log) {
  FoundPairs found;
  found.options = options;
  found.by_views = source.views.known();
  found.on_pixels = source.has_images();
  const at::Tensor unit = unit_rows(source.first.values, "pairs: rows").contiguous();
  const PairRanking ranking(unit, source.views, found.options, progress);
  found.searched = unit.size(0);
  found.threshold = duplicate_threshold(ranking, source.views);
  const NamedRows& first = source.first.rows;
  if (request.sample) {
    found.rows = pair_rows(sampled_pairs(unit, ranking, *request.sample, request.seed), first, first);
    return found;
  }
  std::vector<MinedPair> pairs, copies = copies_of(duplicate_candidates(ranking, found.threshold), source, progress, log);
  std::set<std::pair<int64_t, int64_t>> copied;
  for (const MinedPair& pair : copies) copied.emplace(pair.a, pair.b);
  for (const MinedPair& pair : ranking.pairs()) {
    if (std::ssize(pairs) == request.top) break;
    if (!copied.contains({pair.a, pair.b})) pairs.push_back(pair);
  }
  pairs.insert(pairs.end(), copies.begin(), copies.end());
  if (source.second) {
    const at::Tensor second = unit_rows(source.second->values, "pairs: rows").contiguous();
    const std::vector<MinedPair> leaks = copies_of(leak_candidates(unit, second, ranking, found.threshold), source, progress, log);
    pairs.insert(pairs.end(), leaks.begin(), leaks.end());
    found.leaks = split_leaks(leaks, source.first.values, first, source.second->values, source.second->rows, source.knn_temperature);
  }
  found.rows = pair_rows(pairs, first, source.second ? source.second->rows : first);
  return found;
}

nlohmann::ordered_json to_json(const FoundPairs& found) {
  nlohmann::ordered_json json = {{"rows", found.searched},
                                 {"temperature", found.options.temperature()},
                                 {"tau_plus", found.options.tau_plus()},
                                 {"rank", enum_name(found.options.rank())},
                                 {"posterior", found.by_views ? "views" : "mixture"},
                                 {"copies_confirmed_on_pixels", found.on_pixels},
                                 {"copy_threshold", found.threshold},
                                 {"pairs", nlohmann::ordered_json::array()},
                                 {"same_label_share", nlohmann::ordered_json::object()},
                                 {"leaks", nullptr}};
  for (const PairRow& row : found.rows) json["pairs"].push_back(to_json(row));
  for (const auto& [name, kind] : EnumNames<PairKind>::values) {
    if (const auto share = same_label_share(found.rows, kind)) json["same_label_share"][name] = *share;
  }
  if (!found.leaks) return json;
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (const LeakedClass& of : found.leaks->classes) classes.push_back({{"class", of.name}, {"leaked", of.leaked}, {"rows", of.rows}});
  json["leaks"] = {{"leaked", found.leaks->leaked},
                   {"rows", found.leaks->rows},
                   {"classes", std::move(classes)},
                   {"accuracy", number_or_null(found.leaks->accuracy)},
                   {"accuracy_without", number_or_null(found.leaks->accuracy_without)}};
  return json;
}

std::string marking_page(const FoundPairs& found, const PairSource& source, const std::string& name) {
  return pairs_page(found.rows, "Pairs of " + name, "answers.csv", [&](int64_t row, bool of_second) -> std::optional<Image> {
    const PairSplit& split = of_second ? *source.second : source.first;
    if (!split.image) return std::nullopt;
    try {
      return thumbnail(split.image(row), kPairThumbnailSide);
    } catch (const Error&) {  // named where copies were looked for
      return std::nullopt;
    }
  });
}

}  // namespace debias
