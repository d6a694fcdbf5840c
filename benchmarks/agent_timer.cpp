// Steps of control tasks and updates of agents, for benchmarks/compare_agents.py, which times them in turn with dm_control's and PyTorch's.
//
//   agent_timer physics TASK STEPS             control steps under random actions
//   agent_timer pixels TASK STEPS PIXELS       steps of an agent, each drawn once
//   agent_timer update BATCH CROP FILTERS HIDDEN THREADS      an update with actor and target, debiased contrastive step
//
// Answers each line of standard input, until its end, with seconds by the clock.
#include <ATen/ATen.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "debias/agent/agent_parts.h"
#include "debias/control/pixel_environment.h"
#include "debias/control/task.h"
#include "debias/core/registry.h"
#include "debias/process/startup.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

void serve(const std::function<void()>& work) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    work();
    std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << std::endl;
  }
}

void time_physics(const Task& task, int64_t steps) {
  MujocoModel model = make_model(task);
  Random draws({.domain = RngDomain::kTest, .seed = 1});
  serve([&] {
    begin_episode(task, model, draws);
    for (int64_t i = 0; i < steps; ++i) {
      for (int a = 0; a < model.model().nu; ++a) model.data().ctrl[a] = draws.uniform(-1, 1);
      model.step(task.substeps);
      task.reward(model);
    }
  });
}

void time_pixels(const Task& task, int64_t steps, int64_t pixels) {
  const EglContext context;
  PixelEnvironment environment({.task = &task, .repeat = task.action_repeat, .pixels = pixels});
  Random draws({.domain = RngDomain::kTest, .seed = 1});
  std::vector<float> action(static_cast<size_t>(environment.action_count()));
  serve([&] {
    environment.begin(0);
    for (int64_t i = 0; i < steps; ++i) {
      for (auto& number : action) number = static_cast<float>(draws.uniform(-1, 1));
      if (environment.step(action).is_last) environment.begin(i);
    }
  });
}

void time_update(const std::vector<int64_t>& sizes) {
  use_threads(sizes[4]);
  AgentRecipe recipe;
  recipe.positives = 1;
  recipe.objective_options = find_entry(objective_registry(), "debiased_negatives", "objective")
                                 .read(parse_yaml("{temperature: 1, clamp: positive}", "timer"), {});
  recipe.agent.batch_size = sizes[0];
  recipe.agent.crop = sizes[1];
  recipe.agent.filters = sizes[2];
  recipe.agent.hidden = sizes[3];
  Agent agent = make_agent(recipe, 1);
  const int64_t rows = sizes[0];
  const auto pictures = [&] { return at::randint(0, 256, {rows, 9, sizes[1], sizes[1]}, at::kByte); };
  const AgentBatch batch{.seen = pictures(),
                         .next = pictures(),
                         .positives = pictures().unsqueeze(0),
                         .actions = at::rand({rows, 1}),
                         .rewards = at::rand({rows}),
                         .noise_next = at::randn({rows, 1}),
                         .noise = at::randn({rows, 1})};
  serve([&] { agent.update(batch, 0); });
}

int timed(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "" : words[0];
  const auto number = [&](size_t i) { return std::stoll(words.at(i)); };
  if (what == "update" && words.size() == 6) {
    time_update({number(1), number(2), number(3), number(4), number(5)});
  } else if (what == "physics" && words.size() == 3) {
    time_physics(find_entry(task_registry(), words[1], "task"), number(2));
  } else if (what == "pixels" && words.size() == 4) {
    time_pixels(find_entry(task_registry(), words[1], "task"), number(2), number(3));
  } else {
    std::cerr << "usage: agent_timer physics TASK STEPS | pixels TASK STEPS PIXELS | update BATCH CROP FILTERS HIDDEN THREADS\n";
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace debias

int main(int argc, char** argv) {
  setenv("LP_NUM_THREADS", "0", 0);
  debias::keep_large_blocks();
  std::cout.precision(9);
  return debias::timed({argv + 1, argv + argc});
}
