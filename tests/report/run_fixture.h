// Run folders as `debias train` and `debias eval` leave them, without any training.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/temporary_folder.h"

namespace debias {

inline void write_text(const std::string& path, const std::string& text) {
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty()) std::filesystem::create_directories(folder);
  std::ofstream(path, std::ios::binary) << text;
}

struct RunShape {
  int64_t epochs = 4, epochs_done = 4;
  int64_t seed = 1;
  std::string name = "fixture", objective = "debiased_negatives";
  double accuracy = 0.5;  // of everything that is one
};

inline std::string fixture_recipe(const RunShape& shape, const std::string& output) {
  return fmt::format(R"(name: {}
seed: {}
data:
  train: {{name: glyphs, root: "", seed: 0, correlation: 0.9}}
  test: {{name: glyphs, root: "", seed: 0, correlation: 0.1, split: test}}
encoder: {{name: resnet18, width: 8}}
objective:
  - {{name: {}, temperature: 0.5, weight: 1}}
train: {{epochs: {}, batch_size: 32}}
output: {}
expected:
  - {{metric: test.knn_acc1, value: 0.5, tolerance: 0.02, source: "a table & more"}}
)",
                     shape.name, shape.seed, shape.objective, shape.epochs, output);
}

// config.yaml, environment.json and metrics.jsonl: two step lines and one line an epoch.
inline void write_run(const std::string& folder, const RunShape& shape = {}) {
  write_text(folder + "/config.yaml", fixture_recipe(shape, folder));
  write_text(folder + "/environment.json", R"({"debias": "0.1.0", "libtorch": "2.11.0", "cpu_threads": 2, "instruction_set": "AVX2"})");
  std::string lines;
  for (int64_t epoch = 1; epoch <= shape.epochs_done; ++epoch) {
    const double loss = 5.0 - 0.25 * static_cast<double>(epoch);
    for (int64_t half = 0; half < 2; ++half) {
      const nlohmann::ordered_json step = {{"epoch", epoch},        {"step", 20 * epoch - 10 + 10 * half},
                                           {"loss", loss},          {"grad_norm", 1.5},
                                           {"anchors", 64},         {"clamped", 16},
                                           {"clamped_share", 0.25}, {"min_estimate", -0.5}};
      lines += step.dump() + "\n";
    }
    const nlohmann::ordered_json line = {{"epoch", epoch},       {"train_loss", loss},
                                         {"grad_norm", 1.5},     {"clamped_share", 0.25},
                                         {"min_estimate", -0.5}, {"test.knn_acc1", shape.accuracy + 0.01 * static_cast<double>(epoch)}};
    lines += line.dump() + "\n";
  }
  write_text(folder + "/metrics.jsonl", lines);
  if (shape.epochs_done > 0)
    write_text(folder + "/times.jsonl", R"({"epoch":1,"seconds":2.5,"count":1000,"counted":"images"})"
                                        "\n");
  std::filesystem::create_directories(folder + "/evaluation");
}

inline nlohmann::ordered_json described(const std::string& protocol, const RunShape& shape, nlohmann::ordered_json metrics) {
  nlohmann::ordered_json evaluated;
  evaluated["test"] = {{"name", "glyphs"}, {"root", "somewhere/" + shape.name}, {"split", "test"}};
  return {{"protocol", protocol},
          {"metrics", metrics},
          {"options", nlohmann::ordered_json::object()},
          {"classes", 2},
          {"counts", {{"test", 4}}},
          {"checkpoint", "last.safetensors"},
          {"epoch", shape.epochs_done},
          {"data", evaluated}};
}

inline void write_evaluation(const std::string& folder, const std::string& name, const nlohmann::ordered_json& record) {
  write_text(folder + "/evaluation/" + name + ".json", record.dump(2) + "\n");
}

inline void write_groups(const std::string& folder, const RunShape& shape = {}) {
  const double a = shape.accuracy;
  auto record = described("groups", shape,
                          {{"test.acc1", a},
                           {"test.aligned_acc", a},
                           {"test.conflicting_acc", a},
                           {"test.worst_group_acc", a},
                           {"test.equalized_odds_difference", nullptr}});
  record["options"] = {{"predictions", "knn"}, {"level", 0.95}};
  record["intervals"] = {{"test.acc1", {a - 0.05, a + 0.05}}, {"test.worst_group_acc", {a - 0.1, a + 0.1}}};
  record["groups"]["test"] = {
      {"labels", {"cat", "<dog>"}}, {"biases", {"red", "green"}}, {"count", {{1, 2}, {0, 1}}}, {"accuracy", {{1.0, a}, {nullptr, 1.0}}}};
  record["notes"] = {"groups: test: 1 of 4 groups have no members (<dog> x red): left out of worst_group_acc and unbiased_acc"};
  write_evaluation(folder, "groups", record);
}

// Two classes whose bias labels sort against them: cat goes with red, dog with blue, and blue has number 0.
struct BiasShape {
  double aligned = 0.975, conflicting = 0.2;  // accuracies
  int64_t images = 800;                       // aligned, and as many conflicting ones
  std::string predictions = "classifier";
};

inline void write_biased_groups(const std::string& folder, const BiasShape& bias, const RunShape& shape = {}) {
  const double a = bias.aligned, c = bias.conflicting;
  const int64_t n = bias.images / 2;
  auto record = described(
      "groups", shape,
      {{"test.acc1", (a + c) / 2}, {"test.aligned_acc", a}, {"test.conflicting_acc", c}, {"test.worst_group_acc", std::min(a, c)}});
  record["predictions"] = bias.predictions;
  record["options"] = {{"level", 0.95}};
  record["aligned"] = {{"cat", {"red"}}, {"dog", {"blue"}}};
  record["aligned_by"] = "majority";
  const auto of = [&](double rate) { return static_cast<int64_t>(std::lround(rate * static_cast<double>(n))); };
  const int64_t right = of(a) + of(c), wrong = 2 * n - right;
  const auto rates = [&](double cat, double dog) -> nlohmann::ordered_json {
    return {{"count", 2 * n},
            {"accuracy", (a + c) / 2},
            {"error_rate", 1 - (a + c) / 2},
            {"selection_rate", {{"cat", cat}, {"dog", dog}}},
            {"true_positive_rate", {{"cat", a}, {"dog", nullptr}}}};
  };
  record["groups"]["test"] = {{"labels", {"cat", "dog"}},
                              {"biases", {"blue", "red"}},
                              {"count", {{n, n}, {n, n}}},
                              {"accuracy", {{c, a}, {a, c}}},
                              {"confusion", {{right, wrong}, {wrong, right}}},
                              {"per_class",
                               {{"cat", {{"count", 2 * n}, {"predicted", 2 * n}, {"accuracy", (a + c) / 2}}},
                                {"dog", {{"count", 2 * n}, {"predicted", 2 * n}, {"accuracy", (a + c) / 2}}}}},
                              {"by_bias", {{"blue", rates(0.25, 0.75)}, {"red", rates(0.875, 0.125)}}}};
  write_evaluation(folder, "groups", record);
}

// A run of a seed, evaluated by `groups`.
inline void write_biased_run(const std::string& folder, const BiasShape& bias, const RunShape& shape = {}) {
  write_run(folder, shape);
  write_biased_groups(folder, bias, shape);
}

inline void write_geometry(const std::string& folder, const RunShape& shape = {}) {
  auto record = described("geometry", shape, {{"test.alignment", 0.5}, {"test.uniformity", -2.0}, {"test.rankme", 12.5}});
  record["similarity"]["test"] = {
      {"positive_aligned", {{"pairs", 4}, {"mean", 0.5}, {"std", 0.1}, {"histogram", {0, 0, 1, 3}}}},
      {"negative_conflicting", {{"pairs", 0}, {"mean", nullptr}, {"std", nullptr}, {"histogram", {0, 0, 0, 0}}}}};
  write_evaluation(folder, "geometry", record);
}

inline void write_map(const std::string& folder, int64_t points, const RunShape& shape = {}) {
  auto record = described("tsne", shape, {{"test.tsne_kl", 0.75}});
  nlohmann::ordered_json map = {{"kl", 0.75}, {"perplexity", 30}};
  for (int64_t i = 0; i < points; ++i) {
    map["ids"].push_back(i);
    const int64_t row = i / 100, column = i % 100;
    map["points"].push_back({0.01 * static_cast<double>(column), 0.01 * static_cast<double>(row)});
    map["labels"].push_back(i % 2);
    map["bias"].push_back(i % 3 == 0 ? 1 : 0);
  }
  record["map"]["test"] = map;
  write_evaluation(folder, "tsne", record);
}

// `queries` evaluated images of class 0 with two neighbours each: one of its group, one of class 1 with its bias label.
inline void write_neighbours(const std::string& folder, int64_t queries, const std::string& png = "\x89PNG pixels",
                             const RunShape& shape = {}) {
  auto record = described("knn", shape, {{"test.knn_acc1", shape.accuracy}});
  for (int64_t i = 0; i < queries; ++i) {
    record["neighbours"]["test"].push_back({{"query", i},
                                            {"label", 0},
                                            {"bias", 1},
                                            {"predicted", i % 2},
                                            {"nearest",
                                             {{{"id", 100 + i}, {"label", 0}, {"bias", 1}, {"cosine", 0.9}},
                                              {{"id", 200 + i}, {"label", 1}, {"bias", 1}, {"cosine", 0.8}},
                                              {{"id", 300 + i}, {"label", 0}, {"bias", 0}, {"cosine", 0.7}}}}});
    const std::string thumbnails = folder + "/evaluation/thumbnails/";
    write_text(thumbnails + fmt::format("test_{}.png", i), png);
    for (const int64_t id : {100, 200, 300}) write_text(thumbnails + fmt::format("train_{}.png", id + i), png);
  }
  write_evaluation(folder, "knn", record);
}

inline void write_whole_run(const std::string& folder, const RunShape& shape = {}) {
  write_run(folder, shape);
  write_groups(folder, shape);
  write_geometry(folder, shape);
  write_map(folder, 60, shape);
  write_neighbours(folder, 4, "\x89PNG pixels", shape);
}

}  // namespace debias
