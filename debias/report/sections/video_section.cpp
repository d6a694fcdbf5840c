// Still frames of an episode, a strip for each run of an agent.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debias/report/charts/axis.h"
#include "debias/report/pages/embedded_png.h"
#include "debias/report/sections/report_sections.h"

namespace debias {
namespace {

constexpr int64_t kVideoBytes = 1'800'000;  // of a page's frames, as files

// As many as fit, evenly apart, the first and the last among them.
std::vector<size_t> frames_that_fit(const std::vector<std::string>& frames, int64_t most_bytes) {
  for (size_t count = frames.size(); count > 1; --count) {
    std::vector<size_t> chosen;
    int64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      chosen.push_back(i * (frames.size() - 1) / (count - 1));
      bytes += std::ssize(frames[chosen.back()]);
    }
    if (bytes <= most_bytes) return chosen;
  }
  return frames.empty() ? std::vector<size_t>{} : std::vector<size_t>{frames.size() - 1};
}

Html frame_figure(const VideoStill& still, const std::string& png) {
  const std::string when = fmt::format("step {}", still.control_step), reward = fmt::format("reward {}", short_number(still.reward));
  return element(
      "figure", "",
      thumbnail_image(png, fmt::format("{}, {}", when, reward)) + element("figcaption", "", plain(when) + Html{"<br/>"} + plain(reward)));
}

std::string episode_words(const RunRecord& run) {
  const VideoRecord& video = *run.video;
  const bool evaluated = fmt::format("{}", video.seed) == run.seed();
  return fmt::format("{}: episode {} of {}, played by the mean action of the policy in {} after {} control steps of training. It {} {}.",
                     run.label, video.episode + 1,
                     evaluated ? "those that training is evaluated with" : fmt::format("the seed {}", video.seed), video.checkpoint,
                     video.control_steps, video.diverged ? "ended early, in a non-finite state, with a return of" : "has a return of",
                     short_number(video.episode_return));
}

// Note that training continued after the video.
Html later_words(const RunRecord& run) {
  const double now = run.history.last_of_epochs("control_steps");
  if (std::isnan(now) || now <= static_cast<double>(run.video->control_steps)) return {};
  return plain(fmt::format(" Training has come to {} control steps since; ", short_number(now))) +
         code(fmt::format("debias rl play {}", shell_word(run.path))) + plain(" plays its newest policy.");
}

void add_video_of_run(Page& page, const RunRecord& run, int64_t most_bytes) {
  std::vector<std::string> frames, missing;
  for (size_t i = 0; i < run.video->stills.size(); ++i) {
    frames.push_back(thumbnail_bytes(fmt::format("{}/{}/{}", run.path, kVideoFolder, still_name(i))));
    if (frames.back().empty()) missing.push_back(still_name(i));
  }
  const std::vector<size_t> shown = frames_that_fit(frames, most_bytes);
  Html strip;
  for (const size_t i : shown) strip += frame_figure(run.video->stills[i], frames[i]);
  page.paragraph(plain(episode_words(run)) + later_words(run));
  page.add(element("div", "film", strip));
  if (shown.size() < frames.size()) {
    page.paragraph(plain(fmt::format("{} of {} frames are shown, to keep the file small.", shown.size(), frames.size())), "note");
  }
  if (!missing.empty()) {
    page.paragraph(
        plain(fmt::format("{} of {} frames are missing or not PNG files, {} the first; ", missing.size(), frames.size(), missing[0])) +
            code(fmt::format("debias rl play {}", shell_word(run.path))) + plain(" writes them again."),
        "missing");
  }
}

}  // namespace

void add_videos(Page& page, const ReportData& data) {
  if (std::ranges::none_of(data.runs, &RunRecord::of_agent)) return;
  page.heading(2, "Video");
  const auto videos = std::ranges::count_if(data.shown, [](const RunRecord& run) { return run.video.has_value(); });
  if (videos > 0) {
    page.paragraph(plain("Frames of an episode, evenly apart in time: below each its control step, and the reward added up until then."));
  }
  for (const auto& run : data.shown) {
    if (run.video) add_video_of_run(page, run, kVideoBytes / videos);
  }
  add_missing(page, data.shown, Part::kVideo);
}

}  // namespace debias
