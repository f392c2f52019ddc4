#ifndef CACHEINF_TESTS_EXEC_DEFERRED_BACKEND_H_
#define CACHEINF_TESTS_EXEC_DEFERRED_BACKEND_H_

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/exec/forwarding_backend.h"
#include "sparse_ops/mask/mask.h"

namespace cacheinf {

// Calls to a device that only run when somebody waits for them.
class DeferredCalls {
 public:
  void Add(std::function<void()> call) { calls_.push_back(std::move(call)); }
  void Finish() {
    for (const auto& call : std::exchange(calls_, {})) call();
  }

 private:
  std::vector<std::function<void()>> calls_;
};

// Sets that nobody can look into before the device has reached them.
class DeferredSets final : public PixelSets {
 public:
  DeferredSets(std::unique_ptr<PixelSets> sets, std::shared_ptr<DeferredCalls> calls)
      : sets_(std::move(sets)), calls_(std::move(calls)) {}

  PixelSets& sets() { return *sets_; }

  PixelSet Make(int height, int width, bool is_listed) override {
    return sets_->Make(height, width, is_listed);
  }
  PixelWay MakeWay(const Window& window) override { return sets_->MakeWay(window); }
  void BeginFrame() override {
    calls_->Add([this] { sets_->BeginFrame(); });
  }
  void Clear(PixelSet set) override {
    calls_->Add([=, this] { sets_->Clear(set); });
  }
  void Fill(PixelSet set) override {
    calls_->Add([=, this] { sets_->Fill(set); });
  }
  void Copy(PixelSet from, PixelSet to) override {
    calls_->Add([=, this] { sets_->Copy(from, to); });
  }
  void Add(PixelSet some, PixelSet to) override {
    calls_->Add([=, this] { sets_->Add(some, to); });
  }
  void Remove(PixelSet some, PixelSet from) override {
    calls_->Add([=, this] { sets_->Remove(some, from); });
  }
  void Keep(PixelSet some, PixelSet of) override {
    calls_->Add([=, this] { sets_->Keep(some, of); });
  }
  void FillRows(PixelSet set, Range rows) override {
    calls_->Add([=, this] { sets_->FillRows(set, rows); });
  }
  void FillRows(PixelSet set, std::span<const uint8_t> chosen) override {
    calls_->Add([copy = std::vector(chosen.begin(), chosen.end()), set, this] {
      sets_->FillRows(set, copy);
    });
  }
  void ClearRows(PixelSet set, Range rows) override {
    calls_->Add([=, this] { sets_->ClearRows(set, rows); });
  }
  void AddRows(PixelSet some, Range rows, PixelSet to) override {
    calls_->Add([=, this] { sets_->AddRows(some, rows, to); });
  }
  void ClearRectangle(PixelSet set, Range rows, Range columns) override {
    calls_->Add([=, this] { sets_->ClearRectangle(set, rows, columns); });
  }
  void FillIfAny(PixelSet some, PixelSet to) override {
    calls_->Add([=, this] { sets_->FillIfAny(some, to); });
  }
  void AddReaders(PixelWay way, PixelSet input, PixelSet output) override {
    calls_->Add([=, this] { sets_->AddReaders(way, input, output); });
  }
  void AddRead(PixelWay way, PixelSet output, PixelSet input) override {
    calls_->Add([=, this] { sets_->AddRead(way, output, input); });
  }
  void AddRescaled(PixelSet from, PixelSet to) override {
    calls_->Add([=, this] { sets_->AddRescaled(from, to); });
  }
  void Grow(PixelSet set, int pixels) override {
    calls_->Add([=, this] { sets_->Grow(set, pixels); });
  }
  void Shift(PixelSet set, int rows, int columns) override {
    calls_->Add([=, this] { sets_->Shift(set, rows, columns); });
  }
  void Write(ConstMaskView mask, PixelSet set) override {
    calls_->Add([copy = CopyOf(mask), set, this] { sets_->Write(copy, set); });
  }
  void AddWritten(ConstMaskView mask, Range rows, PixelSet set) override {
    calls_->Add([copy = CopyOf(mask), rows, set, this] { sets_->AddWritten(copy, rows, set); });
  }
  void Read(PixelSet set, MaskView mask) const override {
    calls_->Finish();
    sets_->Read(set, mask);
  }
  void Count(PixelSet set, int64_t weight) override {
    calls_->Add([=, this] { sets_->Count(set, weight); });
  }
  int64_t TakeCount() override {
    calls_->Finish();
    return sets_->TakeCount();
  }

 private:
  static Mask CopyOf(ConstMaskView mask) {
    Mask copy(mask.height, mask.width);
    cacheinf::Copy(mask, copy);
    return copy;
  }

  std::unique_ptr<PixelSets> sets_;
  std::shared_ptr<DeferredCalls> calls_;
};

// Puts another backend behind a queue, like a GPU's stream: its masks and maps cannot be read
// before it is idle, which it is once a frame's work is counted or numbers are copied out.
class DeferredBackend : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  std::unique_ptr<PixelSets> MakeSets() override {
    return std::make_unique<DeferredSets>(backend_->MakeSets(), calls_);
  }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           Range rows) override {
    calls_->Finish();
    backend_->Run(handle, inputs, outputs, rows);
  }
  void Run(int handle, std::span<const ConstTensorView> inputs, std::span<const TensorView> outputs,
           PixelSets& sets, const PixelRunArgs& args) override {
    calls_->Add([=, this, own_inputs = std::vector(inputs.begin(), inputs.end()),
                 own_outputs = std::vector(outputs.begin(), outputs.end()),
                 own = &static_cast<DeferredSets&>(sets).sets()] {
      backend_->Run(handle, own_inputs, own_outputs, *own, args);
    });
  }
  void Shift(const TensorView& map, int rows, int columns) override {
    calls_->Add([=, this] { backend_->Shift(map, rows, columns); });
  }
  void Warp(const WarpArgs& args, PixelSets& sets, PixelSet wanted, PixelSet out_of_view) override {
    calls_->Add([=, this, own = &static_cast<DeferredSets&>(sets).sets()] {
      backend_->Warp(args, *own, wanted, out_of_view);
    });
  }
  void CopyIn(const ConstTensorView& host, const TensorView& device) override {
    calls_->Finish();
    backend_->CopyIn(host, device);
  }
  void CopyOut(const ConstTensorView& device, const TensorView& host) override {
    calls_->Finish();
    backend_->CopyOut(device, host);
  }
  void Gather(const ConstTensorView& map, ConstMaskView pixels, std::span<float> numbers) override {
    calls_->Finish();
    backend_->Gather(map, pixels, numbers);
  }
  void Scatter(std::span<const float> numbers, ConstMaskView pixels,
               const TensorView& map) override {
    calls_->Finish();
    backend_->Scatter(numbers, pixels, map);
  }

 private:
  std::shared_ptr<DeferredCalls> calls_ = std::make_shared<DeferredCalls>();
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_EXEC_DEFERRED_BACKEND_H_
