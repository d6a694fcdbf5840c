// The environments of a run in a thread of their own, which alone may draw: they step while the networks learn.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>

#include "debias/control/pixel_environment.h"

namespace debias {

struct Environments {
  PixelEnvironment& trained;  // in
  PixelEnvironment& evaluated;
  std::string renderer;
};

class EnvironmentThread {
 public:
  EnvironmentThread(const EnvironmentOptions& trained, const EnvironmentOptions& evaluated);  // throws what making them throws
  ~EnvironmentThread();
  EnvironmentThread(const EnvironmentThread&) = delete;
  EnvironmentThread& operator=(const EnvironmentThread&) = delete;

  // Runs `work` there, after earlier work; get() throws its exception. The objects that it refers to must live until then.
  std::future<void> later(std::function<void(Environments&)> work);
  void now(const std::function<void(Environments&)>& work) { later(work).get(); }

 private:
  void serve(const EnvironmentOptions& trained, const EnvironmentOptions& evaluated, std::promise<void>& made);
  void work_until_ended(Environments& environments);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<std::packaged_task<void(Environments&)>> tasks_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace debias
