#include "debias/agent/environment_thread.h"

#include "debias/control/pixel_environment.h"

namespace debias {

EnvironmentThread::EnvironmentThread(const EnvironmentOptions& trained, const EnvironmentOptions& evaluated) {
  auto made = std::make_shared<std::promise<void>>();
  thread_ = std::thread([this, trained, evaluated, made] { serve(trained, evaluated, *made); });
  try {
    made->get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

EnvironmentThread::~EnvironmentThread() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::future<void> EnvironmentThread::later(std::function<void(Environments&)> work) {
  std::packaged_task<void(Environments&)> task(std::move(work));
  std::future<void> done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push(std::move(task));
  }
  wake_.notify_one();
  return done;
}

void EnvironmentThread::serve(const EnvironmentOptions& trained, const EnvironmentOptions& evaluated, std::promise<void>& made) {
  bool is_made = false;
  try {
    const EglContext context;
    PixelEnvironment first(trained), second(evaluated);
    Environments environments{first, second, context.renderer()};
    is_made = true;
    made.set_value();
    work_until_ended(environments);
  } catch (...) {
    if (!is_made) made.set_exception(std::current_exception());
  }
}

void EnvironmentThread::work_until_ended(Environments& environments) {
  while (true) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
    if (ended_) return;
    auto task = std::move(tasks_.front());
    tasks_.pop();
    lock.unlock();
    task(environments);
  }
}

}  // namespace debias
