// A MuJoCo model with its state: what tasks set, step and read.
//
// Reset and step follow dm_control, so that positions, velocities and the sensors made of them belong to the state that a reward or a
// image is made of; plain mj_step leaves them a step behind.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <string>

namespace debias {

class MujocoModel {
 public:
  // From one self-contained MJCF text. A usage error where the library that is loaded is not the one this program was built with; a
  // failure where it rejects the text.
  MujocoModel(const std::string& name, const std::string& mjcf);

  mjModel& model() { return *model_; }
  const mjModel& model() const { return *model_; }
  mjData& data() { return *data_; }
  const mjData& data() const { return *data_; }

  void reset();                      // to the model's own pose, at rest
  void forward_without_actuation();  // all that follows from positions and velocities
  void step(int substeps);           // with the controls in data().ctrl

  // True if MuJoCo met positions, velocities or accelerations that are not finite or too large since reset(). The state is then void.
  bool diverged() const;

  int id(mjtObj kind, const char* name) const;
  double sensor(const char* name) const;  // its first number
  double mass() const;                    // of all bodies

 private:
  std::unique_ptr<mjModel, void (*)(mjModel*)> model_;
  std::unique_ptr<mjData, void (*)(mjData*)> data_;
};

}  // namespace debias
