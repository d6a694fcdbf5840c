// What stands in for a device's groups where there is no device.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include "debias/ranks/rank_links.h"

namespace debias {

// A second group of Gloo's, which counts the exchanges of tensors that lie on the host.
class HostGroup : public c10d::ProcessGroupGloo {
 public:
  HostGroup(const StorePointer& store, const Place& place, std::chrono::milliseconds timeout, std::shared_ptr<std::atomic<int64_t>> calls)
      : ProcessGroupGloo(store, static_cast<int>(place.rank), static_cast<int>(place.size), options_of(timeout)),
        calls_(std::move(calls)) {}

  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& all, at::Tensor& own, const c10d::AllgatherOptions& options) override {
    ++*calls_;
    return ProcessGroupGloo::_allgather_base(all, own, options);
  }
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& received, at::Tensor& given, std::vector<int64_t>& to,
                                               std::vector<int64_t>& from, const c10d::AllToAllOptions& options) override {
    ++*calls_;
    return ProcessGroupGloo::alltoall_base(received, given, to, from, options);
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& options) override {
    ++*calls_;
    return ProcessGroupGloo::broadcast(tensors, options);
  }

 private:
  static c10::intrusive_ptr<Options> options_of(std::chrono::milliseconds timeout) {
    auto options = Options::create(timeout);
    options->threads = 1;
    options->devices = {createDeviceForHostname("127.0.0.1")};
    return options;
  }

  std::shared_ptr<std::atomic<int64_t>> calls_;
};

// The host in the part of a device.
class HostAsDevice : public DeviceGroups {
 public:
  static constexpr int64_t kTrials = 3;  // exchanges of each rank before the first of its own: one a group

  bool are_of(c10::DeviceType type) const override { return type == at::kCPU; }
  std::string open() const override { return "a double"; }
  GroupPointer connect(const StorePointer& store, const Place& place, const c10::Device& own,
                       std::chrono::milliseconds timeout) const override {
    GroupPointer group = c10::make_intrusive<HostGroup>(store, place, timeout, calls);
    try_group(*group, place, own);
    return group;
  }

  std::shared_ptr<std::atomic<int64_t>> calls = std::make_shared<std::atomic<int64_t>>(0);  // of all ranks
};

enum class Answer { kEnds, kFails, kNever };

class AnsweredWork : public c10d::Work {
 public:
  explicit AnsweredWork(Answer answer) : answer_(answer) {}
  bool isCompleted() override { return answer_ != Answer::kNever; }
  std::exception_ptr exception() const override {
    return answer_ == Answer::kFails ? std::make_exception_ptr(std::runtime_error("the device broke")) : nullptr;
  }
  bool wait(std::chrono::milliseconds /*timeout*/) override { return true; }

 private:
  Answer answer_;
};

// Moves nothing.
class AnsweringGroup : public c10d::Backend {
 public:
  AnsweringGroup(const Place& place, Answer answer, std::shared_ptr<std::atomic<int64_t>> aborts)
      : Backend(static_cast<int>(place.rank), static_cast<int>(place.size)), answer_(answer), aborts_(std::move(aborts)) {}

  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& /*all*/, at::Tensor& /*own*/, const c10d::AllgatherOptions&) override {
    return c10::make_intrusive<AnsweredWork>(answer_);
  }
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& /*received*/, at::Tensor& /*given*/, std::vector<int64_t>& /*to*/,
                                               std::vector<int64_t>& /*from*/, const c10d::AllToAllOptions&) override {
    return c10::make_intrusive<AnsweredWork>(answer_);
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& /*tensors*/, const c10d::BroadcastOptions&) override {
    return c10::make_intrusive<AnsweredWork>(answer_);
  }
  void abort() override { ++*aborts_; }

 private:
  Answer answer_;
  std::shared_ptr<std::atomic<int64_t>> aborts_;
};

// Of tensors without data, which cannot be brought to the host.
class DeviceWithoutData : public DeviceGroups {
 public:
  explicit DeviceWithoutData(Answer answer = Answer::kEnds) : answer_(answer) {}
  bool are_of(c10::DeviceType type) const override { return type == at::kMeta; }
  std::string open() const override {
    if (opens) opens();
    return "nothing";
  }
  GroupPointer connect(const StorePointer& /*store*/, const Place& place, const c10::Device& /*own*/,
                       std::chrono::milliseconds /*timeout*/) const override {
    if (connects) connects();
    return c10::make_intrusive<AnsweringGroup>(place, answer_, aborts);
  }

  std::function<void()> opens, connects;
  std::shared_ptr<std::atomic<int64_t>> aborts = std::make_shared<std::atomic<int64_t>>(0);

 private:
  Answer answer_;
};

}  // namespace debias
