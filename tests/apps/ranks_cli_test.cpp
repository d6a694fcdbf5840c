// `debias train --ranks N`, and processes that others start: what they leave, what ends them, and with which line.
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/apps/command.h"
#include "tests/apps/named_pictures.h"
#include "tests/apps/rank_processes.h"
#include "tests/support/small_disk.h"

namespace debias::ranks_cli_test {

// All tensors but the averages of norms, which depend on how a batch is divided.
std::string weights_of(const std::string& run) {
  return tensor_bytes(run + "/checkpoints/last.safetensors",
                      [](const std::string& name) { return !name.ends_with("running_mean") && !name.ends_with("running_var"); });
}

void expect_same_bytes(const std::string& a, const std::string& b) {
  EXPECT_EQ(file_text(a + "/metrics.jsonl"), file_text(b + "/metrics.jsonl"));
  EXPECT_TRUE(weights_of(a) == weights_of(b)) << b;
}

class RankRuns : public InFolder {
 protected:
  RankRuns() { std::ofstream("small.yaml") << kSmallRecipe; }
  Words training(const std::string& name, const Words& more = {}) const {
    return with({"train", "small.yaml", "train.workers=1", "output=" + name}, more);
  }
  Words command(const std::string& name, const Words& more = {}) const { return with({kBinary}, training(name, more)); }
  // Long enough to be disturbed, with a checkpoint at almost every step.
  Words endless(const std::string& name, const Words& more = {}) const {
    return command(name, with({"train.epochs=5000", "train.checkpoint_every=0.001"}, more));
  }
  bool trains(const std::string& name) const {
    return soon([&] { return fs::exists(name + "/checkpoints/previous.safetensors"); });
  }
  void expect_resumable(const std::string& name) const {
    const std::string folder = name + "/checkpoints/";  // killed between two names, a run has `previous` alone
    const std::string file = folder + (fs::exists(folder + "last.safetensors") ? "last" : "previous") + ".safetensors";
    done({"checkpoint", "verify", file});
  }
};

TEST_F(RankRuns, OfTwoAreOneProcessInParts) {
  const auto two = done(training("two", {"--ranks", "2", "train.epochs=2", "train.synchronise_norm=false"}));
  EXPECT_THAT(two.out, HasSubstr("2 epochs in"));
  EXPECT_EQ(times("epoch 1/2", file_text("two/train.log")), 1u);
  done(training("one", {"train.micro_batch=8", "train.epochs=2"}));
  expect_same_bytes("one", "two");
}

// The launcher would wait for ends that nobody tells it.
TEST_F(RankRuns, EndWhereSigchldWasIgnored) {
  const auto ignoring = [&](const Words& more) {
    return run(with({"timeout", "--signal=KILL", "120"}, ignoring_sigchld(command("two", more))));
  };
  const auto trained = ignoring({"--ranks", "2", "train.epochs=1"});
  EXPECT_EQ(trained.exit, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("1 epochs in"));
  expect_complaint(ignoring({"--ranks", "2", "train.epochs=1"}), 2, "two");  // there is a run
}

TEST_F(RankRuns, BeyondTheCoresAreWarnedOf) {
  const auto with_ranks = [&](const std::string& name, const char* ranks) {
    return run(with({"taskset", "-c", "0"}, command(name, {"--ranks", ranks, "train.epochs=1"})));
  };
  const ProcessResult two = with_ranks("two", "2");
  ASSERT_EQ(two.exit, 0) << two.err;
  EXPECT_THAT(two.err, HasSubstr("warning: --ranks 2 on 1 core: ranks that share a core wait for one another; start at most 1"));
  EXPECT_THAT(with_ranks("one", "1").err, Not(HasSubstr("warning: --ranks")));
}

ProcessResult run_with(const Background::Variables& variables, const Words& words) { return Background(words, variables).wait(); }

TEST_F(RankRuns, AreRefusedWhereTheEnvironmentSaysHalf) {
  expect_complaint(run_with({{"RANK", "0"}}, command("run")), 2, "RANK is set and WORLD_SIZE is not");
  expect_complaint(run_with({{"WORLD_SIZE", "2"}}, command("run")), 2, "WORLD_SIZE is set and RANK is not");
  expect_complaint(run_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}}, command("run")), 2,
                   "MASTER_ADDR is set and MASTER_PORT is not");
  expect_complaint(run_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, command("run")), 2,
                   "no rendezvous point is given; set MASTER_ADDR and MASTER_PORT");
  expect_complaint(run_with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}, command("run")), 2, "RANK is '2', which is not a number from 0 to 1");
  expect_complaint(run_with({{"OMPI_COMM_WORLD_RANK", "0"}}, command("run")), 2, "OMPI_COMM_WORLD_RANK is set and OMPI_COMM_WORLD_SIZE");
  expect_complaint(run_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, command("run", {"--rendezvous", "nowhere"})), 2, "neither HOST:PORT");
  expect_complaint(run_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29999"}},
                            command("run", {"--ranks", "2"})),
                   2, "leave --ranks out");
  EXPECT_FALSE(fs::exists("run"));
}

TEST_F(RankRuns, AloneTakeAPlaceToMeet) {
  const auto alone = run_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, command("run", {"--rendezvous", "127.0.0.1:29500", "train.epochs=1"}));
  EXPECT_EQ(alone.exit, 0) << alone.err;  // of a script that starts any number
}

TEST_F(RankRuns, AreRefusedAPortInUse) {
  const int listener = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  socklen_t length = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const std::string port = std::to_string(ntohs(address.sin6_port));
  expect_complaint(run_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}}, command("run")), 2,
                   "the port is in use");
  close(listener);
}

// Two ranks that somebody else starts, each with words of its own; what they say.
std::vector<ProcessResult> run_two(const std::vector<Background::Variables>& variables, const std::vector<Words>& words) {
  Background first(words[0], variables[0]), second(words[1], variables[1]);
  return {first.wait(), second.wait()};
}

TEST_F(RankRuns, MeetWhereverTheyWereStarted) {
  const std::string port = std::to_string(free_port()), file = "file:meeting";
  const auto of = [](const std::string& rank, const std::string& size, const std::string& local, int number) {
    return Background::Variables{{rank, std::to_string(number)}, {size, "2"}, {local, std::to_string(number)}};
  };
  auto torchrun = [&](int number) {
    auto all = of("RANK", "WORLD_SIZE", "LOCAL_RANK", number);
    all["MASTER_ADDR"] = "127.0.0.1";
    all["MASTER_PORT"] = port;
    return all;
  };
  const Words none, at_port = {"--rendezvous", "127.0.0.1:" + std::to_string(free_port())}, at_file = {"--rendezvous", file};
  const std::vector<std::pair<std::function<Background::Variables(int)>, Words>> starts = {
      {torchrun, none},
      {[&](int n) { return of("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", n); }, at_port},
      {[&](int n) { return of("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", n); }, at_file}};
  for (size_t i = 0; i < starts.size(); ++i) {
    const std::string name = "run-" + std::to_string(i);
    auto words = starts[i].second;
    words.push_back("train.epochs=1");
    const auto results = run_two({starts[i].first(0), starts[i].first(1)}, {command(name, words), command(name, words)});
    for (const auto& result : results) EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(results[1].out + results[1].err, "");
    expect_same_bytes("run-0", name);
  }
}

TEST_F(RankRuns, OfABatchScriptAreOneProcess) {
  Background::Variables script = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"}};
  const auto result = run_with(script, command("run", {"train.epochs=1"}));
  EXPECT_EQ(result.exit, 0) << result.err;
  script.insert({{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(free_port())}});  // for the tasks that it will start
  const auto exported = run_with(script, command("exported", {"train.epochs=1"}));
  EXPECT_EQ(exported.exit, 0) << exported.err;
  script["SLURM_STEP_NUM_TASKS"] = "4";
  expect_complaint(run_with(script, command("task", {"train.rank_timeout=2"})), 5, "ranks 1, 2, 3 of 4 did not come");
}

class Disturbed : public RankRuns {};

Background::Variables at_port(const char* rank, int port, const char* size = "2") {
  return {{"RANK", rank}, {"WORLD_SIZE", size}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(port)}};
}

TEST_F(Disturbed, AKilledRankIsNamedAndTheRunGoesOn) {
  for (const int rank : {0, 2}) {
    const std::string name = "run-" + std::to_string(rank);
    Background run(endless(name, {"--ranks", "3", "train.batch_size=12"}));
    ASSERT_TRUE(trains(name)) << run.err();
    kill(process_of_rank(run.id(), rank), SIGKILL);
    expect_complaint(run.wait(), 5, "rank " + std::to_string(rank) + " of 3 was ended by signal 9");
    expect_resumable(name);
  }
}

TEST_F(Disturbed, AStoppedRankIsNamedAfterTheTimeout) {
  Background run(endless("run", {"--ranks", "3", "train.batch_size=12", "train.rank_timeout=3"}));
  ASSERT_TRUE(trains("run")) << run.err();
  kill(process_of_rank(run.id(), 1), SIGSTOP);
  expect_complaint(run.wait(), 5, "rank 1 of 3 does not answer any more");
  expect_resumable("run");
}

TEST_F(Disturbed, ASignalToOneRankEndsAllWithACheckpoint) {
  for (const int rank : {0, 1}) {
    const std::string name = "run-" + std::to_string(rank);
    Background run(endless(name, {"--ranks", "2"}));
    ASSERT_TRUE(trains(name)) << run.err();
    kill(process_of_rank(run.id(), rank), SIGTERM);
    expect_complaint(run.wait(), 75, "rank " + std::to_string(rank) + " of 2: stopped by SIGTERM after step");
    expect_resumable(name);
  }
}

TEST_F(Disturbed, ASignalToTheLauncherGoesToAll) {
  Background run(endless("run", {"--ranks", "2"}));
  ASSERT_TRUE(trains("run")) << run.err();
  kill(run.id(), SIGTERM);
  expect_complaint(run.wait(), 75, "stopped by SIGTERM after step");
}

TEST_F(Disturbed, RanksEndWithTheirLauncher) {
  Background run(endless("run", {"--ranks", "2"}));
  ASSERT_TRUE(trains("run")) << run.err();
  const pid_t ranks[] = {process_of_rank(run.id(), 0), process_of_rank(run.id(), 1)};
  kill(run.id(), SIGKILL);
  run.wait();
  for (const pid_t rank : ranks) EXPECT_TRUE(soon([&] { return kill(rank, 0) != 0; })) << rank;
  expect_resumable("run");
}

TEST_F(Disturbed, AMissingRankIsNamed) {
  expect_complaint(run_with(at_port("0", free_port()), command("run", {"train.rank_timeout=2"})), 5, "rank 1 of 2 did not come within 2 s");
  EXPECT_FALSE(fs::exists("run"));
}

TEST_F(Disturbed, AMissingLeaderIsNamed) {
  expect_complaint(run_with(at_port("1", free_port()), command("run", {"train.rank_timeout=2"})), 5, "rank 0 did not answer within 2 s");
}

TEST_F(Disturbed, ARankStoppedWhileTheyMeetSaysThatNothingWasBegun) {
  const std::string meeting = "meeting";
  Background run(command("run", {"--rendezvous", "file:" + meeting}), {{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  ASSERT_TRUE(soon([&] { return fs::exists(meeting); })) << run.err();
  kill(run.id(), SIGTERM);
  expect_complaint(run.wait(), 75, "rank 1 of 2: stopped by SIGTERM before training began; start it again");
  EXPECT_FALSE(fs::exists("run"));
}

TEST_F(Disturbed, AllThatCameReportWhoDidNot) {
  const int port = free_port();
  const auto words = command("run", {"train.rank_timeout=15"});
  Background first(words, at_port("0", port, "3"));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  Background second(words, at_port("1", port, "3"));
  for (const auto& result : {first.wait(), second.wait()}) expect_complaint(result, 5, "rank 0 of 3: rendezvous: rank 2 of 3 did not come");
  EXPECT_FALSE(fs::exists("run"));
}

// Rank 0 has the port, of which c10d asks without a limit of time.
TEST_F(Disturbed, AStoppedLeaderAtWhichTheyMeetIsNamedAfterTheTimeout) {
  const int port = free_port();
  const auto words = endless("run", {"train.rank_timeout=10"});
  Background first(words, at_port("0", port)), second(words, at_port("1", port));
  ASSERT_TRUE(trains("run")) << first.err() << second.err();
  kill(first.id(), SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  expect_complaint(second.wait(), 5, "rank 0 of 2, at which the processes meet, does not answer any more");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  expect_resumable("run");
}

// This program as a later version, by its text in the file.
std::string with_another_version(const TemporaryFolder& folder) {
  const std::string said = run_debias({"--version"}).out, version = said.substr(said.find(' ') + 1, said.find('\n') - said.find(' ') - 1);
  std::string program = file_text(kBinary);
  size_t found = 0;
  for (size_t at = 0; (at = program.find(version + '\0', at)) != std::string::npos; ++at, ++found) program[at] = '9';
  EXPECT_GT(found, 0u) << version;
  const std::string path = folder / "another-debias";
  std::ofstream(path, std::ios::binary) << program;
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST_F(Disturbed, RanksOfTwoVersionsAreRefused) {
  const int port = free_port();
  auto other = command("run");
  other[0] = with_another_version(folder_);
  const auto results = run_two({at_port("0", port), at_port("1", port)}, {command("run"), other});
  for (const auto& result : results) {
    expect_complaint(result, 2, "rank 1 of 2 has not the version of rank 0: 'debias ");
    EXPECT_THAT(result.err, ContainsRegex("on rank 0, 'debias 9.*' there"));
  }
  EXPECT_FALSE(fs::exists("run"));
}

TEST_F(Disturbed, RanksOfTwoRecipesAreRefused) {
  const int port = free_port();
  const auto results = run_two({at_port("0", port), at_port("1", port)}, {command("run"), command("run", {"train.batch_size=8"})});
  for (const auto& result : results) {
    expect_complaint(result, 2, "rank 1 of 2 has not the recipe of rank 0: train.batch_size is 16 on rank 0 and 8 there");
  }
  EXPECT_FALSE(fs::exists("run"));
}

class DisturbedPictures : public Disturbed {
 protected:
  Words pictures(const std::string& name, const std::string& root, const Words& more = {}) const {
    return command(name, with({"data.train={name: image_folder, root: " + root + "}", "train.epochs=2"}, more));
  }
  NamedPictures pictures_;
};

TEST_F(DisturbedPictures, RanksOfTwoListingsAreRefused) {
  const std::string one = pictures_.folder("one", {"a", "b", "c", "d"}, "train");
  const int port = free_port();
  const std::string two = "two";
  fs::copy(one, two, fs::copy_options::recursive);
  fs::remove(fs::directory_iterator(two + "/a")->path());
  const auto results = run_two({at_port("0", port), at_port("1", port)}, {pictures("run", one), pictures("run", two)});
  for (const auto& result : results) expect_complaint(result, 2, "rank 1 of 2 has not the training images of rank 0");
  EXPECT_THAT(results[0].err, HasSubstr("images then"));
}

TEST_F(DisturbedPictures, AnUnreadableImageOfOneRankIsNamed) {
  const std::string root = pictures_.folder("broken", {"a", "b", "c", "d"}, "train");
  const fs::path broken = fs::directory_iterator(root + "/b")->path();
  fs::resize_file(broken, fs::file_size(broken) / 2);
  const ProcessResult result = Background(pictures("run", root, {"--ranks", "2"})).wait();
  expect_complaint(result, 3, broken.filename().string());
  EXPECT_THAT(result.err, ContainsRegex("debias: rank [01] of 2: "));
}

TEST_F(Disturbed, AFullDiskOfRankZeroEndsAll) {
  const SmallDisk disk(2 << 20);
  if (!disk.is_there()) GTEST_SKIP() << "nothing may be mounted here";
  disk.fill(256 << 10);
  auto words = command("elsewhere", {"--ranks", "2"});
  words.push_back("output=" + (disk / "run"));
  const ProcessResult result = Background(words).wait();
  expect_complaint(result, 5, "rank 0 of 2: ");
}

// Kills of random ranks of four at random moments, each resumed: the bytes of the run that nothing disturbed.
void expect_kills_change_nothing(RankRuns&, const std::string& whole, const std::function<Words(bool resumes)>& words,
                                 const std::string& run, int kills, unsigned seed) {
  std::mt19937 random(seed);
  int done = 0;
  for (int start = 0; done < kills; ++start) {
    Background process(words(start > 0));
    const int rank = static_cast<int>(random() % 4);
    const auto moment = std::chrono::milliseconds(random() % 4000);
    pid_t victim = 0;
    ASSERT_TRUE(soon([&] { return (victim = process_of_rank(process.id(), rank)) != 0; })) << process.err();
    std::this_thread::sleep_for(moment);
    if (kill(victim, SIGKILL) != 0) break;  // it has ended
    const ProcessResult result = process.wait();
    if (result.exit == 0) break;
    expect_complaint(result, 5, "rank " + std::to_string(rank) + " of 4 was ended by signal 9");
    ++done;
  }
  EXPECT_GT(done, 0);
  const ProcessResult rest = Background(words(true)).wait();
  ASSERT_EQ(rest.exit, 0) << rest.err;
  expect_same_bytes(whole, run);
}

TEST_F(Disturbed, KillsAndResumesEndInTheSameBytes) {
  const Words recipe = {"--ranks", "4", "train.epochs=8", "train.checkpoint_every=0.2"};
  ASSERT_EQ(Background(command("whole", recipe)).wait().exit, 0);
  expect_kills_change_nothing(
      *this, "whole",
      [&](bool resumes) {
        auto words = command("killed", recipe);
        if (resumes) words.push_back("--resume");
        return words;
      },
      "killed", 2, 7);
}

}  // namespace debias::ranks_cli_test
