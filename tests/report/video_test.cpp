// Videos of agents: what is kept of an episode, and what a page shows of it.
#include "debias/results/run_files.h"
#include "tests/report/reports.h"

namespace debias::video_test {

std::vector<int64_t> stills_of(int64_t steps) {
  std::vector<int64_t> kept;
  for (int64_t step = 0; step <= steps; ++step) {
    if (is_still(step, steps)) kept.push_back(step);
  }
  return kept;
}

TEST(VideoRecord, KeepsTwelveStatesEvenlyApart) {
  EXPECT_THAT(stills_of(50), ElementsAre(0, 4, 9, 13, 18, 22, 27, 31, 36, 40, 45, 50));
  EXPECT_THAT(stills_of(12), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12));
  EXPECT_THAT(stills_of(11), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(stills_of(2), ElementsAre(0, 1, 2));
  EXPECT_THAT(stills_of(1000), testing::SizeIs(12));
}

void write_agent_run(const std::string& folder) {
  write_text(
      folder + "/config.yaml",
      "name: agent\nseed: 1\nenvironment: {task: cartpole_swingup}\ntrain: {epochs: 2, control_steps: 1000}\noutput: " + folder + "\n");
  write_text(folder + "/environment.json", R"({"debias": "0.1.0"})");
  write_text(folder + "/metrics.jsonl", R"({"epoch": 1, "control_steps": 1000, "test.return_mean": 10.5}
{"epoch": 2, "control_steps": 2000, "test.return_mean": 12.5}
)");
  fs::create_directories(folder + "/evaluation");
}

VideoRecord video_of(int64_t frames) {
  VideoRecord video = {.checkpoint = "last.safetensors", .control_steps = 2000, .seed = 1, .episode_return = 12.25, .stills = {}};
  for (int64_t i = 0; i < frames; ++i) video.stills.push_back({80 * i, 0.25 * static_cast<double>(i)});
  return video;
}

void write_video(const std::string& folder, const VideoRecord& video, const std::string& png = "\x89PNG pixels") {
  write_text(folder + "/evaluation/film/film.json", to_json(video).dump(2));
  for (size_t i = 0; i < video.stills.size(); ++i) write_text(folder + "/evaluation/film/" + still_name(i), png);
}

TEST_F(Reports, AVideoIsReadAsItWasWritten) {
  VideoRecord video = video_of(3);
  video.diverged = true;
  write_video("run", video);
  const auto read = read_video("run");
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(video));
  EXPECT_EQ(read->stills.at(2).control_step, 160);
  EXPECT_FALSE(read_video("nowhere"));
}

TEST_F(Reports, ShowAVideosFramesWithTheirStepAndReward) {
  write_agent_run("run");
  write_video("run", video_of(12));
  const std::string page = html({"run"});
  EXPECT_EQ(attributes(well_formed(page), "src").size(), 12u);
  expect_parts(
      page,
      {"<figcaption>step 880<br/>reward 2.75</figcaption>",
       "run: episode 1 of those that training is evaluated with, played by the mean action of the policy in last.safetensors after "
       "2000 control steps of training. It has a return of 12.25.</p>"},
      {"class=\"missing\""});
}

TEST_F(Reports, OfAgentsAloneHaveNothingThatAsksForClasses) {
  write_agent_run("run");
  expect_parts(html({"run"}),
               {"<code>debias rl train run/config.yaml output=OTHER</code>",
                "run: no frames of an episode; <code>debias rl play run</code> adds them."},
               {"Verdict</h2>", "Groups</h2>", "Similarities</h2>", "t-SNE plot</h2>", "Nearest neighbours</h2>", "debias eval"});
  expect_parts(text({"run"}), {"run: no frames of an episode; debias rl play run would add them\n"}, {"debias eval"});
  write_run("encoder");
  expect_parts(html({"run", "encoder"}), {"An agent learns from rewards", "encoder: no t-SNE plot"});
  EXPECT_THAT(html({"encoder"}), Not(HasSubstr("Video</h2>")));
}

TEST_F(Reports, AreMadeWhateverAVideosFileHolds) {
  write_agent_run("run");
  const std::string whole = to_json(video_of(12)).dump();
  auto old = to_json(video_of(2));
  old.erase("checkpoint");
  auto wrong = to_json(video_of(2));
  wrong["stills"] = 3;
  for (const std::string& text :
       {std::string(), std::string("[]"), whole.substr(0, whole.size() / 2), old.dump(), wrong.dump(), to_json(video_of(13)).dump()}) {
    write_text("run/evaluation/film/film.json", text);
    const std::string page = html({"run"});
    EXPECT_THAT(page, HasSubstr("the video is left out: reading &#39;run/evaluation/film/film.json&#39;")) << text;
    EXPECT_THAT(page, HasSubstr("no frames of an episode"));
    EXPECT_TRUE(attributes(well_formed(page), "src").empty());
  }
}

TEST_F(Reports, SayWhichFramesOfAVideoAreMissing) {
  write_agent_run("run");
  write_video("run", video_of(12));
  const std::string video = "run/evaluation/film/";
  fs::remove(video + "03.png");
  fs::remove(video + "04.png");
  fs::create_directory(video + "04.png");
  write_text(video + "05.png", "<svg onload=\"alert(1)\">");
  write_text(video + "06.png", "\x89PNG" + std::string(2 << 20, 'x'));
  const std::string page = html({"run"});
  EXPECT_EQ(attributes(well_formed(page), "src").size(), 8u);
  expect_parts(page, {"4 of 12 frames are missing or not PNG files, 03.png the first; <code>debias rl play"}, {"onload"});
}

TEST_F(Reports, OfAgentsBeginWithTheirReturn) {
  write_agent_run("a");
  write_agent_run("b");
  EXPECT_THAT(run_report_text(read({"a"}), {}), StartsWith("Mean evaluation return, test: 12.5.\n"));
  EXPECT_THAT(run_report_text(read({"a", "b"}), {}), StartsWith("Mean evaluation return, test: a 12.5, b 12.5. No test compares them.\n"));
  EXPECT_THAT(html({"a"}), HasSubstr("<p class=\"lead\">Mean evaluation return, test: 12.5.</p>"));
}

TEST_F(Reports, ThinLargeVideosToKeepTheFileSmall) {
  write_agent_run("run");
  write_video("run", video_of(12), "\x89PNG" + std::string(250'000, 'x'));
  const std::string page = html({"run"});
  EXPECT_LT(page.size(), 2'000'000u);
  EXPECT_THAT(page, HasSubstr("4 of 12 frames are shown, to keep the file small."));
  for (const int step : {0, 240, 560, 880}) EXPECT_THAT(page, HasSubstr(fmt::format("<figcaption>step {}<br/>", step)));
}

TEST_F(Reports, SayOfWhichPolicyAndEpisodeAVideoIs) {
  write_agent_run("run");
  VideoRecord video = video_of(2);
  video.seed = 7;
  video.control_steps = 1500;
  video.diverged = true;
  write_video("run", video);
  const std::string page = html({"run"});
  expect_parts(page, {"episode 1 of the seed 7, played", "It ended early, in a non-finite state, with a return of 12.25.",
                      "Training has come to 2000 control steps since; <code>debias rl play run</code>"});
}

}  // namespace debias::video_test
