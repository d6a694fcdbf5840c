// debias rl in a program that was built without MuJoCo or EGL.
#include <memory>
#include <string>
#include <vector>

#include "apps/debias/verbs.h"
#include "debias/core/error.h"

namespace debias {

void add_rl_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("rl", "trains agents from pixels and rewards (not in this build: see its --help)");
  auto words = std::make_shared<std::vector<std::string>>();
  verb->add_option("words", *words, "train RECIPE, or play RUN");
  verb->allow_extras();
  verb->footer("Built without MuJoCo or EGL. Build where both are (libmujoco-dev, libegl-dev; in a checkout: scripts/bootstrap.sh --rl).");
  verb->callback([words, &action] {
    action = []() -> int {
      throw usage_error(
          "rl: this program was built without MuJoCo or EGL; build it where both are installed (in a checkout: scripts/bootstrap.sh --rl)");
    };
  });
}

}  // namespace debias
