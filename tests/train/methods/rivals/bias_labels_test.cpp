// What methods that read bias labels say where there are none.
#include <gtest/gtest.h>

#include "tests/data/fixture_files.h"
#include "tests/train/methods/rivals/glyph_classifier.h"

namespace debias {
namespace bias_labels_test {

Config without_bias_labels(const TemporaryFolder& folder, const std::string& method) {
  fixture::write_mnist(folder / "mnist", 60, 30);
  Config root =
      changed(glyph_classifier("x", method), {"data.train={name: mnist, root: " + folder / "mnist" + "}", "views={steps: [], count: 1}"});
  return root;
}

TEST(BiasLabels, AreAskedForInOneLineThatNamesMethodsWithoutThem) {
  for (const char* method : {"group_dro", "rubi", "learned_mixin", "lnl"}) {
    const TemporaryFolder folder;
    expect_refused(without_bias_labels(folder, method),
                   fmt::format("method '{}' needs bias labels, data set 'mnist' has none; use lff, jtt, dfa, rebias or hex", method));
  }
}

TEST(BiasLabels, AreNotNeededBesideABiasedNetwork) {
  for (const char* method : {"{name: rubi, bias: network}", "{name: learned_mixin, bias: network, pretrain: 1}",
                             "{name: rebias, bias_encoder: {name: simple_convnet, kernel: 1}}"}) {
    const TemporaryFolder folder;
    MethodWithBatch made(without_bias_labels(folder, method));
    EXPECT_GT(made.parts.method->run(made.batch, 1).loss, 0) << method;
  }
}

TEST(BiasedNetworks, AreNotFrozenAtFirst) {
  expect_refused(glyph_classifier("x", "{name: lff, bias_encoder: {name: resnet18, freeze_epochs: 2}}"), "only to the evaluated encoder");
  expect_refused(changed(glyph_classifier("x", "{name: jtt, identification_epochs: 1}"), {"train.epochs=3", "encoder.freeze_epochs=1"}),
                 "method 'jtt' trains another network in the first epochs");
}

TEST(BiasedNetworks, ThatDoNotFitTheImagesAreRefusedInOneLine) {
  for (const char* method : {"{name: rubi, bias: network, bias_encoder: vit_small}", "{name: rebias, bias_encoder: vit_small}"}) {
    expect_refused(glyph_classifier("x", method), "end the views' steps with that size");
  }
}

}  // namespace bias_labels_test
}  // namespace debias
