// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/chunked.hpp"

#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/tensor_stager.hpp"

namespace diecast::sw {

void run_on_chunks(const kernel_entry& kernel, pe_runtime& runtime, const abi::kernel_arguments& launch,
                   config::accumulation mode) {
  using chunk = tensor_stager::chunk;
  tensor_stager tensors(runtime, launch);
  const std::uint64_t chunks = tensors.chunks();

  const auto work_on = [&](std::uint64_t k) {
    const abi::kernel_arguments a = tensors.arguments_of(k);
    // All chunks share the scratch, from which the kernel may have sent.
    runtime.driver().wait_sources_in(a.scratch, a.scratch_bytes);
    pe_context pe{runtime, a, {}};
    run_accumulating(kernel, pe, mode);
  };

  if (!tensors.overlaps()) {
    for (std::uint64_t k = 0; k < chunks; ++k) {
      tensors.move({}, k);
      work_on(k);
      tensors.move(k, {});
    }
  } else {
    tensors.move({}, 0);
    for (std::uint64_t k = 0; k < chunks; ++k) {
      const chunk before = k > 0 ? chunk{k - 1} : chunk{};
      const chunk next = k + 1 < chunks ? chunk{k + 1} : chunk{};
      runtime.tasks().run({[&] { work_on(k); }, [&] { tensors.move(before, next); }});
    }
    tensors.move(chunks - 1, {});
  }
  runtime.driver().finish();
}

}  // namespace diecast::sw
