// Table 5.4 of the specification in numbers, rows U: Unbiased Supervised Contrastive Learning, tables 1 to 5 and 8 to 12. Its tables 6 and 7
// have the settings.
#pragma once

#include "tests/runs/paper_sweep.h"

namespace debias::paper_numbers {

inline const Settings kScaled = {{"objective.0.temperature", 0.1}, {"objective.0.base_temperature", 0.07}};
inline const Settings kSupcon = with(kScaled, {{"objective.0.name", "supcon"}});
inline Settings eps_supinfonce(double epsilon) {
  return with(kScaled, {{"objective.0.name", "eps_supinfonce"}, {"objective.0.epsilon", epsilon}, {"objective.0.log_eps", 1e-6}});
}
inline Settings eps_supcon(double epsilon) { return with(kScaled, {{"objective.0.name", "eps_supcon"}, {"objective.0.epsilon", epsilon}}); }
// alpha acts twice in the released code: its square is the weight.
inline Settings with_fairkl(const Settings& loss, double alpha_squared, double lambda) {
  return with(loss, {{"objective.0.weight", alpha_squared},
                     {"objective.1.name", "fairkl"},
                     {"objective.1.mode", "authors"},
                     {"objective.1.kld", 1},
                     {"objective.1.weight", lambda}});
}
inline const Settings kCrossEntropy = {
    {"objective.0.name", "cross_entropy"}, {"classifier.gradient", "flow"}, {"classifier.normalize", false}, {"views.count", 1}};
inline const Settings kRebias = with(kCrossEntropy, {{"method.name", "rebias"}, {"method.bias_encoder.name", "bagnet18"}});
inline const Settings kLff = with(kCrossEntropy, {{"method.name", "lff"}});
inline const Settings kDfa = with(kCrossEntropy, {{"method.name", "dfa"}});
inline const Settings kHex = with(kCrossEntropy, {{"method.name", "hex"}});
inline const Settings kBesideBagnet = with(kCrossEntropy, {{"method.bias", "network"}, {"method.bias_encoder.name", "bagnet18"}});
inline const Settings kSeparateClassifier = {
    {"classifier.learning_rate", 1e-3}, {"classifier.gradient", "stop"}, {"classifier.normalize", true}};
// SimpleConvNet without a head; the ResNet of the released contrastive runs keeps its ReLU.
inline const Settings kTanhFeatures = with(kSeparateClassifier, {{"encoder.activation", "tanh"}});
inline const Settings kEnd = {{"objective.0.name", "end"},
                              {"objective.0.alpha", 0.1},
                              {"objective.0.beta", 0.1},
                              {"classifier.gradient", "flow"},
                              {"classifier.normalize", true}};

// U1 to U3: SupContrast's linear classifier.
inline const Settings kLinear = {{"evaluate.protocols", {"linear_supcon"}},  {"evaluate.linear_supcon.epochs", 100},
                                 {"evaluate.linear_supcon.batch_size", 512}, {"evaluate.linear_supcon.learning_rate", 5},
                                 {"evaluate.linear_supcon.momentum", 0.9},   {"evaluate.linear_supcon.gamma", 0.2}};
inline const Settings kSimclr =
    with(with(kLinear, kScaled), {{"objective.0.name", "infonce"}, {"evaluate.linear_supcon.learning_rate", 1}});
inline const Settings kSupCifar = {{"encoder.name", "resnet50"},     {"encoder.stem", "cifar"},        {"encoder.width", 64},
                                   {"optimizer.name", "sgd"},        {"optimizer.learning_rate", 0.5}, {"optimizer.momentum", 0.9},
                                   {"optimizer.weight_decay", 1e-4}, {"schedule.name", "cosine"},      {"schedule.decay_rate", 0.1},
                                   {"schedule.warmup_epochs", 10},   {"schedule.warmup_from", 0.01},   {"train.batch_size", 1024},
                                   {"train.epochs", 1000},           {"train.precision", "bf16"},      {"train.drop_last", false}};
inline const std::map<std::string, Settings> kTable8 = {
    {"simclr/", with(kSimclr, {{"train.precision", "bf16"}})},
    {"simclr_khosla/", with(kSimclr, {{"objective.0.temperature", 0.5}, {"train.precision", "fp32"}})},
    {"ce/", with(kCrossEntropy, {{"optimizer.learning_rate", 0.8}, {"train.epochs", 500}, {"head.name", "none"}})},
    {"max_margin/",
     {{"objective.0.name", "large_margin_softmax"},
      {"objective.0.margin", 4},
      {"classifier.gradient", "flow"},
      {"classifier.normalize", false},
      {"views.count", 1},
      {"optimizer.learning_rate", 0.8},
      {"train.epochs", 500},
      {"head.name", "none"}}},
    {"supcon/", with(kSupcon, kLinear)},
    {"eps_", with(kLinear, {{"views.count", 2}, {"head.name", "mlp"}, {"head.output_dim", 128}})},
    {"eps_supinfonce_0.1/", eps_supinfonce(0.1)},
    {"eps_supinfonce_0.25/", eps_supinfonce(0.25)},
    {"eps_supinfonce_0.5/", eps_supinfonce(0.5)}};

inline const Settings kBiasedMnist = {{"data.train.name", "biased_mnist"},
                                      {"data.train.seed", "run"},
                                      {"data.test.seed", 0},
                                      {"data.train.palette", "usc"},
                                      {"data.test.correlation", 0.1},
                                      {"encoder.name", "simple_convnet"},
                                      {"encoder.stem_stride", 1},
                                      {"encoder.stride", 1},
                                      {"head.name", "none"},
                                      {"views.count", 1},
                                      {"optimizer.name", "adam"},
                                      {"optimizer.learning_rate", 1e-3},
                                      {"optimizer.weight_decay", 1e-5},
                                      {"schedule.milestones", {26, 53}},
                                      {"schedule.gamma", 0.1},
                                      {"train.epochs", 80},
                                      {"train.batch_size", 256}};
inline const Settings kCorrupted = {
    {"encoder.name", "resnet18"}, {"encoder.activation", "relu"}, {"encoder.stem", "imagenet"},      {"encoder.width", 64},
    {"views.count", 1},           {"optimizer.name", "adam"},     {"optimizer.learning_rate", 1e-3}, {"optimizer.weight_decay", 1e-4},
    {"train.epochs", 200},        {"train.batch_size", 256},      {"schedule.name", "cosine"},       {"schedule.from_zero", true}};
inline const Settings kBffhq = {{"data.train.name", "bffhq"},     {"encoder.name", "resnet18"}, {"encoder.activation", "relu"},
                                {"encoder.stem", "imagenet"},     {"encoder.width", 64},        {"optimizer.learning_rate", 1e-4},
                                {"optimizer.weight_decay", 1e-4}, {"train.epochs", 100},        {"train.batch_size", 256},
                                {"schedule.name", "cosine"}};
inline const Settings kBiasConTwoViews = {{"objective.0.name", "biascon"},
                                          {"objective.0.temperature", 0.07},
                                          {"objective.1.weight", 0.01},
                                          {"views.count", 2},
                                          {"train.batch_size", 64}};

inline std::string at_correlation(const std::string& variant, const std::string& correlation) {
  return variant + "/data.train.correlation=" + correlation + "/";
}
// Table 6: alpha 0.03, and by correlation epsilon and lambda.
inline const std::map<std::string, Settings> kTable6 = {
    {"ce/", with(kCrossEntropy, {{"encoder.activation", "relu"}, {"optimizer.weight_decay", 1e-4}})},
    {"eps_", kTanhFeatures},
    {at_correlation("eps_supcon", "0.999"), eps_supcon(0.25)},
    {at_correlation("eps_supcon", "0.997"), eps_supcon(0)},
    {at_correlation("eps_supcon", "0.995"), eps_supcon(0.5)},
    {at_correlation("eps_supcon", "0.99"), eps_supcon(0)},
    {"eps_supinfonce/", eps_supinfonce(0.5)},
    {"ce_fairkl/", {{"objective.0.name", "cross_entropy"}, {"objective.0.weight", 0.03}, {"encoder.activation", "tanh"}}},
    {at_correlation("ce_fairkl", "0.995"), {{"objective.1.weight", 0.75}}},
    {at_correlation("ce_fairkl", "0.99"), {{"objective.1.weight", 0.5}}},
    {at_correlation("eps_supcon_fairkl", "0.999"), with_fairkl(eps_supcon(0.25), 0.0009, 0.75)},
    {at_correlation("eps_supcon_fairkl", "0.997"), with_fairkl(eps_supcon(0), 0.0009, 0.5)},
    {at_correlation("eps_supcon_fairkl", "0.995"), with_fairkl(eps_supcon(0.5), 0.0009, 0.5)},
    {at_correlation("eps_supcon_fairkl", "0.99"), with_fairkl(eps_supcon(0), 0.0009, 0.5)},
    {at_correlation("eps_supinfonce_fairkl", "0.999"), with_fairkl(eps_supinfonce(0.5), 0.0009, 0.75)},
    {at_correlation("eps_supinfonce_fairkl", "0.997"), with_fairkl(eps_supinfonce(0.5), 0.0009, 0.75)},
    {at_correlation("eps_supinfonce_fairkl", "0.995"), with_fairkl(eps_supinfonce(0.5), 0.0009, 0.75)},
    {at_correlation("eps_supinfonce_fairkl", "0.99"), with_fairkl(eps_supinfonce(0.5), 0.0009, 0.5)}};
// Table 7: alpha 0.1, lambda 1, and epsilon by ratio; before it the variant's name.
inline std::map<std::string, Settings> table_7(const std::string& variant) {
  const auto at = [&](const char* ratio) { return variant + "data.train.ratio=" + ratio + "/"; };
  return {{at("0.5pct"), with_fairkl(eps_supinfonce(0.1), 0.01, 1)},
          {at("1pct"), with_fairkl(eps_supinfonce(0.25), 0.01, 1)},
          {at("2pct"), with_fairkl(eps_supinfonce(0.5), 0.01, 1)},
          {at("5pct"), with_fairkl(eps_supinfonce(0.25), 0.01, 1)}};
}
inline std::map<std::string, Settings> joined(std::map<std::string, Settings> some, const std::map<std::string, Settings>& more) {
  some.insert(more.begin(), more.end());
  return some;
}

inline const std::vector<PaperSweep> kSupervisedPapers = {
    {.name = "u1",
     .runs = 24,
     .all = with(kSupCifar, {{"data.train.name", "cifar10"}, {"data.test.name", "cifar10"}}),
     .some = kTable8,
     .published = {{"test.linear_acc1", {.9174, .936, 0, 0, .9564, .9593, .9614, .9595}, {.0005, 0, 0, 0, .0002, .0002, .0001, .0012}},
                   {"test.acc1", {0, 0, .9473, .924, 0, 0, 0, 0}, {0, 0, .0018, 0, 0, 0, 0, 0}}}},
    {.name = "u2",
     .runs = 24,
     .all = with(kSupCifar, {{"data.train.name", "cifar100"}, {"data.test.name", "cifar100"}}),
     .some = kTable8,
     .published = {{"test.linear_acc1", {.6894, .707, 0, 0, .7541, .7585, .7604, .7599}, {.0012, 0, 0, 0, .0019, .0007, .0001, .0006}},
                   {"test.acc1", {0, 0, .7343, .705, 0, 0, 0, 0}, {0, 0, .0008, 0, 0, 0, 0, 0}}}},
    {.name = "u3",
     .runs = 27,
     .all = {{"data.train.classes", "imagenet100"},
             {"encoder.name", "resnet50"},
             {"encoder.stem", "imagenet"},
             {"encoder.width", 64},
             {"optimizer.name", "sgd"},
             {"optimizer.learning_rate", 0.1},
             {"optimizer.momentum", 0.9},
             {"optimizer.weight_decay", 1e-4},
             {"schedule.milestones", {30, 60, 90}},
             {"schedule.gamma", 0.1},
             {"train.batch_size", 512},
             {"train.epochs", 100}},
     .some = {{"simclr/", kSimclr},
              {"ce/", kCrossEntropy},
              {"supcon/", with(kSupcon, kLinear)},
              {"eps_", kLinear},
              {"eps_supinfonce_0.1/", eps_supinfonce(0.1)},
              {"eps_supinfonce_0.25/", eps_supinfonce(0.25)},
              {"eps_supinfonce_0.5/", eps_supinfonce(0.5)},
              {"eps_supcon_0.1/", eps_supcon(0.1)},
              {"eps_supcon_0.25/", eps_supcon(0.25)},
              {"eps_supcon_0.5/", eps_supcon(0.5)}},
     .published = {{"test.linear_acc1",
                    {.6614, 0, .8199, .8325, .8302, .833, .8283, .8254, .8277},
                    {.0008, 0, .0008, .0039, .0041, .0006, .0011, .0009, .0014}},
                   {"test.acc1", {0, .821, 0, 0, 0, 0, 0, 0, 0}, {0, .0059, 0, 0, 0, 0, 0, 0, 0}}}},
    {.name = "u4",
     .runs = 72,
     .all = kBiasedMnist,
     .some = kTable6,
     .published = {{"test.acc1",
                    {.118, .625,  .795,  .908,  .2436, .7435, .8413, .9112, .3316, .7386, .8365, .9118,
                     .799, .9386, .9485, .9592, .8945, .9575, .9631, .9672, .9051, .9619, .97,   .9786},
                    {.007,  .029,  .001,  .003,  .0323, .0009, .0131, .0035, .0357, .0081, .0036, .0049,
                     .0429, .0113, .0055, .0017, .0182, .0016, .0081, .002,  .0155, .0023, .0006, .0002}}}},
    {.name = "u5",
     .runs = 60,
     .all = with(kBiasedMnist, {{"optimizer.weight_decay", 1e-4}}),
     .some = {{"end/", with(kEnd, {{"schedule.milestones", {20, 40, 60}}, {"encoder.activation", "tanh"}})},
              {"bias_balanced/", {{"objective.0.name", "bias_balanced"}, {"optimizer.learning_rate", 1e-4}}},
              {"biascon_bias_balanced/", with(kBiasConTwoViews, {{"objective.1.name", "bias_balanced"}})},
              {"biascon_ce/", with(kBiasConTwoViews, {{"objective.1.name", "cross_entropy"}})},
              {"lnl/", with(kCrossEntropy, {{"method.name", "lnl"}, {"encoder.activation", "relu"}})}},
     .published = {{"test.acc1",
                    {.595, .827, .94,   .948,  .3026, .8283, .882, .9504, .768, .912,
                     .939, .963, .1506, .9048, .9595, .9767, .182, .572,  .725, .86},
                    {.023, .003, .006,  .003,  .1108, .0417, .0227, .0086, .016, .002,
                     .001, .002, .0222, .0526, .0011, .0009, .012,  .022,  .009, .002}}}},
    {.name = "u6",
     .runs = 84,
     .all = kCorrupted,
     .some = joined({{"ce/", kCrossEntropy},
                     {"end/", kEnd},
                     {"rebias/", kRebias},
                     {"lff/", kLff},
                     {"dfa/", kDfa},
                     {"hex/", kHex},
                     {"dfa/data.train.ratio=1pct/", with(kDfa, {{"method.bias_weight", 5}, {"method.bias_swap_weight", 5}})}},
                    table_7("eps_supinfonce_fairkl/")),
     .published = {{"test.acc1",
                    {.2308, .2582, .3006, .3942, .1938, .2312, .3407, .3657, .3333, .3653, .4145, .5073, .2227, .2572,
                     .3166, .4343, .2857, .3307, .3991, .5027, .2995, .3649, .4178, .5113, .1387, .1481, .1520, .1604},
                    {.0125, .0033, .0071, .0064, .0136, .0107, .0481, .0398, .0038, .0038, .0042, .0090, .0041, .0020,
                     .0043, .0041, .0130, .0077, .0030, .0156, .0071, .0179, .0229, .0128, .0006, .0042, .0054, .0063}}}},
    {.name = "u7",
     .runs = 24,
     .all = kBffhq,
     .some = {{"ce/", kCrossEntropy},
              {"end/", kEnd},
              {"eps_", kSeparateClassifier},
              {"eps_supinfonce/", eps_supinfonce(0.25)},
              {"eps_supinfonce_fairkl/", with_fairkl(eps_supinfonce(0.25), 0.01, 1.5)},
              {"rebias/", kRebias},
              {"lff/", kLff},
              {"dfa/", with(kDfa, {{"method.bias_weight", 2}, {"method.swap_weight", 0.1}})},
              {"hex/", kHex}},
     .published = {{"test.acc1",
                    {.5687, .5687, .548, .648, .5946, .622, .6387, .5283},
                    {.0269, .0142, 0, .0043, .0064, .01, .0031, .0090}}}},
    {.name = "u8_bias_model",
     .runs = 1,
     .all = {{"encoder.name", "bagnet18"}, {"train.epochs", 120}, {"objective.0.name", "cross_entropy"}}},
    {.name = "u8",
     .runs = 21,
     .all = {{"encoder.name", "resnet18"},
             {"encoder.activation", "relu"},
             {"encoder.stem", "imagenet"},
             {"optimizer.learning_rate", 1e-3},
             {"optimizer.weight_decay", 1e-4},
             {"train.epochs", 200},
             {"train.batch_size", 256},
             {"schedule.name", "cosine"},
             {"data.train.classes", "imagenet9"},
             {"evaluate.protocols", {"clusterings"}},
             {"evaluate.clusterings.file", "data/imagenet9/clusters.csv"},
             {"data.valid.root", "data/imagenet-a"}},
     .some = {{"vanilla/", kCrossEntropy},
              {"softcon/", {{"objective.0.name", "softcon"}, {"objective.0.temperature", 0.07}, {"objective.1.weight", 1}}},
              {"eps_supinfonce_fairkl/", with(with(kScaled, kSeparateClassifier), {{"objective.0.epsilon", 0.5},
                                                                                   {"objective.0.weight", 0.5},
                                                                                   {"objective.1.mode", "authors"},
                                                                                   {"objective.1.weight", 1}})},
              {"learned_mixin/", with(kBesideBagnet, {{"method.name", "learned_mixin"},
                                                      {"method.entropy", 0.36},
                                                      {"method.pretrain", 30},
                                                      {"method.train_mixin", false},
                                                      {"train.epochs", 230}})},
              {"rubi/", with(kBesideBagnet, {{"method.name", "rubi"}, {"method.train_gate", false}})},
              {"rebias/", kRebias},
              {"lff/", kLff}},
     .published = {{"test.acc1", {.940, .953, .951, .792, .939, .94, .912}, {.001, .002, .001, .011, .002, .002, .001}},
                   {"test.clusterings_acc", {.927, .941, .948, .766, .925, .927, .896}, {.002, .003, .003, .012, .002, .002, .003}},
                   {"valid.acc1", {.305, .341, .357, .19, .31, .305, .294}, {.005, .006, .005, .012, .002, .002, .008}}},
     .noted = {"88.4/86.6/24.6"}},
    {.name = "u9",
     .runs = 12,
     .all =
         with(kCorrupted, {{"head.name", "mlp"}, {"head.output_dim", 128}, {"objective.1.on", "encoder"}, {"classifier.normalize", false}}),
     .some = table_7(""),
     .published = {{"test.acc1", {.3085, .3275, .3795, .4567}, {.0019, .0057, .0014, .0066}}}},
    {.name = "u10_corrupted_cifar10",
     .runs = 24,
     .all = with(kCorrupted, kSeparateClassifier),
     .some = joined({{"means/", {{"objective.1.kld", 0}, {"objective.1.weight", 1}, {"objective.0.weight", 0.01}}},
                     {"means/data.train.ratio=0.5pct/", {{"objective.0.epsilon", 0.1}}},
                     {"means/data.train.ratio=2pct/", {{"objective.0.epsilon", 0.5}}}},
                    table_7("full/")),
     .published = {{"test.acc1",
                    {.3237, .3565, .3994, .5025, .3333, .3653, .4145, .5073},
                    {.0172, .0075, .0050, .0016, .0038, .0038, .0042, .0090}}}},
    {.name = "u10_bffhq",
     .runs = 6,
     .all = with(with(kBffhq, kSeparateClassifier), with_fairkl(eps_supinfonce(0.25), 0.01, 1.5)),
     .some = {{"means/", {{"objective.1.kld", 0}}}},
     .published = {{"test.acc1", {.6055, .6370}, {.0105, .0090}}}},
    {.name = "u11",
     .runs = 54,
     .all = with(with(kBiasedMnist, kTanhFeatures), eps_supinfonce(0)),
     .some = {{"data.train.correlation=0.995,objective.1.weight=1,objective.0.weight=1e-2/", with_fairkl(eps_supinfonce(0), 0.01, 1)}},
     .published = {{"test.acc1",
                    {.8955, .3163, .3838, .8498, .4321, .3184, .9408, .8211, .7891, .9108, .8498, .7903, .9242, .9060, .8663, .8839, .9397,
                     .8827},
                    {.0143, .0230, .0126, .0229, .1008, .0431, .0010, .0248, .0248, .0082, .1023, .0315, .0376, .0335, .0226, .0500, .0183,
                     .0172}}}},
    {.name = "u12",
     .runs = 24,
     .all = with(with(kBiasedMnist, kTanhFeatures), {{"evaluate.every", 1}, {"evaluate.protocols", {"groups", "geometry"}}}),
     .some = {{at_correlation("eps_supcon", "0.999"), eps_supcon(0.25)},
              {at_correlation("eps_supcon", "0.997"), eps_supcon(0)},
              {at_correlation("eps_supcon", "0.995"), eps_supcon(0.5)},
              {at_correlation("eps_supcon", "0.99"), eps_supcon(0)},
              {"eps_supinfonce/", eps_supinfonce(0.5)}},
     .published = {{"test.acc1",
                    {.2436, .7435, .8413, .9112, .3316, .7386, .8365, .9118},
                    {.0323, .0009, .0131, .0035, .0357, .0081, .0036, .0049}}}},
};

}  // namespace debias::paper_numbers
