// Links of a process to the others: the store at which they meet, its beats, and groups for each kind of exchange: the host's, and those
// of devices where there are any. ranks.h is what others use.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/ranks/device_groups.h"
#include "debias/ranks/ranks.h"
#include "debias/ranks/store.h"

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace debias {

struct RankLinks {
  using Clock = std::chrono::steady_clock;
  using Gloo = c10d::ProcessGroupGloo;
  static constexpr const char* kGoOn = "the last checkpoint is intact: continue with --resume";
  static constexpr int64_t kLookAround = 12;  // beats for which the others are looked at, before they are called lost
  static constexpr size_t kChannels = 3;

  static std::string key_of(const char* what, int64_t number);
  static RankLost reported(const RankFailure& failure, int64_t size);

  // Meets the others, as Ranks does.
  RankLinks(const Place& where, const Rendezvous& meeting);
  ~RankLinks();
  RankLinks(const RankLinks&) = delete;
  RankLinks& operator=(const RankLinks&) = delete;

  // True if tensors there cross between devices.
  bool joins(const c10::Device& place_of_tensors) const { return device_type && place_of_tensors.type() == *device_type; }
  // The tensor where it crosses from: its device, or the host.
  at::Tensor crossing(const at::Tensor& tensor) const { return joins(tensor.device()) ? tensor : tensor.to(at::kCPU); }

  // Starts an exchange of tensors there over the channel's group, waits for it and adds to its traffic; the exception names who is
  // lost.
  template <class Start>
  void exchange(Ranks::Channel channel, const char* what, const c10::Device& place_of_tensors, int64_t bytes, const Start& start) {
    const auto index = static_cast<size_t>(channel);
    if (groups[index] == nullptr) throw lost(what, "an exchange failed before");
    const auto begin = Clock::now();
    const double cpu = cpu_seconds_now();
    try {
      if (joins(place_of_tensors)) {
        await_device(*start(*device_groups[index]));
      } else {
        start(*groups[index])->wait();
      }
    } catch (const std::exception& error) {
      throw lost(what, error.what());
    }
    ++traffic[index].calls;
    traffic[index].bytes += bytes;
    traffic[index].seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    traffic[index].cpu_seconds += cpu_seconds_now() - cpu;
  }

  // A group of devices for each channel, tried. Throws if it is unavailable here; ranks that wait for this one do so no longer than the
  // setup's limit.
  void connect_devices(const c10::Device& own);
  void end_device_groups();

  // After an exchange that failed, or where a rank is waited for in vain: what the one that failed said, or who is silent.
  RankLost lost(const std::string& what, const std::string& reason);

  Place place;
  Rendezvous rendezvous;
  std::chrono::milliseconds beat;
  StorePointer store;
  std::unique_ptr<RankBeats> beats;
  std::array<c10::intrusive_ptr<Gloo>, kChannels> groups;
  std::array<GroupPointer, kChannels> device_groups;
  std::optional<c10::DeviceType> device_type;  // whose tensors cross through them
  DeviceExchange devices;
  std::array<Traffic, kChannels> traffic;
  int64_t sayings = 0;
  bool have_met = false;

 private:
  struct Heard {  // of a rank
    int64_t beats;
    Clock::time_point at;
  };
  static double cpu_seconds_now();
  void meet();
  void find_neighbours();
  void leave();
  void leave_devices();
  void await_device(c10d::Work& work);
  void look_at_others(std::vector<Heard>& heard);
  bool is_cut_off(int64_t rank);
  void tell(const Error& error);
  void set_patience(std::chrono::milliseconds patience);
  const char* advice() const;
  void connect();
  void await_connected();
  RankLost not_connected(const std::string& reason);
  void await_all(const char* what);
  void await_leaving() const;
  void require_one_size() const;
  std::vector<int64_t> those_without(const char* what) const;
  std::vector<int64_t> beats_of_all() const;
  RankLost diagnosis(const std::string& what, const std::string& reason);
};

}  // namespace debias
