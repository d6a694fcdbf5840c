#include "debias/results/nearest_sentences.h"

#include <filesystem>

namespace debias {
namespace {

constexpr int64_t kLargestNearestFile = 1 << 26;  // bytes

}  // namespace

Json to_json(const std::vector<SentenceQuery>& queries) {
  Json list = Json::array();
  for (const auto& query : queries) {
    Json one = {{"query", query.text}, {"nearest", Json::array()}};
    for (const auto& near : query.nearest) one["nearest"].push_back({{"text", near.text}, {"cosine", number_or_null(near.cosine)}});
    list.push_back(std::move(one));
  }
  return {{"queries", std::move(list)}};
}

std::vector<SentenceQuery> read_nearest_sentences(const std::string& run_folder) {
  const std::string path = run_folder + "/" + kNearestSentencesFile;
  if (!std::filesystem::exists(path)) return {};
  const Json json = read_json_object(path, kLargestNearestFile);
  return read_fields(path, [&] {
    std::vector<SentenceQuery> queries;
    for (const auto& one : json.at("queries")) {
      SentenceQuery query = {one.at("query").get<std::string>(), {}};
      for (const auto& near : one.at("nearest"))
        query.nearest.push_back({near.at("text").get<std::string>(), number_or_nan(near.at("cosine"))});
      queries.push_back(std::move(query));
    }
    return queries;
  });
}

}  // namespace debias
