// Recipes: YAML, read section by section.
#include "debias/train/recipe/recipe.h"

#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  fuzz::refused_only_as(ErrorKind::kUsage, [&] {
    const Config config = parse_yaml({reinterpret_cast<const char*>(data), size}, "recipe.yaml");
    const Recipe recipe = read_recipe(config);
    fuzz::require(!recipe.objective.empty(), "a recipe has an objective");
    for (const TermRecipe& term : recipe.objective) term.with(term.numbers_at(recipe.train.epochs - 1));
  });
  return 0;
}
