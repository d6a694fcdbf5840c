#include "debias/loader/loader.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "debias/core/dtype.h"
#include "debias/core/error.h"
#include "debias/data/data_stream.h"
#include "debias/loader/image_reader.h"

namespace debias {
namespace {

using Found = ImageReader::Found;

constexpr int64_t kMegabyte = 1 << 20;

}  // namespace

// One run of an epoch. The consumer (the thread that calls next()) opens batches: it fills in a slot's metadata, then raises `opened`.
// Workers take rows from `next_row`, in order, wait until the row's batch is open, and write its views into the slot; whoever finishes a
// slot's last row wakes the consumer. Invariants: (1) batch b uses slot b % ring; (2) a slot is written by the consumer only while
// its rows_left is 0 and the batch is not open, and by workers only while the batch is open; (3) no lock is held while views are made.
struct Loader::State {
  struct Workspace {  // of one thread
    ViewFrame frame;
    PartialImage image, other;
    PlannedViews views, of_other;
  };

  struct Slot {  // of the ring
    at::Tensor buffer;
    Batch batch;
    int64_t first_visit = 0, rows = 0;
    int64_t begin = 0, end = 0;  // of the rows that are made here
    std::atomic<int64_t> rows_left{0};
    std::exception_ptr error;  // of the first failing row; like the batch's substitutions guarded by State::mutex until rows_left is 0
    int64_t error_row = 0;
  };

  State(std::shared_ptr<const Dataset> data, ViewPipeline views, std::shared_ptr<const Sampler> order, LoaderOptions given)
      : dataset(std::move(data)),
        pipeline(std::move(views)),
        sampler(std::move(order)),
        options(std::move(given)),
        reader(dataset, options.on_error, options.decode,
               options.cache_megabytes > (INT64_MAX / kMegabyte) ? INT64_MAX : options.cache_megabytes * kMegabyte) {}
  ~State() { stop_workers(); }

  void find_shape();
  void allocate(int64_t rows);
  at::Tensor images_in(const at::Tensor& buffer, int64_t images) const;
  void open_batch(int64_t batch);
  void work();
  bool wait_until_open(int64_t batch);
  void make_row(int64_t batch, int64_t row, Workspace& workspace);
  void write_views(Slot& slot, int64_t row, Workspace& workspace);
  Found read_own(int64_t index, RngKey key, const RegionChooser& choose, PartialImage& memory) const;
  Found read_second(const Found& own, RngKey key, Workspace& workspace, Batch& batch);
  RegionChooser needed_by(PlannedViews& views) const;
  void seat(const Found& stand_in, Batch& batch, int64_t row);
  void note_substitution(const Found& stand_in, Batch& batch);
  void write_view(const Found& source, PlannedViews& views, int64_t view, ViewFrame& frame, void* out) const;
  void stop_workers();

  int64_t rows_of(int64_t batch) const {
    return std::min(options.batch_size, static_cast<int64_t>(visits.size()) - batch * options.batch_size);
  }
  std::pair<int64_t, int64_t> own_of(int64_t rows) const {
    return {rows * options.rank / options.ranks, rows * (options.rank + 1) / options.ranks};
  }
  bool is_own(int64_t batch, int64_t row) const {
    const auto [begin, end] = own_of(rows_of(batch));
    return begin <= row && row < end;
  }
  int64_t images_of(int64_t rows) const { return (rows + options.ranks - 1) / options.ranks; }  // at most
  int64_t batches_of(int64_t visit_count) const {
    return options.drop_last ? visit_count / options.batch_size : (visit_count + options.batch_size - 1) / options.batch_size;
  }
  int64_t bytes_of_value() const { return options.type == ViewTarget::Type::kBfloat16 ? 2 : 4; }
  ViewTarget::Order order() const {
    return channels == 1 ? ViewTarget::Order::kChannelsFirst : options.order;
  }  // one channel: the same bytes
  Slot& slot_of(int64_t batch) { return ring[batch % static_cast<int64_t>(ring.size())]; }

  const std::shared_ptr<const Dataset> dataset;
  const ViewPipeline pipeline;
  const std::shared_ptr<const Sampler> sampler;
  const LoaderOptions options;
  const ImageReader reader;
  std::optional<OtherClassDraw> other_class;
  int channels = 0, height = 0, width = 0;
  int64_t batches_per_epoch = 0;
  double seconds_waited = 0;

  std::vector<Slot> ring;
  int64_t slot_rows = 0;

  int64_t epoch = -1;
  std::vector<Visit> visits;
  int64_t batch_count = 0;
  int64_t handed_out = -1;  // the batch the consumer holds
  int64_t upcoming = 0;     // the batch next() returns next
  Workspace own_workspace;  // of the consumer, where there are no workers

  std::vector<std::thread> workers;
  std::atomic<bool> stopping{false};
  std::atomic<int64_t> next_row{0};  // over the whole epoch: batch * batch_size + row
  std::atomic<int64_t> opened{0};    // batches below this one are open
  std::mutex mutex;
  std::condition_variable batch_opened, batch_finished;
};

void Loader::State::find_shape() {
  const DatasetInfo& info = dataset->info();
  channels = info.channels;
  if (info.height > 0 && info.width > 0) {
    std::tie(height, width) = pipeline.output_size(info.height, info.width);
    return;
  }
  PartialImage memory;
  const RngKey key{.domain = RngDomain::kViews, .seed = options.seed};
  const Found first = read_own(0, key, whole_region, memory);
  try {
    channels = first.image.channels;
    std::tie(height, width) = pipeline.output_size(first.image.height, first.image.width);
  } catch (...) {
    std::rethrow_exception(with_source(std::current_exception(), dataset->source(first.index)));
  }
}

void Loader::State::allocate(int64_t rows) {
  if (rows == slot_rows) return;
  slot_rows = 0;
  const int64_t slots = options.workers > 0 ? options.prefetch + 1 : 1;
  const int64_t extents[] = {options.views, rows, channels, height, width};
  const auto values = checked_product(extents);
  const auto bytes = values ? checked_multiply(*values, bytes_of_value()) : std::nullopt;
  const auto total = bytes ? checked_multiply(*bytes, slots) : std::nullopt;
  if (!total)
    throw usage_error("loader: a batch of {} x {} images of {} x {} pixels is too large; lower batch_size", options.views, rows, height,
                      width);
  try {
    ring = std::vector<Slot>(slots);
    for (Slot& slot : ring) slot.buffer = at::empty({*values}, options.type == ViewTarget::Type::kBfloat16 ? at::kBFloat16 : at::kFloat);
  } catch (const std::exception&) {
    throw resource_error("loader: {} batches of {} x {} images need {} MB, which cannot be allocated; lower batch_size or prefetch", slots,
                         options.views, rows, *total / kMegabyte);
  }
  slot_rows = rows;
}

// [V, images, C, H, W] of the first values of a slot's memory, in the views' order.
at::Tensor Loader::State::images_in(const at::Tensor& buffer, int64_t images) const {
  const at::Tensor values = buffer.narrow(0, 0, options.views * images * channels * height * width);
  if (order() == ViewTarget::Order::kChannelsFirst) return values.view({options.views, images, channels, height, width});
  return values.view({options.views, images, height, width, channels}).permute({0, 1, 4, 2, 3});
}

void Loader::State::open_batch(int64_t number) {
  Slot& slot = slot_of(number);
  slot.first_visit = number * options.batch_size;
  slot.rows = rows_of(number);
  std::tie(slot.begin, slot.end) = own_of(slot.rows);
  slot.error = nullptr;
  Batch& batch = slot.batch;
  batch.epoch = epoch;
  batch.number = number;
  batch.first_row = slot.begin;
  batch.substituted = 0;
  batch.unreadable.clear();
  const int64_t images = slot.end - slot.begin;
  batch.inputs = {{"images", images_in(slot.buffer, images)}};
  for (auto* column : {&batch.ids, &batch.occurrences, &batch.labels, &batch.biases, &batch.indices}) column->resize(slot.rows);
  for (int64_t row = 0; row < slot.rows; ++row) {
    const Visit& visit = visits[slot.first_visit + row];
    batch.indices[row] = visit.index;
    batch.ids[row] = dataset->id(visit.index);
    batch.occurrences[row] = visit.occurrence;
    batch.labels[row] = dataset->label(visit.index);
    batch.biases[row] = dataset->bias(visit.index);
  }
  slot.rows_left.store(images, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex);
    opened.store(number + 1, std::memory_order_release);
  }
  batch_opened.notify_all();
}

void Loader::State::work() {
  Workspace workspace;
  const auto end = std::min(static_cast<int64_t>(visits.size()), batch_count * options.batch_size);
  while (true) {
    const int64_t item = next_row.fetch_add(1, std::memory_order_relaxed);
    if (item >= end) return;
    const int64_t batch = item / options.batch_size, row = item % options.batch_size;
    if (!is_own(batch, row)) continue;
    if (!wait_until_open(batch)) return;
    make_row(batch, row, workspace);
  }
}

bool Loader::State::wait_until_open(int64_t batch) {
  if (stopping.load(std::memory_order_relaxed)) return false;
  if (batch < opened.load(std::memory_order_acquire)) return true;
  std::unique_lock lock(mutex);
  batch_opened.wait(lock, [&] { return stopping || batch < opened; });
  return !stopping;
}

void Loader::State::make_row(int64_t batch, int64_t row, Workspace& workspace) {
  Slot& slot = slot_of(batch);
  try {
    write_views(slot, row, workspace);
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!slot.error || row < slot.error_row) {
      slot.error = std::current_exception();
      slot.error_row = row;
    }
  }
  if (slot.rows_left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  { const std::lock_guard lock(mutex); }  // so that the consumer is either before its check or waiting
  batch_finished.notify_one();
}

void Loader::State::write_views(Slot& slot, int64_t row, Workspace& workspace) {
  Batch& batch = slot.batch;
  RngKey key{.domain = RngDomain::kViews,
             .seed = options.seed,
             .epoch = static_cast<uint64_t>(epoch),
             .sample = static_cast<uint64_t>(batch.ids[row]),
             .occurrence = static_cast<uint32_t>(batch.occurrences[row])};
  workspace.views.start(key, 0, options.views);
  const Found own = read_own(batch.indices[row], key, needed_by(workspace.views), workspace.image);
  if (!own.unreadable.empty()) seat(own, batch, row);
  const Found second = other_class || options.links ? read_second(own, key, workspace, batch) : own;
  const int64_t size = int64_t{channels} * height * width * bytes_of_value();
  auto* place = static_cast<std::byte*>(slot.buffer.mutable_data_ptr()) + (row - slot.begin) * size;
  for (int64_t view = 0; view < options.views; ++view, place += (slot.end - slot.begin) * size) {
    const bool is_other = view == 1 && second.index != own.index;
    write_view(is_other ? second : own, is_other ? workspace.of_other : workspace.views, is_other ? 0 : view, workspace.frame, place);
  }
}

Found Loader::State::read_own(int64_t index, RngKey key, const RegionChooser& choose, PartialImage& memory) const {
  key.domain = RngDomain::kData;
  key.step = static_cast<uint16_t>(DataStream::kStandIn);
  Random random(key);
  return reader.read(index, choose, memory, [&] {
    const int64_t other = random.below(dataset->size() - 1);
    return other < index ? other : other + 1;
  });
}

// Mostly the own image; now and then one of another class, or of the own group where images are linked.
Found Loader::State::read_second(const Found& own, RngKey key, Workspace& workspace, Batch& batch) {
  workspace.of_other.start(key, 1, 2);
  key.domain = RngDomain::kNoise;
  Random random(key);
  if (!options.links && random.uniform() >= options.noise) return own;
  const auto draw = [&] { return options.links ? options.links->draw(own.index, random) : other_class->draw(own.index, random); };
  const int64_t drawn = draw();
  if (drawn == own.index) return own;
  Found other = reader.read(drawn, needed_by(workspace.of_other), workspace.other, draw);
  if (!other.unreadable.empty()) note_substitution(other, batch);
  return other;
}

RegionChooser Loader::State::needed_by(PlannedViews& views) const {
  const int largest_denominator = options.decode == Decode::kScaled ? 8 : 1;
  return [this, &views, largest_denominator](int image_height, int image_width) {
    return pipeline.region(views.of(pipeline, image_height, image_width), largest_denominator);
  };
}

void Loader::State::seat(const Found& stand_in, Batch& batch, int64_t row) {
  note_substitution(stand_in, batch);
  batch.indices[row] = stand_in.index;
  batch.ids[row] = dataset->id(stand_in.index);
  batch.occurrences[row] = kMaxOccurrences - 1 - row;
  batch.labels[row] = dataset->label(stand_in.index);
  batch.biases[row] = dataset->bias(stand_in.index);
}

void Loader::State::note_substitution(const Found& stand_in, Batch& batch) {
  const std::lock_guard lock(mutex);
  ++batch.substituted;
  batch.unreadable.insert(stand_in.unreadable.begin(), stand_in.unreadable.end());
}

void Loader::State::write_view(const Found& source, PlannedViews& views, int64_t view, ViewFrame& frame, void* out) const {
  try {
    const ViewPlan& plan = views.of(pipeline, source.image.height, source.image.width)[view];
    pipeline.write(source.image, plan, frame, {channels, height, width, out, options.type, order()});
  } catch (...) {
    std::rethrow_exception(with_source(std::current_exception(), dataset->source(source.index)));
  }
}

void Loader::State::stop_workers() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  batch_opened.notify_all();
  for (std::thread& worker : workers) worker.join();
  workers.clear();
  stopping = false;
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, ViewPipeline pipeline, std::shared_ptr<const Sampler> sampler,
               LoaderOptions options) {
  options.check();
  if (dataset->size() == 0) throw data_error("data set '{}' ({}) has no images", dataset->info().name, dataset->info().split);
  state_ = std::make_unique<State>(std::move(dataset), std::move(pipeline), std::move(sampler), std::move(options));
  if (state_->options.noise > 0) state_->other_class.emplace(*state_->dataset);
  const auto visits = static_cast<int64_t>(state_->sampler->epoch(state_->options.seed, 0).size());
  state_->batches_per_epoch = state_->batches_of(visits);
  if (state_->batches_per_epoch == 0) {
    throw usage_error(
        "loader: batch_size {} with drop_last leaves no batch of the {} images of an epoch; lower batch_size or set drop_last: false",
        state_->options.batch_size, visits);
  }
  state_->find_shape();
  state_->allocate(state_->images_of(std::min(state_->options.batch_size, visits)));
}

Loader::~Loader() = default;

const SampleTable& Loader::samples() const { return *state_->dataset; }

int64_t Loader::batches_per_epoch() const { return state_->batches_per_epoch; }

std::vector<int64_t> Loader::image_shape() const { return {state_->channels, state_->height, state_->width}; }

double Loader::seconds_waited() const { return state_->seconds_waited; }

void Loader::start(int64_t epoch, int64_t first) {
  State& state = *state_;
  state.stop_workers();
  state.visits = state.sampler->epoch(state.options.seed, static_cast<uint64_t>(epoch));
  state.batch_count = state.batches_of(static_cast<int64_t>(state.visits.size()));
  if (first < 0 || first > state.batch_count) {
    throw usage_error("loader: epoch {} has {} batches and cannot be started at batch {}", epoch, state.batch_count, first);
  }
  state.allocate(state.images_of(std::min(state.options.batch_size, static_cast<int64_t>(state.visits.size()))));
  state.epoch = epoch;
  state.handed_out = -1;
  state.upcoming = first;
  state.next_row = first * state.options.batch_size;
  state.opened = first;
  const auto ring = static_cast<int64_t>(state.ring.size());
  for (int64_t batch = first; batch < std::min(state.batch_count, first + ring); ++batch) state.open_batch(batch);
  try {
    for (int64_t i = 0; i < state.options.workers; ++i) state.workers.emplace_back([&state] { state.work(); });
  } catch (const std::system_error& error) {
    state.stop_workers();
    throw resource_error("loader: {} workers cannot be started ({}); lower workers", state.options.workers, error.what());
  }
}

const Batch* Loader::next() {
  State& state = *state_;
  if (state.epoch < 0) throw std::logic_error("Loader::next() before start()");
  const auto ring = static_cast<int64_t>(state.ring.size());
  if (state.handed_out >= 0 && state.handed_out + ring < state.batch_count) state.open_batch(state.handed_out + ring);
  state.handed_out = -1;
  if (state.upcoming >= state.batch_count) return nullptr;

  const int64_t number = state.upcoming++;
  state.handed_out = number;
  State::Slot& slot = state.slot_of(number);
  const auto begin = std::chrono::steady_clock::now();
  if (state.workers.empty()) {
    for (int64_t row = slot.begin; row < slot.end; ++row) state.make_row(number, row, state.own_workspace);
  } else {
    std::unique_lock lock(state.mutex);
    state.batch_finished.wait(lock, [&slot] { return slot.rows_left.load(std::memory_order_acquire) == 0; });
  }
  state.seconds_waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (slot.error) std::rethrow_exception(slot.error);
  return &slot.batch;
}

}  // namespace debias
