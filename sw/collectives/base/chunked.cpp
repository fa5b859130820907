// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/base/chunked.hpp"

#include <vector>

#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/stream.hpp"
#include "sw/runtime/tensor_stager.hpp"

namespace diecast::sw {
namespace {

/// The chunks of a launch. While the ranks work on chunk k, the DMA engine takes the result of chunk k - 1
/// out and brings chunk k + 1 in.
class chunk_line {
 public:
  chunk_line(const kernel_entry& kernel, pe_runtime& runtime, const abi::kernel_arguments& launch,
             config::accumulation mode, const chunk_plan& plan)
      : kernel_(kernel),
        runtime_(runtime),
        mode_(mode),
        tensors_(runtime, launch, plan),
        // All chunks share the scratch, where sums are made in f32.
        overlaps_(tensors_.overlaps() && !accumulates_wide(kernel, mode, launch.type)),
        tails_(tensors_.chunks()) {}

  void run() {
    if (tensors_.overlaps()) tensors_.start({}, 0);
    tensors_.start({}, later(0));
    if (overlaps_) {
      runtime_.tasks().run({[this] { every(2, 0); }, [this] { every(2, 1); }});
    } else {
      every(1, 0);
    }
    tensors_.finish();
    runtime_.driver().finish();
  }

 private:
  using chunk = tensor_stager::chunk_number;

  /// Every `step`th chunk from `first` on. With two tasks that take turns, a chunk is begun when the one
  /// before is in its last stream.
  void every(std::uint64_t step, std::uint64_t first) {
    for (std::uint64_t k = first; k < tails_.size(); k += step) {
      if (k > 0) runtime_.tasks().block([this, k] { return tails_[k - 1].begun(); });
      work_on(k);
      if (k > 0) runtime_.tasks().block([this, k] { return tails_[k - 1].ended(); });
      tensors_.start(k, later(k + 1));
      tails_[k].end();
    }
  }
  void work_on(std::uint64_t k) {
    runtime_.hal().mark_step({"chunk", static_cast<std::uint32_t>(k)});
    const abi::kernel_arguments a = tensors_.arrived(k);
    // Sources are awaited, because the kernel of an earlier chunk may have sent from the scratch, too.
    runtime_.driver().wait_sources_in(a.scratch, a.scratch_bytes);
    pe_context pe(runtime_, a, k > 0 ? &tails_[k - 1] : nullptr, tails_[k]);
    run_accumulating(kernel_, pe, mode_);
    pe.check_ended();
  }
  /// The chunk that comes in while chunk k is worked on.
  [[nodiscard]] chunk later(std::uint64_t k) const {
    const std::uint64_t next = tensors_.overlaps() ? k + 1 : k;
    return next < tails_.size() ? chunk{next} : chunk{};
  }

  const kernel_entry& kernel_;
  pe_runtime& runtime_;
  config::accumulation mode_;
  tensor_stager tensors_;
  const bool overlaps_;  ///< a chunk begins while the one before ends
  std::vector<kernel_tail> tails_;
};

/// Arguments of a kernel that works on the tensors in HBM directly.
abi::kernel_arguments in_place_of_chunks(const abi::kernel_arguments& launch, const chunk_plan& plan) {
  abi::kernel_arguments a = launch;
  a.scratch = plan.full.scratch;
  a.scratch_bytes = plan.full.scratch_bytes;
  a.own = plan.full.own;
  a.own.ports = plan.ports;
  a.own.stripe_bytes = plan.stripe_bytes;
  return a;
}

}  // namespace

void run_on_hbm(const kernel_entry& kernel, pe_runtime& runtime, const abi::kernel_arguments& launch,
                config::accumulation mode) {
  const chunk_plan plan = read_plan(runtime.hal(), launch.scratch);
  if (plan.buffers > 0) return chunk_line(kernel, runtime, launch, mode, plan).run();
  pe_context pe(runtime, in_place_of_chunks(launch, plan), {});
  kernel.run(pe);
  pe.finish();
}

}  // namespace diecast::sw
