// What a report makes of a run folder: an evaluation, metrics.jsonl, environment.json and classes.json, with a line of --- between them.
#include <array>
#include <string_view>

#include "debias/report/sections/run_report.h"
#include "fuzz/fuzz_target.h"

namespace {

using namespace debias;

const std::vector<std::string> kFiles = {"evaluation/groups.json", "metrics.jsonl", "environment.json", "classes.json", "config.yaml"};
constexpr std::array<std::string_view, 4> kWithout = {"{}", "", "{}", "{}"};
constexpr std::string_view kRecipe = "name: a\nseed: 1\nobjective: [{name: infonce}]\ntrain: {epochs: 2}\n", kBetween = "\n---\n";

fuzz::Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

void hold_parts(fuzz::MemoryFolder& folder, std::string_view text) {
  for (size_t i = 0; i < kWithout.size(); ++i) {
    const size_t end = std::min(text.find(kBetween), text.size());
    folder.hold(i, bytes_of(text.empty() ? kWithout[i] : text.substr(0, end)));
    text.remove_prefix(std::min(end + kBetween.size(), text.size()));
  }
  folder.hold(kWithout.size(), bytes_of(kRecipe));
}

void require_reports(const std::vector<RunRecord>& runs) {
  const std::string page = run_report_html(runs, "1.0");
  fuzz::require(!run_report_text(runs, {.verbose = true}).empty(), "there is something to say");
  fuzz::require(page.ends_with("</html>\n"), "the page is whole");
  const std::string json = run_report_json(runs).dump(-1, ' ', false, Json::error_handler_t::replace);
  fuzz::require(Json::parse(json).at("runs").size() == 1, "what programs read is JSON");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::MemoryFolder folder(kFiles);
  hold_parts(folder, {reinterpret_cast<const char*>(data), size});
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    require_reports(read_runs({folder.path()}, {"1.0", std::make_shared<const MetricTitles>(std::vector<Metric>())}));
  });
  return 0;
}
