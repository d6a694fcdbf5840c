// Tensors of devices among threads, without a device: the host plays its part where tensors have to arrive, tensors without data where they
// must not come to the host, and groups that never end an exchange where a rank is lost.
#include "debias/ranks/device_groups.h"

#include <gmock/gmock.h>

#include <latch>

#include "tests/ranks/device_doubles.h"
#include "tests/ranks/threads.h"
#include "tests/support/refusals.h"

namespace debias {
namespace device_groups_test {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const c10::Device kHost(at::kCPU), kNowhere(at::kMeta);

std::function<void(Rendezvous&, int64_t)> all_with(std::shared_ptr<const DeviceGroups> groups) {
  return [groups = std::move(groups)](Rendezvous& rendezvous, int64_t) { rendezvous.devices = groups; };
}

at::Tensor rows_of(int64_t rank, int64_t count) { return at::sin(at::arange(count, at::kFloat) * 0.37 + static_cast<double>(rank)) * 100; }

// Exchanges of every kind, with sums of more than one piece.
struct Exchanged {
  static constexpr int64_t kCalls = 4 + 1 + 1 + 2 * 2 + 2;
  explicit Exchanged(const Ranks& ranks) {
    const int64_t rank = ranks.rank();
    for (const auto type : {at::kFloat, at::kDouble, at::kLong, at::kByte}) {
      tensors.push_back(ranks.gather(rows_of(rank, 6).view({3, 2}).abs().to(type)));
    }
    tensors.push_back(ranks.gather(rows_of(rank, 5), Ranks::Channel::kStatistics));
    const RowRange share = ranks.share_of(7);
    tensors.push_back(ranks.gather_rows(rows_of(0, 14).view({7, 2}).slice(0, share.begin, share.end), 7));
    const std::vector<at::Tensor> sums = {rows_of(rank, (1 << 20) + 13), rows_of(rank, 24).view({2, 3, 2, 2})};
    ranks.sum_ordered(sums);
    const std::vector<at::Tensor> leaders = {rows_of(rank, 9), at::scalar_tensor(rank, at::kLong), at::empty({0})};
    ranks.take_from_leader(leaders);
    tensors.insert(tensors.end(), sums.begin(), sums.end());
    tensors.insert(tensors.end(), leaders.begin(), leaders.end());
    for (const auto channel : {Ranks::Channel::kRows, Ranks::Channel::kStatistics, Ranks::Channel::kSums}) {
      traffic.push_back({ranks.traffic(channel).calls, ranks.traffic(channel).bytes});
    }
  }

  std::vector<at::Tensor> tensors;
  std::vector<std::pair<int64_t, int64_t>> traffic;  // calls and bytes, by channel
};

TEST(DeviceGroups, CarryTheBytesThatTheHostCarriesAndCountThem) {
  for (const int64_t W : {2, 3}) {
    std::vector<std::unique_ptr<Exchanged>> by_host(W), between_devices(W);
    on_ranks(W, [&](const Ranks& ranks) { by_host[ranks.rank()] = std::make_unique<Exchanged>(ranks); });
    const auto device = std::make_shared<HostAsDevice>();
    on_ranks(
        W,
        [&](const Ranks& ranks) {
          ranks.join_devices(kHost);
          EXPECT_EQ(ranks.device_exchange().groups, "a double");
          EXPECT_EQ(ranks.device_exchange().refusal, "");
          between_devices[ranks.rank()] = std::make_unique<Exchanged>(ranks);
        },
        all_with(device));
    EXPECT_EQ(*device->calls, W * (HostAsDevice::kTrials + Exchanged::kCalls));
    for (int64_t rank = 0; rank < W; ++rank) {
      const Exchanged &expected = *by_host[rank], &found = *between_devices[rank];
      for (size_t i = 0; i < expected.tensors.size(); ++i) EXPECT_TRUE(found.tensors[i].equal(expected.tensors[i])) << W << " " << i;
      EXPECT_EQ(found.traffic, expected.traffic);
    }
  }
}

TEST(DeviceGroups, NeverBringTensorsToTheHost) {
  on_ranks(
      3,
      [](const Ranks& ranks) {
        ranks.join_devices(kNowhere);
        const auto of_device = [](at::IntArrayRef sizes) { return at::empty(sizes, at::TensorOptions(at::kFloat).device(at::kMeta)); };
        const at::Tensor all = ranks.gather(of_device({2, 5})), rows = ranks.gather_rows(of_device({ranks.share_of(7).size(), 4}), 7);
        EXPECT_TRUE(all.is_meta() && rows.is_meta());
        EXPECT_EQ(all.sizes(), at::IntArrayRef({3, 2, 5}));
        EXPECT_EQ(rows.sizes(), at::IntArrayRef({7, 4}));
        ranks.sum_ordered({of_device({(1 << 20) + 1}), of_device({3})});
        ranks.take_from_leader({of_device({4, 4})});
        EXPECT_GT(ranks.traffic(Ranks::Channel::kSums).bytes, 4 << 20);
        // What lies on the host crosses there.
        const at::Tensor numbers = ranks.gather(at::full({1}, ranks.rank(), at::kLong)).view(-1);
        EXPECT_TRUE(numbers.equal(at::arange(3, at::kLong)));
      },
      all_with(std::make_shared<DeviceWithoutData>()));
}

struct Refusal {
  std::function<void(DeviceWithoutData&)> prepare;  // of rank 1's
  int64_t aborts = 0;                               // of the groups that others have connected
  std::chrono::milliseconds setup = std::chrono::seconds(60);
};

// What every rank gets to know.
std::vector<DeviceExchange> exchanges_of(const Refusal& refusal) {
  std::vector<DeviceExchange> exchanges(3);
  const auto aborts = std::make_shared<std::atomic<int64_t>>(0);
  on_ranks(
      3,
      [&](const Ranks& ranks) {
        ranks.join_devices(kNowhere);
        exchanges[ranks.rank()] = ranks.device_exchange();
        const at::Tensor numbers = ranks.gather(at::full({1}, ranks.rank(), at::kLong)).view(-1);
        EXPECT_TRUE(numbers.equal(at::arange(3, at::kLong)));
        EXPECT_EQ(*aborts, refusal.aborts);  // before any rank leaves
        // The device is not joined: its tensors go by way of the host, which these cannot.
        EXPECT_ANY_THROW(ranks.gather(at::empty({2}, at::TensorOptions(at::kFloat).device(at::kMeta))));
      },
      [&](Rendezvous& rendezvous, int64_t rank) {
        const auto device = std::make_shared<DeviceWithoutData>();
        device->aborts = aborts;
        if (rank == 1) refusal.prepare(*device);
        rendezvous.devices = device;
        rendezvous.setup = refusal.setup;
      });
  return exchanges;
}

TEST(DeviceGroups, ThatOneRankCannotOpenAreConnectedByNone) {
  const auto refuses = [](DeviceWithoutData& device) { device.opens = [] { throw resource_error("no library\nhere"); }; };
  for (const auto& exchange : exchanges_of({refuses})) {
    EXPECT_EQ(exchange.groups, "");
    EXPECT_EQ(exchange.refusal, "rank 1 of 3: no library");
  }
}

TEST(DeviceGroups, ThatOneRankCannotConnectAreLeftByAll) {
  const auto refuses = [](DeviceWithoutData& device) { device.connects = [] { throw resource_error("no memory"); }; };
  for (const auto& exchange : exchanges_of({refuses, 6})) {
    EXPECT_EQ(exchange.groups, "");
    EXPECT_EQ(exchange.refusal, "rank 1 of 3: no memory");
  }
}

TEST(DeviceGroups, ThatOneRankNeverConnectsAreLeftByAll) {
  std::promise<void> end;
  const auto waits = [ended = end.get_future().share()](DeviceWithoutData& device) { device.connects = [ended] { ended.wait(); }; };
  for (const auto& exchange : exchanges_of({waits, 6, std::chrono::seconds(4)}))
    EXPECT_EQ(exchange.refusal, "rank 1 of 3: no answer within 4 s");
  end.set_value();
}

TEST(DeviceGroups, NeedADeviceOnEveryRank) {
  on_ranks(
      2,
      [](const Ranks& ranks) {
        ranks.join_devices(ranks.leads() ? kNowhere : kHost);
        EXPECT_EQ(ranks.device_exchange().refusal, "rank 1 of 2: its device is the CPU");
      },
      all_with(std::make_shared<DeviceWithoutData>()));
}

TEST(DeviceGroups, AreNothingToSpeakOfOnTheCpu) {
  Ranks::alone().join_devices(kHost);
  EXPECT_EQ(Ranks::alone().device_exchange().refusal, "");
  on_ranks(2, [](const Ranks& ranks) {
    ranks.join_devices(kHost);
    EXPECT_EQ(ranks.device_exchange().groups, "");
    EXPECT_EQ(ranks.device_exchange().refusal, "");
    EXPECT_TRUE(ranks.gather(at::ones({1})).equal(at::ones({2, 1})));
  });
}

TEST(DeviceGroups, OfNcclAreRefusedWithoutTheirLibrary) {
  const auto nccl = nccl_groups();
  EXPECT_TRUE(nccl->are_of(at::kCUDA));
  EXPECT_FALSE(nccl->are_of(at::kCPU));
  const std::string message = error_of(ErrorKind::kResource, [&] { nccl->open(); });  // there is no library beside the test
  EXPECT_THAT(message, StartsWith("NCCL is not available (libdebias_nccl.so: "));
  EXPECT_THAT(message, EndsWith("); build with -DDEBIAS_NCCL=ON, or let the loader find that library (LD_LIBRARY_PATH)"));
}

TEST(DeviceGroups, AreTriedByNumbersThatMustArrive) {
  AnsweringGroup moves_nothing({.rank = 0, .size = 2}, Answer::kEnds, nullptr), fails({.rank = 0, .size = 2}, Answer::kFails, nullptr);
  EXPECT_THROW(try_group(moves_nothing, {.rank = 0, .size = 2}, kHost), Error);
  EXPECT_THROW(try_group(fails, {.rank = 0, .size = 2}, kHost), std::runtime_error);
}

at::Tensor gathered_nowhere(const Ranks& ranks) { return ranks.gather(at::empty({2}, at::TensorOptions(at::kFloat).device(at::kMeta))); }

TEST(DeviceGroups, OfARankThatGoesWithoutAWordNameIt) {
  const auto texts = heard(
      3,
      [](const Ranks& ranks) {
        ranks.join_devices(kHost);
        ranks.gather(at::ones({4}));
        if (ranks.rank() == 2) return;
        ranks.gather(at::ones({4}));
      },
      all_with(std::make_shared<HostAsDevice>()));
  EXPECT_EQ(texts[2], "");
  for (const int64_t rank : {0, 1}) {
    EXPECT_EQ(texts[rank],
              "4 gathering ended: rank 2 of 3 does not answer any more (killed, stopped or cut off); the last checkpoint is intact: "
              "continue with --resume");
  }
}

TEST(DeviceGroups, ThatSayNothingOfALostRankAreLookedPastAndEnded) {
  const auto device = std::make_shared<DeviceWithoutData>(Answer::kNever);
  const auto begin = std::chrono::steady_clock::now();
  const auto texts = heard(
      3,
      [](const Ranks& ranks) {
        ranks.join_devices(kNowhere);
        if (ranks.rank() != 2) gathered_nowhere(ranks);
      },
      all_with(device));
  EXPECT_EQ(texts[2], "");
  for (const int64_t rank : {0, 1}) EXPECT_THAT(texts[rank], HasSubstr("gathering ended: rank 2 of 3 does not answer any more")) << rank;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));  // before the 60 s of a step are over
  EXPECT_EQ(*device->aborts, 9);                                                  // three groups a rank
}

// Whose abort waits for those of the rank's other groups, as NCCL's may.
class GroupAbortedWithOthers : public AnsweringGroup {
 public:
  GroupAbortedWithOthers(const Place& place, std::shared_ptr<std::latch> all)
      : AnsweringGroup(place, Answer::kNever, nullptr), all_(std::move(all)) {}
  void abort() override { all_->arrive_and_wait(); }

 private:
  std::shared_ptr<std::latch> all_;
};

class DevicesAbortedTogether : public DeviceGroups {
 public:
  bool are_of(c10::DeviceType type) const override { return type == at::kMeta; }
  std::string open() const override { return "nothing"; }
  GroupPointer connect(const StorePointer& /*store*/, const Place& place, const c10::Device& /*own*/,
                       std::chrono::milliseconds /*timeout*/) const override {
    return c10::make_intrusive<GroupAbortedWithOthers>(place, all_);
  }

 private:
  std::shared_ptr<std::latch> all_ = std::make_shared<std::latch>(RankLinks::kChannels);
};

TEST(DeviceGroups, OfALostRankAreAbortedAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  heard(
      2,
      [](const Ranks& ranks) {
        ranks.join_devices(kNowhere);
        if (ranks.rank() == 1) throw data_error("image 'a.png' cannot be read");
        gathered_nowhere(ranks);
      },
      [](Rendezvous& rendezvous, int64_t) { rendezvous.devices = std::make_shared<DevicesAbortedTogether>(); });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9));  // each alone would be given up after ten
}

TEST(OwnDevices, AreRefusedWhereTwoRanksHaveOne) {
  const auto texts = heard(3, [](const Ranks& ranks) { ranks.require_own_devices(ranks.rank() == 1 ? "ab" : "cd"); });
  for (const auto& text : texts)
    EXPECT_THAT(text, HasSubstr("device: ranks 0 and 2 have one device, cd; show each process a device of its own, or start fewer"))
        << text;
}

TEST(OwnDevices, MayBeTheCpuOfAll) {
  on_ranks(3, [](const Ranks& ranks) {
    ranks.require_own_devices("");
    ranks.require_own_devices(std::to_string(ranks.rank()));
  });
}

// As of a process that is stopped: rank 2 gives no beats any more, and its connections take what is sent to it. Its silence is noticed
// after some nine seconds; if it were taken for gone, it would be named two seconds later.
TEST(DeviceGroups, WaitForASilentRankThatIsNotCutOffUntilTheStepsTimeIsOver) {
  constexpr std::chrono::seconds kStep{14};
  const auto meeting = meeting_of_threads();
  std::vector<std::string> texts(3);
  std::vector<std::chrono::duration<double>> waited(3);
  std::latch all_ended(3);
  const auto wait_for_the_silent = [&](int64_t rank, RankLinks& links) {
    links.connect_devices(kNowhere);
    links.device_type = kNowhere.type();
    const auto begin = std::chrono::steady_clock::now();
    try {
      at::Tensor all, own;
      links.exchange(Ranks::Channel::kRows, "gathering", kNowhere, 0,
                     [&](c10d::Backend& group) { return group._allgather_base(all, own); });
    } catch (const RankLost& lost) {
      texts[rank] = lost.what();
    }
    waited[rank] = std::chrono::steady_clock::now() - begin;
  };
  on_threads(3, [&](int64_t rank) {
    try {
      Rendezvous rendezvous = thread_rendezvous(meeting);
      rendezvous.devices = std::make_shared<DeviceWithoutData>(Answer::kNever);
      rendezvous.step = kStep;
      RankLinks links({.rank = rank, .size = 3}, rendezvous);
      if (rank == 2) {
        links.beats.reset();
      } else {
        wait_for_the_silent(rank, links);
      }
      all_ended.arrive_and_wait();
    } catch (...) {
      all_ended.count_down();  // or the others would wait for this one
      throw;
    }
  });
  for (const int64_t rank : {0, 1}) {
    EXPECT_THAT(texts[rank], HasSubstr("gathering ended: rank 2 of 3 does not answer any more (killed, stopped or cut off)")) << rank;
    EXPECT_GE(waited[rank], kStep) << rank;
  }
}

TEST(DeviceGroups, AreLeftAsSoonAsAnotherRankFails) {
  const auto begin = std::chrono::steady_clock::now();
  const auto texts = heard(
      3,
      [](const Ranks& ranks) {
        ranks.join_devices(kNowhere);
        if (ranks.rank() == 1) throw data_error("image 'a.png' cannot be read");
        gathered_nowhere(ranks);
      },
      all_with(std::make_shared<DeviceWithoutData>(Answer::kNever)));
  for (const auto& text : texts) EXPECT_EQ(text, "2 rank 1 of 3: image 'a.png' cannot be read");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(7));  // sooner than its silence is noticed
}

TEST(DeviceGroups, AreGivenTheTimeOfAStep) {
  const auto prepare = [](Rendezvous& rendezvous, int64_t) {
    rendezvous.devices = std::make_shared<DeviceWithoutData>(Answer::kNever);
    rendezvous.step = std::chrono::seconds(2);
  };
  const auto texts = heard(
      2,
      [](const Ranks& ranks) {
        ranks.join_devices(kNowhere);
        gathered_nowhere(ranks);
      },
      prepare);
  for (const auto& text : texts) EXPECT_THAT(text, HasSubstr("gathering failed, and all 2 processes are alive (no end within 2 s)"));
}

TEST(DeviceGroups, SayWhatAnExchangeFailedWith) {
  const auto texts = heard(
      2,
      [](const Ranks& ranks) {
        ranks.join_devices(kNowhere);
        gathered_nowhere(ranks);
      },
      all_with(std::make_shared<DeviceWithoutData>(Answer::kFails)));
  for (const auto& text : texts) EXPECT_THAT(text, HasSubstr("gathering failed, and all 2 processes are alive (the device broke)"));
}

}  // namespace device_groups_test
}  // namespace debias
