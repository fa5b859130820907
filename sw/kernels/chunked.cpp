// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/chunked.hpp"

#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/tensor_stager.hpp"

namespace diecast::sw {

/// While the ranks work on chunk k, the DMA engine takes the result of chunk k - 1 out and brings chunk k + 1
/// in.
void run_on_chunks(const kernel_entry& kernel, pe_runtime& runtime, const abi::kernel_arguments& launch,
                   config::accumulation mode) {
  using chunk = tensor_stager::chunk_number;
  tensor_stager tensors(runtime, launch);
  const std::uint64_t chunks = tensors.chunks();
  const std::uint64_t ahead = tensors.overlaps() ? 1 : 0;
  if (ahead > 0) tensors.start({}, 0);
  for (std::uint64_t k = 0; k < chunks; ++k) {
    const chunk before = k > 0 ? chunk{k - 1} : chunk{};
    const chunk next = k + ahead < chunks ? chunk{k + ahead} : chunk{};
    runtime.hal().mark_step({"chunk", static_cast<std::uint32_t>(k)});
    tensors.start(before, next);
    const abi::kernel_arguments a = tensors.arrived(k);
    // All chunks share the scratch, from which the kernel may have sent.
    runtime.driver().wait_sources_in(a.scratch, a.scratch_bytes);
    pe_context pe{runtime, a, {}};
    run_accumulating(kernel, pe, mode);
    pe.check_ended();
  }
  tensors.start(chunks - 1, {});
  tensors.finish();
  runtime.driver().finish();
}

}  // namespace diecast::sw
