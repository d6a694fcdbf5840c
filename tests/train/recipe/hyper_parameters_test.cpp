// What TensorBoard's hparams plugin is given, read back from the event file by a reader of its own.
#include "debias/train/recipe/hyper_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "debias/train/state/metric_files.h"
#include "tests/support/file_text.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace hyper_parameters_test {

using testing::ElementsAre;
using testing::Pair;

// Fields of a protobuf message by number, as raw bytes (lengths and varints decoded).
using Fields = std::multimap<uint64_t, std::string>;

uint64_t varint(const std::string& bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

Fields fields(const std::string& bytes) {
  Fields found;
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t tag = varint(bytes, at);
    size_t length = 0;
    switch (tag & 7) {
      case 0:
        found.emplace(tag >> 3, std::to_string(varint(bytes, at)));
        continue;
      case 1:
        length = 8;
        break;
      case 2:
        length = varint(bytes, at);
        break;
      case 5:
        length = 4;
        break;
      default:
        throw std::runtime_error("no such wire type");
    }
    if (at + length > bytes.size()) throw std::runtime_error("a field ends beyond its message");
    found.emplace(tag >> 3, bytes.substr(at, length));
    at += length;
  }
  return found;
}

std::string only(const Fields& message, uint64_t field) {
  if (message.count(field) != 1) throw std::runtime_error("expected one field " + std::to_string(field));
  return message.find(field)->second;
}

double number_in(const std::string& bytes) {
  double value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The contents that plugin `hparams` has under each tag of the only event file in a folder.
std::map<std::string, std::string> plugin_contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  const std::string bytes = file_text(std::filesystem::directory_iterator(folder)->path().string());
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    const Fields event = fields(bytes.substr(at + 12, length));
    at += 16 + length;
    if (event.count(5) == 0) continue;  // the version
    const Fields value = fields(only(fields(only(event, 5)), 1));
    if (value.count(9) == 0) continue;  // a scalar
    const Fields plugin = fields(only(fields(only(value, 9)), 1));
    EXPECT_EQ(only(plugin, 1), "hparams");
    contents[only(value, 1)] = only(plugin, 2);
  }
  return contents;
}

TEST(HyperParameters, AreTheLeavesOfARecipe) {
  const Config recipe = parse_yaml(
      "name: ce\nseed: 1\nobjective: [{name: infonce, temperature: 0.5}]\nschedule: {milestones: [1, 2]}\noutput: runs/a\n"
      "expected: [{value: 1}]\nevaluate: {every: 1}\n",
      "");
  std::vector<std::string> names;
  for (const auto& parameter : hyper_parameters(recipe)) names.push_back(parameter.first);
  EXPECT_THAT(names, ElementsAre("name", "seed", "objective.0.name", "objective.0.temperature", "schedule.milestones"));
}

TEST(HyperParameters, OfARunAreASessionOfTheHparamsPlugin) {
  const TemporaryFolder folder;
  {
    TensorBoardWriter writer(folder.path());
    writer.scalar("train_loss", 1, 0.5);
    const Config recipe = parse_yaml("name: ce\nseed: 3\nrate: 1e-3\ncached: true\nword: \"7\"\nlist: [1, 2]\n", "");
    writer.plugin(kSessionStartTag, kHyperPlugin, session_start(hyper_parameters(recipe)));
    writer.plugin(kSessionEndTag, kHyperPlugin, session_success());
  }
  const auto contents = plugin_contents(folder.path());
  ASSERT_EQ(contents.size(), 2u);
  const Fields start = fields(only(fields(contents.at("_hparams_/session_start_info")), 3));
  std::map<std::string, std::string> shown;
  for (auto entry = start.find(1); entry != start.end() && entry->first == 1; ++entry) {
    const Fields pair = fields(entry->second), value = fields(only(pair, 2));
    ASSERT_EQ(value.size(), 1u);
    const auto& [kind, bytes] = *value.begin();  // 2: number, 3: string, 4: bool
    shown[only(pair, 1)] = kind == 2 ? "number " + std::to_string(number_in(bytes)) : kind == 4 ? "bool " + bytes : "string " + bytes;
  }
  EXPECT_THAT(shown, ElementsAre(Pair("cached", "bool 1"), Pair("list", "string [1,2]"), Pair("name", "string ce"),
                                 Pair("rate", "number 0.001000"), Pair("seed", "number 3.000000"), Pair("word", "string 7")));
  EXPECT_EQ(only(fields(only(fields(contents.at("_hparams_/session_end_info")), 4)), 1), "1");  // STATUS_SUCCESS
}

TEST(HyperParameters, OfASweepAreAnExperimentWithWhatDiffersAndTheMetric) {
  const TemporaryFolder folder;
  TensorBoardWriter(folder.path()).plugin(kExperimentTag, kHyperPlugin, experiment({"name", "train.batch_size"}, {"test.acc1"}));
  const Fields found = fields(only(fields(plugin_contents(folder.path()).at("_hparams_/experiment")), 2));
  std::vector<std::string> names;
  for (auto entry = found.find(4); entry != found.end() && entry->first == 4; ++entry) names.push_back(only(fields(entry->second), 1));
  EXPECT_THAT(names, ElementsAre("name", "train.batch_size"));
  EXPECT_EQ(only(fields(only(fields(only(found, 5)), 1)), 2), "test.acc1");
}

}  // namespace hyper_parameters_test
}  // namespace debias
