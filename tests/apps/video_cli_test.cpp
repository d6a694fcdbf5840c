// `debias rl play --video FILE.mp4`, with scripts in ffmpeg's place, and with ffmpeg where it is installed.
#include "debias/image/image_decode.h"
#include "tests/apps/agent_runs.h"
#include "tests/apps/command.h"

namespace debias::video_cli_test {

constexpr size_t kSide = 160, kPicture = 3 * kSide * kSide;
constexpr size_t kPictures = 51;  // the first state and 50 steps

// A script that has this encoder, notes beside itself its arguments and its input, and then goes on.
std::string ffmpeg_with(const std::string& encoder, const std::string& then) {
  return "#!/bin/sh\ncase \"$*\" in *-encoders*) echo ' V....D " + encoder + "              of this script'; exit;; esac\n" +
         "printf '%s\\n' \"$@\" > \"$0.words\"\n" + then;
}

constexpr const char* kMakesAVideo = R"(cat > "$0.input"
for video; do :; done
printf 'a video' > "${video#file:}"
)";

class Videos : public AgentRuns {
 protected:
  // In the place of any other ffmpeg.
  void install(const std::string& script) const {
    fs::create_directories(path("bin"));
    std::ofstream(path("bin/ffmpeg")) << script;
    fs::permissions(path("bin/ffmpeg"), fs::perms::owner_all);
  }

  // The PATH that has what was installed before all else.
  std::string scripts_first() const { return path("bin") + ":" + std::getenv("PATH"); }

  // The words that play an episode where PATH is `programs`.
  Words playing(const std::string& video, const std::string& programs) const {
    return {"env", "PATH=" + programs, kBinary, "rl", "play", path("run"), "--episodes", "1", "--video", path(video)};
  }
  ProcessResult play(const std::string& video, const std::string& programs) const {
    return run(with({"env", "--default-signal=CHLD"}, playing(video, programs)));
  }
  ProcessResult play(const std::string& video) const { return play(video, scripts_first()); }

  bool train() const { return run_debias(words("run", {"train.epochs=1"})).exit == 0; }

  // Of the video that was played last.
  Image first_still() const {
    const std::string still = file_text(path("run") + "/evaluation/film/01.png");
    return decode_image({reinterpret_cast<const uint8_t*>(still.data()), still.size()}, "01.png");
  }

  // Files that are named as a video, or lie beside it while it is made.
  size_t videos() const {
    const fs::directory_iterator all(path(""));
    return static_cast<size_t>(std::count_if(
        begin(all), end(all), [](const fs::directory_entry& entry) { return entry.path().filename().string().starts_with("video"); }));
  }
};

TEST_F(Videos, AsMp4AreMadeByFfmpegOfEveryPicture) {
  ASSERT_TRUE(train());
  install(ffmpeg_with("libx264", kMakesAVideo));
  const auto played = play("video.mp4");
  ASSERT_EQ(played.exit, 0) << played.err;
  EXPECT_THAT(played.out, HasSubstr(path("video.mp4") + "\n"));
  EXPECT_EQ(file_text(path("video.mp4")), "a video");
  EXPECT_EQ(videos(), 1u);
  const std::string pictures = file_text(path("bin/ffmpeg.input"));
  EXPECT_EQ(pictures.size(), kPictures * kPicture);
  const Image still = first_still();
  EXPECT_TRUE(std::equal(still.pixels.begin(), still.pixels.end(), pictures.begin(),
                         [](uint8_t pixel, char byte) { return pixel == static_cast<uint8_t>(byte); }));
  const std::string arguments = file_text(path("bin/ffmpeg.words"));
  expect_parts(arguments,
               {"-pixel_format\nrgb24\n-video_size\n160x160\n-framerate\n100/20\n-i\npipe:0\n", "-c:v\nlibx264\n", "-pix_fmt\nyuv420p\n"});
  install(ffmpeg_with("mpeg4", kMakesAVideo));
  ASSERT_EQ(play("video.mp4").exit, 0);
  EXPECT_THAT(file_text(path("bin/ffmpeg.words")), HasSubstr("-c:v\nmpeg4\n"));
}

TEST_F(Videos, ThatFfmpegFailsToMakeLeaveOneLineAndTheEarlierVideo) {
  ASSERT_TRUE(train());
  std::ofstream(path("video.mp4")) << "an earlier video";
  const auto fails = [&](const std::string& then, const std::string& line) {
    install(ffmpeg_with("libx264", then));
    expect_complaint(play("video.mp4"), 5, "video.mp4': ffmpeg failed: " + line);
    EXPECT_EQ(file_text(path("video.mp4")), "an earlier video");
    EXPECT_EQ(videos(), 1u);
  };
  fails(std::string(kMakesAVideo) + "echo begun >&2\necho 'no such colour' >&2\nexit 3\n", "no such colour; ");
  fails("exit 3\n", "it ended with exit code 3; ");
  fails("exit 0\n", "it did not take all frames; ");  // the pipe breaks, and its signal ends nothing
}

TEST_F(Videos, AreMadeWhereSigchldWasIgnored) {
  ASSERT_TRUE(train());
  const auto play_ignoring = [&] { return run(ignoring_sigchld(playing("video.mp4", scripts_first()))); };
  install(ffmpeg_with("libx264", kMakesAVideo));
  const auto played = play_ignoring();
  ASSERT_EQ(played.exit, 0) << played.err;
  EXPECT_EQ(file_text(path("video.mp4")), "a video");
  install(ffmpeg_with("libx264", "exit 3\n"));
  expect_complaint(play_ignoring(), 5, "video.mp4': ffmpeg failed: it ended with exit code 3; ");
}

// There is no run to play, which would be exit 3.
TEST_F(Videos, ThatCannotBeMadeAreRefusedBeforeARunIsLookedAt) {
  const std::string none = path("none");
  expect_complaint(play("video.avi", none), 2, "video.avi': unsupported extension '.avi'; use .gif or .mp4");
  expect_complaint(play("video.mp4", none), 2, "ffmpeg, which does not run here: it is not on PATH; install ffmpeg, or name a .gif");
  install("#!/bin/sh\necho 'ffmpeg: no libx264.so.164' >&2\nexit 127\n");
  expect_complaint(play("video.mp4"), 2, "ffmpeg, which does not run here: ffmpeg: no libx264.so.164; install");
  install(ffmpeg_with("libvpx", ""));
  expect_complaint(play("video.mp4"), 2, "ffmpeg has neither of the encoders libx264 and mpeg4");
  install(ffmpeg_with("libx264", ""));
  EXPECT_EQ(play("video.mp4").exit, 3);
  EXPECT_EQ(play("video.gif", none).exit, 3);
  expect_complaint(play("nowhere/video.gif", none), 5, "nowhere/video.gif'");
  EXPECT_EQ(videos(), 0u);
}

TEST_F(Videos, OfTheInstalledFfmpegShowTheEpisode) {
  if (run({"ffmpeg", "-version"}).exit != 0) GTEST_SKIP() << "no ffmpeg is installed";
  ASSERT_TRUE(train());
  const auto played = play("video.mp4", std::getenv("PATH"));
  ASSERT_EQ(played.exit, 0) << played.err;
  const auto shown = run({"ffmpeg", "-loglevel", "error", "-i", path("video.mp4"), "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:1"});
  ASSERT_EQ(shown.exit, 0) << shown.err;
  ASSERT_EQ(shown.out.size(), kPictures * 4 * kPicture);
  const Image still = first_still();
  double error = 0;
  for (size_t y = 0; y < 2 * kSide; ++y) {
    for (size_t x = 0; x < 6 * kSide; ++x) {  // each pixel is two pixels wide
      const size_t pixel = x / 6, channel = x % 3;
      error += std::abs(static_cast<uint8_t>(shown.out[y * 6 * kSide + x]) - still.row(static_cast<int>(y / 2))[3 * pixel + channel]);
    }
  }
  EXPECT_LT(error / (4 * kPicture), 6);  // of 255; compression loses some
}

}  // namespace debias::video_cli_test
