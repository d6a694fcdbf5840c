// Run folders in which somebody changed a value: every kind of number of every file, each to each of what it cannot be.
#include "debias/core/error.h"
#include "tests/report/reports.h"

namespace debias::edited_numbers_test {

constexpr const char* kBad[] = {"1e999", "-1e999", "1e300", "-1e300", "1e38", "-1", "0.5", "9223372036854775807", "18446744073709551615",
                                "\"x\"", "null",   "true",  "[]",     "{}"};
constexpr const char* kMark = "changed here";

// "" or what went wrong otherwise than a data error does.
std::string fault_of(const std::string& run) {
  try {
    const std::vector<RunRecord> runs = read_runs({run}, reading_program());
    run_report_html(runs, "0.1.0");
    run_report_text(runs, {.verbose = true});
    run_report_json(runs).dump();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kData ? "" : std::string("no data error: ") + error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

// Each numeric value of `text`, those of one list counted once, changed to each bad one.
int change_each(const std::string& file, const std::string& run, const std::string& before, const Json& json, const std::string& after) {
  int tried = 0;
  std::set<std::string> seen;
  const Json flat = json.flatten();
  for (const auto& [place, value] : flat.items()) {
    if (!value.is_number() || !seen.insert(std::regex_replace(place, std::regex("/[0-9]+"), "/#")).second) continue;
    Json marked = json;
    marked[Json::json_pointer(place)] = kMark;
    for (const char* bad : kBad) {
      write_text(file, before + replaced(marked.dump(), fmt::format("\"{}\"", kMark), bad) + after);
      EXPECT_EQ(fault_of(run), "") << file << " " << place << " " << bad;
      ++tried;
    }
  }
  return tried;
}

TEST(EditedNumbers, OfAnyFileOfARunAreReadOrRefusedAsData) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  write_whole_run(run);
  int tried = 0;
  std::vector<std::string> files = {run + "/environment.json"};
  for (const auto& entry : fs::directory_iterator(run + "/evaluation")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  for (const auto& file : files) {
    const std::string text = file_text(file);
    tried += change_each(file, run, "", Json::parse(text), "");
    write_text(file, text);
  }
  const std::string metrics = run + "/metrics.jsonl", text = file_text(metrics);
  const size_t end = text.find('\n'), third = text.find('\n', text.find('\n', end + 1) + 1);  // a step line, and the first epoch line
  tried += change_each(metrics, run, "", Json::parse(text.substr(0, end)), text.substr(end));
  const size_t second = text.rfind('\n', third - 1) + 1;
  tried += change_each(metrics, run, text.substr(0, second), Json::parse(text.substr(second, third - second)), text.substr(third));
  EXPECT_GE(tried, 500);
  RecordProperty("tried", tried);
}

}  // namespace debias::edited_numbers_test
