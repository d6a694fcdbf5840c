#include "debias/results/nearest_sentences.h"

#include <filesystem>

namespace debias {
namespace {

constexpr int64_t kLargestNearestFile = 1 << 26;  // bytes

}  // namespace

Json to_json(const NearestSentences& found) {
  Json list = Json::array();
  for (const auto& query : found.queries) {
    Json one = {{"query", query.text}, {"nearest", Json::array()}};
    for (const auto& near : query.nearest) one["nearest"].push_back({{"text", near.text}, {"cosine", number_or_null(near.cosine)}});
    list.push_back(std::move(one));
  }
  return {{"checkpoint", found.checkpoint}, {"epoch", found.epoch},   {"text", found.text},
          {"sentences", found.sentences},   {"digest", found.digest}, {"queries", std::move(list)}};
}

NearestSentences read_nearest_sentences(const std::string& run_folder) {
  const std::string path = run_folder + "/" + kNearestSentencesFile;
  if (!std::filesystem::exists(path)) return {};
  const Json json = read_json_object(path, kLargestNearestFile);
  return read_fields(path, [&] {
    NearestSentences found;
    found.checkpoint = value_or(json, "checkpoint", std::string());
    found.epoch = value_or(json, "epoch", int64_t{-1});
    found.text = value_or(json, "text", std::string());
    found.sentences = value_or(json, "sentences", int64_t{0});
    found.digest = value_or(json, "digest", std::string());
    for (const auto& one : json.at("queries")) {
      SentenceQuery query = {one.at("query").get<std::string>(), {}};
      for (const auto& near : one.at("nearest"))
        query.nearest.push_back({near.at("text").get<std::string>(), number_or_nan(near.at("cosine"))});
      found.queries.push_back(std::move(query));
    }
    return found;
  });
}

}  // namespace debias
