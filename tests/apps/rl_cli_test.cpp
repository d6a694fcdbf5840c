// debias rl as processes; skipped where it was built without MuJoCo and EGL.
#include "tests/apps/agent_runs.h"
#include "tests/apps/command.h"

namespace debias::rl_cli_test {

class RlCommand : public AgentRuns {
 protected:
  std::string trace(const std::string& name) const {
    return file_text(path(name) + "/metrics.jsonl") + tensor_bytes(path(name) + "/checkpoints/last.safetensors");
  }
};

TEST_F(RlCommand, GivesTheSameBytesHoweverOftenItIsStoppedAndKilled) {
  done(words("whole"));
  fs::file_time_type written{};
  for (const int signal : {SIGTERM, SIGKILL, SIGTERM, SIGKILL}) {
    Background process(with({kBinary}, words("broken", {"--resume"})));
    written = wait_for_checkpoint(path("broken"), written);
    std::this_thread::sleep_for(std::chrono::milliseconds(37));  // in the middle of a step, or of saving it
    process.signal(signal);
    EXPECT_EQ(process.wait().exit, signal == SIGTERM ? 75 : 128 + SIGKILL);
    std::error_code none;  // it may have been killed between two names
    written = fs::last_write_time(path("broken") + "/checkpoints/last.safetensors", none);
  }
  done(words("broken", {"--resume"}));
  EXPECT_TRUE(trace("broken") == trace("whole"));
  const auto finished = run_debias(words("broken", {"--resume"}));
  EXPECT_THAT(finished.out, HasSubstr("finished already"));
  EXPECT_TRUE(trace("broken") == trace("whole"));
}

TEST_F(RlCommand, TrainAloneDoesTheSame) {
  done(words("agent", {"train.epochs=1"}));
  const auto trained = done({"train", path("tiny.yaml"), "output=" + path("recipe"), "train.epochs=1", "--json"});
  EXPECT_EQ(Json::parse(trained.out)["diverged"], 0);
  EXPECT_TRUE(trace("recipe") == trace("agent"));
}

TEST_F(RlCommand, PlaysTheBestCheckpoint) {
  done(words("run", {"train.epochs=2", "evaluate.select=test.return_mean"}));
  double best = -1;
  std::ifstream metrics(path("run") + "/metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) best = std::max(best, Json::parse(line).value("test.return_mean", -1.0));
  const auto played = done({"rl", "play", path("run"), "--episodes", "2", "--checkpoint", "best", "--json"});
  EXPECT_EQ(Json::parse(played.out)["return_mean"], best);
  fs::remove(path("run") + "/checkpoints/best.safetensors");
  expect_one_line(run_debias({"rl", "play", path("run"), "--checkpoint", "best"}), 3, "`best` exists only with evaluate.select");
}

TEST_F(RlCommand, PlaysEpisodesAndWritesAVideo) {
  done(words("run", {"train.epochs=1", "evaluate.episodes=2"}));
  const auto played = done({"rl", "play", path("run"), "--episodes", "2", "--video", path("video.gif"), "--json"});
  const auto json = Json::parse(played.out);
  EXPECT_EQ(json["returns"].size(), 2u);
  EXPECT_EQ(json["control_steps"], 1500);
  std::ifstream metrics(path("run") + "/metrics.jsonl");
  Json last;
  for (std::string line; std::getline(metrics, line);) last = Json::parse(line);
  EXPECT_EQ(json["return_mean"], last["test.return_mean"]);  // the same episodes
  const std::string video = file_text(path("video.gif"));
  EXPECT_EQ(video.substr(0, 6), "GIF89a");
  EXPECT_EQ(times(std::string("\x21\xF9\x04\x05", 4), video), 51u);  // the first state and 50 steps
  EXPECT_EQ(run_debias({"rl", "play", path("nowhere")}).exit, 3);
}

// A run's checkpoint, as another MuJoCo would have written it.
void change_mujoco(const std::string& path, const std::string& version) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  auto metadata = file.metadata();
  auto state = nlohmann::ordered_json::parse(metadata.at("debias.agent"));
  state["mujoco"] = version;
  metadata["debias.agent"] = state.dump();
  std::vector<std::vector<char>> bytes;
  std::vector<TensorBytes> tensors;
  for (const auto& entry : file.tensors()) {
    bytes.emplace_back(entry.end - entry.begin);
    file.read(entry, bytes.back().data());
    tensors.push_back({entry.name, entry.dtype, entry.shape, bytes.back().data()});
  }
  write_safetensors(path, tensors, metadata);
}

TEST_F(RlCommand, SaysWhereItPlaysOnAnotherMujocoThanItWasTrainedOn) {
  done(words("run", {"train.epochs=1"}));
  const Words play = {"rl", "play", path("run"), "--episodes", "1", "--json"};
  const auto same = done(play);
  EXPECT_EQ(times("was trained on MuJoCo", same.err), 0u) << same.err;
  change_mujoco(path("run") + "/checkpoints/last.safetensors", "2.1.0");
  const auto other = done(play);
  EXPECT_THAT(other.err, HasSubstr("was trained on MuJoCo 2.1.0 rendered by "));
  const auto before = Json::parse(same.out), after = Json::parse(other.out);
  EXPECT_EQ(before["trained"], (Json{{"mujoco", before["mujoco"]}, {"renderer", before["renderer"]}}));
  EXPECT_EQ(after["mujoco"], before["mujoco"]);
  EXPECT_EQ(after["trained"]["mujoco"], "2.1.0");
}

TEST_F(RlCommand, NamesAndCorrectsAMisspeltCommand) {
  expect_complaint(run_debias({"rl", "trian", "x"}), 2, "rl: unknown command 'trian'; did you mean 'train'?");
}

TEST_F(RlCommand, RefusesASeedBelowZero) {
  const auto found = run_debias({"rl", "play", path("none"), "--seed", "-3"});
  EXPECT_EQ(found.exit, 2);
  EXPECT_THAT(found.err, HasSubstr("--seed -3: give 0 or more"));
}

TEST_F(RlCommand, KeepsFramesOfWhatItPlayedForTheReport) {
  done(words("a run", {"train.epochs=1"}));
  const std::string run = path("a run") + "/";
  const auto report = [&] { return page_of({run}, path("page.html")); };
  EXPECT_THAT(report(), HasSubstr("no frames of an episode"));
  done({"rl", "play", run, "--episodes", "1", "--seed", "7"});
  EXPECT_THAT(report(), HasSubstr("episode 1 of the seed 7"));
  const auto played = run_debias({"rl", "play", run, "--episodes", "1", "--json"});  // takes the place of the first video
  ASSERT_EQ(played.exit, 0) << played.err;
  const auto video = json_in(run + "evaluation/film/film.json");
  EXPECT_EQ(video["return"], Json::parse(played.out)["returns"][0]);
  EXPECT_EQ(video["control_steps"], 1500);
  EXPECT_EQ(video["diverged"], false);
  ASSERT_EQ(video["stills"].size(), 12u);
  EXPECT_EQ(video["stills"][0], (Json{{"control_step", 0}, {"reward", 0.0}}));
  EXPECT_EQ(video["stills"][11]["control_step"], 1000);
  EXPECT_EQ(video["stills"][11]["reward"], video["return"]);
  const std::string page = report();
  EXPECT_THAT(page, HasSubstr("episode 1 of those that training is evaluated with"));
  EXPECT_EQ(times("<img src=\"data:image/png;base64,", page), 12u);
  size_t left = 0;
  for (const auto& entry : fs::directory_iterator(run + "evaluation")) left += entry.path().filename().string().starts_with("film");
  EXPECT_EQ(left, 1u);  // nothing half beside it
}

TEST_F(RlCommand, PlaysAlsoWhereItsFramesCannotBeKept) {
  done(words("run", {"train.epochs=1"}));
  std::ofstream(path("run") + "/evaluation/film") << "a file";
  const auto played = done({"rl", "play", path("run"), "--episodes", "1", "--json"});
  EXPECT_EQ(Json::parse(played.out)["returns"].size(), 1u);
  EXPECT_THAT(played.err, HasSubstr("will not show this video"));
}

TEST_F(RlCommand, ReportShowsTheReturnOfARun) {
  done(words("run"));
  const std::string page = page_of({path("run")}, path("page.html"));
  expect_parts(page, {"mean evaluation return, test", ">control steps<", "training time per epoch, minutes", "agent steps per second"});
}

TEST_F(RlCommand, WhatCannotRunLeavesOneLineAndNoFolder) {
  const auto refused = [&](int code, const std::string& line, const Words& more) {
    expect_one_line(run_debias(words("none", more)), code, line);
  };
  refused(2, "unknown task 'cartpole_swing'; did you mean 'cartpole_swingup'", {"environment.task=cartpole_swing"});
  refused(2, "unknown option 'filter'; did you mean 'filters'", {"agent.filter=3"});
  refused(2, "crop 84 is larger than the frames of 20 pixels", {"agent.crop=84"});
  refused(2, "objective 'infonce': positives: it takes one, found 2; set positives: 1",
          {"objective={name: infonce, positives: 2}", "--dry-run"});
  refused(2, "drop_false_negatives needs labels", {"objective.drop_false_negatives=true"});
  EXPECT_FALSE(fs::exists(path("none")));
  const ProcessResult plan = run_debias(words("none", {"--dry-run", "--json"}));
  EXPECT_EQ(Json::parse(plan.out)["config"]["environment"]["task"], "cartpole_swingup") << plan.err;
  const auto large =
      run_debias(words("large", {"environment.pixels=1024", "train.control_steps=1000000000000", "replay.capacity=50000000000"}));
  EXPECT_EQ(large.exit, 5) << large.err;
  EXPECT_THAT(large.err, HasSubstr("lower replay.capacity or replay.megabytes"));
  fs::create_directory(path("encoder"));
  std::ofstream(path("encoder") + "/config.yaml") << "data: {train: glyphs}\n";
  const auto played = run_debias({"rl", "play", path("encoder")});
  EXPECT_EQ(played.exit, 2);
  EXPECT_THAT(played.err, HasSubstr("is a run of an encoder, not of an agent; evaluate it with debias eval"));
  const Words train = {"train", path("tiny.yaml"), "output=" + path("none")};
  expect_one_line(run_debias(with(train, {"--ranks", "2"})), 2, "is the recipe of an agent, which learns in a single process");
  expect_one_line(run_debias(with(train, {"--resume", "--accept-data-change"})), 2, "is the recipe of an agent, which has no data sets");
  EXPECT_FALSE(fs::exists(path("none")));
  std::ofstream(path("pictures.yaml")) << "data: {train: glyphs}\n";
  const auto pictures = run_debias({"rl", "train", path("pictures.yaml")});
  EXPECT_EQ(pictures.exit, 2);
  EXPECT_THAT(pictures.err, HasSubstr("use debias train"));
}

TEST_F(RlCommand, WithoutARendererSaysWhatToInstall) {
  setenv("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent.json", 1);
  const auto found = run_debias(words("none"));
  unsetenv("__EGL_VENDOR_LIBRARY_FILENAMES");
  EXPECT_EQ(found.exit, 1) << found.err;
  EXPECT_THAT(found.err, HasSubstr("install Mesa's EGL (packages libegl1, libegl-mesa0 and libgl1-mesa-dri; in a checkout: "));
  EXPECT_FALSE(fs::exists(path("none")));
}

TEST_F(RlCommand, ReplaysThatDoNotFitAreRefusedBeforeThereIsAFolder) {
  const Words large = {"train.epochs=1000", "train.control_steps=1000000000", "replay.capacity=1000000000000"};
  expect_refused(run_debias(words("run", {"replay.megabytes=0.01"})), 2, "raise replay.megabytes");
  EXPECT_FALSE(fs::exists(path("run")));
  expect_refused(run_debias(words("run", large)), 5, "lower replay.capacity or replay.megabytes");
  EXPECT_FALSE(fs::exists(path("run")));
  ASSERT_EQ(run_debias(words("run", {"train.epochs=1"})).exit, 0) << "the corrected command finds nothing in its way";
  const std::string before = trace("run");
  EXPECT_EQ(run_debias(words("run", with(large, {"--overwrite"}))).exit, 5);
  EXPECT_TRUE(trace("run") == before) << "what is refused overwrites nothing";
}

}  // namespace debias::rl_cli_test
