// Embedding and export of a run by the library.
#include "debias/runs/run_embedding.h"

#include "debias/runs/run_export.h"
#include "tests/runs/trained_run.h"

namespace debias::run_embedding_test {

const std::string kRecipe = small_recipe(
    {"data={train: {name: glyphs, size: 16, train_count: 96, hold_out: 20}, test: {name: glyphs, size: 16, test_count: 40, split: "
     "test}}",
     "views={preset: none, count: 1}", "objective=supcon", "train.epochs=1", "train.batch_size=32"});

const std::vector<std::string> kAll = {"encoder.onnx", "encoder.safetensors", "preprocess.json"};

class SmallRuns : public SharedFolder<SmallRuns> {
 protected:
  static void SetUpTestSuite() {
    train_into(resnet(), kRecipe);
    train_into(convnet(), kRecipe, {"encoder={name: simple_convnet, stem_stride: 2}", "head={name: none}"});
    fs::copy_file(resnet() + "/checkpoints/last.safetensors", lone());
  }
  static std::string resnet() { return path("run"); }
  static std::string convnet() { return path("convnet"); }
  static std::string lone() { return path("lone.safetensors"); }

  static RunEmbedding embedded(const std::string& run, const std::string& out, const std::vector<std::string>& words = {},
                               Layer layer = Layer::kEncoder) {
    EmbeddingRequest request{.run = run, .out = out};
    request.data.words = words;
    request.layer = layer;
    return embed_run(request, Progress::silent(), Log::silent());
  }
  static ExportedFiles exported(const std::string& run, const std::string& out = "", ExportFormat format = ExportFormat::kAll) {
    return export_run({.run = run, .out = out, .format = format}, Log::silent());
  }
};

TEST_F(SmallRuns, AreEmbeddedAsAnArrayWithASidecarOrOneTable) {
  const RunEmbedding made = embedded(resnet(), path("e"));
  EXPECT_EQ(made.rows, 40);
  EXPECT_EQ(made.files, (std::vector<std::string>{path("e.npy"), path("e.csv")}));
  EXPECT_EQ(made.names, path("e.names.csv"));
  const NpyArray array = read_npy(path("e.npy"));
  EXPECT_EQ(array.dtype, DType::kFloat32);
  ASSERT_EQ(array.shape, (std::vector<int64_t>{40, made.dimensions}));
  EXPECT_TRUE(file_text(path("e.csv")).starts_with("filenames,labels\n"));
  embedded(resnet(), path("t.csv"));
  const std::string table = file_text(path("t.csv"));
  EXPECT_TRUE(table.starts_with("filenames,embedding_0,embedding_1,"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 41);
  const std::string first = table.substr(table.find('\n') + 1);
  EXPECT_EQ(std::stof(first.substr(first.find(',') + 1)), array.as<float>()[0]);
}

TEST_F(SmallRuns, AreEmbeddedByTheLayerAndTheWordsOfTheRequest) {
  EXPECT_EQ(embedded(resnet(), path("p"), {}, Layer::kProjection).dimensions, 4);
  EXPECT_EQ(embedded(resnet(), path("q")).dimensions, 64);
  EXPECT_THAT(usage_error_of([] { embedded(convnet(), path("r"), {}, Layer::kProjection); }), HasSubstr("the run has no head"));
  EXPECT_FALSE(fs::exists(path("r.npy")));
  EXPECT_EQ(embedded(resnet(), path("few"), {"test_count=7"}).rows, 7);
  EXPECT_EQ(embedded(resnet(), path("train"), {"split=train", "train_count=31"}).rows, 31);
  EXPECT_THAT(usage_error_of([] { embedded(lone(), path("r")); }), HasSubstr("it is in no run folder"));
}

TEST_F(SmallRuns, AreEmbeddedOutsideTheirData) {
  fs::create_directories(path("images"));
  EmbeddingRequest request{.run = resnet(), .out = path("images/e.npy")};
  request.data = {"image_folder", path("images"), {}};
  EXPECT_THAT(usage_error_of([&] { embed_run(request, Progress::silent(), Log::silent()); }), HasSubstr("is inside the data folder"));
  EXPECT_TRUE(fs::is_empty(path("images")));
}

TEST_F(SmallRuns, HaveNamesBesideTheNumbers) {
  embedded(resnet(), path("named"));
  std::istringstream lines(file_text(path("named.names.csv")));
  const auto table = json_in(resnet() + "/classes.json");
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "filenames,labels,class,bias,bias_name");
  int64_t rows = 0, conflicting = 0;
  for (; std::getline(lines, line); ++rows) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 5u) << line;
    EXPECT_EQ(cells[0], "test/" + std::to_string(rows));
    EXPECT_EQ(cells[1], std::to_string(rows % 10));  // how glyphs are numbered
    EXPECT_EQ(table["classes"].at(std::stoul(cells[1])), cells[2]) << line;
    EXPECT_EQ(table["biases"].at(std::stoul(cells[3])), cells[4]) << line;
    conflicting += cells[1] != cells[3] ? 1 : 0;
  }
  EXPECT_EQ(rows, 40);
  EXPECT_GT(conflicting, 20) << "bias labels are not labels";
}

TEST_F(SmallRuns, HaveBiasFeaturesByRowsOfSampleIds) {
  EmbeddingRequest request{.run = convnet(), .out = path("bias")};
  const BiasFeatureFile file = embed_bias_features(request, Progress::silent(), Log::silent());
  EXPECT_EQ(file.path, path("bias.npy"));
  EXPECT_EQ(file.dimensions, 128);
  EXPECT_EQ(file.rows - file.empty_rows, 76) << "96 images, 20 of them held out";
  EXPECT_FALSE(fs::exists(path("bias.csv")));
  const NpyArray table = read_npy(path("bias.npy"));
  embedded(convnet(), path("every"), {"split=train", "hold_out=0", "train_count=96"});
  const NpyArray every = read_npy(path("every.npy"));
  const int64_t F = file.dimensions;
  ASSERT_EQ(every.shape, (std::vector<int64_t>{96, F}));
  int64_t same = 0;
  for (int64_t id = 0; id < file.rows; ++id) {
    const float *row = table.as<float>().data() + id * F, *expected = every.as<float>().data() + id * F;
    if (std::all_of(row, row + F, [](float value) { return value == 0; })) continue;
    ++same;
    for (int64_t f = 0; f < F; ++f) ASSERT_NEAR(row[f], expected[f], 1e-5) << "id " << id;
  }
  EXPECT_EQ(same, 76);
  train_into(path("softcon"), kRecipe, {"objective={name: softcon, bias_features: " + path("bias.npy") + "}"});
  request.out = path("b.csv");
  EXPECT_THAT(usage_error_of([&] { embed_bias_features(request, Progress::silent(), Log::silent()); }), HasSubstr("give --out F.npy"));
}

TEST_F(SmallRuns, AreExportedIntoTheirFolderWithWeightsThatHaveTorchvisionsKeys) {
  const ExportedFiles files = exported(resnet());
  EXPECT_EQ(files.paths.size(), 3u);
  EXPECT_EQ(files.epoch, 1);
  EXPECT_EQ(files.features, 64);
  EXPECT_EQ(names_in(resnet() + "/exported"), kAll);
  const SafetensorsFile weights = SafetensorsFile::open(resnet() + "/exported/encoder.safetensors");
  const SafetensorsFile checkpoint = SafetensorsFile::open(resnet() + "/checkpoints/last.safetensors");
  EXPECT_NE(weights.find("layer4.1.bn2.num_batches_tracked"), nullptr);
  size_t of_encoder = 0;
  for (const auto& entry : checkpoint.tensors()) {
    if (!entry.name.starts_with("encoder.")) continue;
    ++of_encoder;
    const TensorEntry* found = weights.find(entry.name.substr(8));
    ASSERT_NE(found, nullptr) << entry.name;
    EXPECT_EQ(found->shape, entry.shape);
    std::vector<std::byte> a(entry.end - entry.begin), b(found->end - found->begin);
    checkpoint.read(entry, a.data());
    weights.read(*found, b.data());
    EXPECT_EQ(a, b) << entry.name;
  }
  EXPECT_EQ(weights.tensors().size(), of_encoder);
}

TEST_F(SmallRuns, AreExportedWithWhatToDoToAnImage) {
  exported(resnet(), path("described"));
  const auto json = json_in(path("described/preprocess.json"));
  EXPECT_EQ(json["size"], (std::vector<int>{16, 16}));
  EXPECT_TRUE(json["resize"].is_null());
  EXPECT_EQ(json["mean"].size(), 3u);
  EXPECT_EQ(json["classes"].size(), 10u);
  train_into(path("resized"), kRecipe,
             {"views.normalize={mean: [0.5], std: [0.25]}", "views.eval={resize: {size: 20}, center_crop: {size: [16, 18]}}"});
  exported(path("resized"));
  const auto resized = json_in(path("resized/exported/preprocess.json"));
  EXPECT_EQ(resized["size"], (std::vector<int>{16, 18}));
  EXPECT_EQ(resized["resize"], 20);
  EXPECT_EQ(resized["mean"], (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(resized["std"], (std::vector<double>{0.25, 0.25, 0.25}));
}

TEST_F(SmallRuns, ReplaceAnEarlierExportAsAWholeAndNothingElse) {
  const std::string out = path("again");
  exported(resnet(), out, ExportFormat::kOnnx);
  EXPECT_EQ(names_in(out), (std::vector<std::string>{"encoder.onnx", "preprocess.json"}));
  const std::string before = file_text(out + "/encoder.onnx");
  exported(resnet(), out);
  EXPECT_EQ(names_in(out), kAll);
  EXPECT_EQ(file_text(out + "/encoder.onnx"), before);
  EXPECT_THAT(usage_error_of([&] { exported(resnet(), out, ExportFormat::kOnnx); }), HasSubstr("encoder.safetensors of an earlier export"));
  EXPECT_EQ(names_in(out), kAll);
  std::ofstream(out + "/mine.txt") << "kept";
  EXPECT_THAT(usage_error_of([&] { exported(resnet(), out); }), HasSubstr("contains 'mine.txt', which no export wrote"));
  EXPECT_EQ(file_text(out + "/mine.txt"), "kept");
  fs::create_directories(path("theirs"));
  std::ofstream(path("theirs/encoder.onnx")) << "another program's";
  EXPECT_THAT(usage_error_of([&] { exported(resnet(), path("theirs")); }), HasSubstr("which no export wrote"));
}

TEST_F(SmallRuns, OfOtherEncodersAreExportedAsWeightsAlone) {
  exported(convnet(), path("weights"));
  EXPECT_EQ(names_in(path("weights")), (std::vector<std::string>{"encoder.safetensors", "preprocess.json"}));
  EXPECT_THAT(usage_error_of([] { exported(convnet(), "", ExportFormat::kOnnx); }),
              HasSubstr("the encoder ('simple_convnet') is not a single"));
  EXPECT_FALSE(fs::exists(convnet() + "/exported/encoder.onnx"));
  EXPECT_THAT(usage_error_of([] { exported(lone()); }), HasSubstr("is in no run folder; give --out DIR"));
  exported(lone(), path("of_lone"));
  EXPECT_EQ(names_in(path("of_lone")), kAll);
}

}  // namespace debias::run_embedding_test
