// Against dm_control: what tests/control/export_dm_control.py wrote to tests/golden/control.json, or where DEBIAS_CONTROL_GOLDEN says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "debias/control/pixel_environment.h"
#include "debias/control/task.h"
#include "debias/core/sha256.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace dm_control_test {

nlohmann::json golden(const std::string& task) {
  const char* elsewhere = std::getenv("DEBIAS_CONTROL_GOLDEN");
  const std::string path = elsewhere != nullptr ? elsewhere : golden_folder(".") + "/control.json";
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return nlohmann::json::parse(file).at(task);
}

void fill(double* to, const nlohmann::json& from) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = from[i];
}

// The state that the file begins with, as dm_control had it.
void begin_as(MujocoModel& model, const nlohmann::json& first) {
  model.reset();
  ASSERT_EQ(first["qpos"].size(), static_cast<size_t>(model.model().nq));
  ASSERT_EQ(first["geom_pos"].size(), static_cast<size_t>(3 * model.model().ngeom));
  fill(model.model().geom_pos, first["geom_pos"]);
  fill(model.data().qpos, first["qpos"]);
  fill(model.data().qvel, first["qvel"]);
  model.forward_without_actuation();
  fill(model.data().qacc_warmstart, first["qacc_warmstart"]);
}

void take(MujocoModel& model, const Task& task, const nlohmann::json& action) {
  fill(model.data().ctrl, action);
  model.step(task.substeps);
}

class DmControl : public testing::TestWithParam<Task> {};

// Of a ball that lies in its cup MuJoCo 2.2.2 and 2.3.7 resolve the contacts in roundings of their own: 2.5e-14 over 1,000 actions. All
// other states are equal.
double state_tolerance(const Task& task) { return task.name == "ball_in_cup_catch" ? 1e-12 : 0; }

// `record`: first state, actions, and what came of each.
void expect_same_course(const Task& task, const nlohmann::json& record) {
  MujocoModel model = make_model(task);
  begin_as(model, record["first"]);
  const auto nq = static_cast<size_t>(model.model().nq), nv = static_cast<size_t>(model.model().nv);
  for (size_t step = 0; step < record["actions"].size(); ++step) {
    take(model, task, record["actions"][step]);
    const auto& state = record["states"][step];
    for (size_t i = 0; i < nq + nv; ++i) {
      const double found = i < nq ? model.data().qpos[i] : model.data().qvel[i - nq];
      ASSERT_NEAR(found, state[i].get<double>(), state_tolerance(task)) << "number " << i << " after step " << step;
    }
    ASSERT_NEAR(task.reward(model), record["rewards"][step].get<double>(), 1e-15) << "step " << step;
  }
}

TEST_P(DmControl, StatesAreEqualAndRewardsAgree) { expect_same_course(GetParam(), golden(GetParam().name)); }

// Random actions from a first state are not paid in three of the tasks: their records have a course that is.
TEST_P(DmControl, EveryTaskIsHeldToRewardsAboveZero) {
  const nlohmann::json file = golden(GetParam().name);
  const nlohmann::json& record = file.contains("paying") ? file["paying"] : file;
  const auto rewards = record["rewards"].get<std::vector<double>>();
  EXPECT_GT(*std::max_element(rewards.begin(), rewards.end()), 1e-3);
  expect_same_course(GetParam(), record);
}

// `hashes`: of a picture of the model's state, by its pixels.
void expect_pictures(MujocoModel& model, const nlohmann::json& hashes, size_t step) {
  for (const auto& [pixels, hash] : hashes.items()) {
    FrameRenderer renderer(model, std::stoll(pixels), Look::kFull);
    std::vector<uint8_t> frame(static_cast<size_t>(3 * renderer.pixels() * renderer.pixels()));
    renderer.draw(frame.data());
    Sha256 found;
    found.update(frame.data(), frame.size());
    EXPECT_EQ(found.hex(), hash) << pixels << " pixels after " << step << " actions";
  }
}

TEST_P(DmControl, PicturesAreEqualOnTheSameRenderer) {
  const nlohmann::json file = golden(GetParam().name);
  const EglContext context;
  if (context.renderer() != file["renderer"]) {
    GTEST_SKIP() << "the pictures are of " << file["renderer"] << ", here " << context.renderer() << " draws";
  }
  MujocoModel model = make_model(GetParam());
  begin_as(model, file["first"]);
  const nlohmann::json between = file.contains("frames_between") ? file["frames_between"] : nlohmann::json::object();
  size_t step = 0;
  for (const auto& action : file["actions"]) {
    take(model, GetParam(), action);
    const auto found = between.find(std::to_string(++step));  // of every 100th, in files of so many actions
    if (found != between.end()) expect_pictures(model, *found, step);
  }
  expect_pictures(model, file["frames"], step);
}

INSTANTIATE_TEST_SUITE_P(Tasks, DmControl, testing::ValuesIn(task_registry()), [](const auto& task) { return task.param.name; });

}  // namespace dm_control_test
}  // namespace debias
