// SPDX-License-Identifier: Apache-2.0
// Registration of a collective algorithm: the code that a PE runs and the facts that the host needs.
// Adding an algorithm is one file and one line in builtin_kernels(), or a line in the table of a file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/collective.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "models/numeric/types.hpp"

namespace diecast::sw {

class pe_context;        // sw/runtime/pe_context.hpp
class pe_runtime;        // sw/runtime/pe_runtime.hpp
struct runtime_options;  // sw/runtime/options.hpp

/// Values computed once per launch and used by every rank: one value of each type, or one for each of a few
/// variants. A copy shares the values kept so far.
class launch_memo {
 public:
  /// The kept value; the first time, the result of `make`, which may get other values, but not its own.
  /// The reference is valid as long as the memo or a later copy of it exists.
  template <class Value, class Make>
  const Value& get(Make make, std::uint32_t variant = 0) {
    const key which{typeid(Value), variant};
    auto at = kept_.find(which);
    if (at == kept_.end()) {
      const auto made = std::make_shared<const place<Value>>(make);
      at = kept_.emplace(which, std::shared_ptr<const void>(made, &made->value)).first;
    }
    return *static_cast<const Value*>(at->second.get());
  }

 private:
  /// Values are constructed in place: not all can be moved.
  template <class Value>
  struct place {
    template <class Make>
    explicit place(Make& make) : value(make()) {}
    Value value;
  };
  using key = std::pair<std::type_index, std::uint32_t>;
  std::map<key, std::shared_ptr<const void>> kept_;
};

/// Facts about a launch from which a kernel's arguments are made, host-side.
struct argument_context {
  const config::machine_config& config;
  machine_shape shape;
  const comm::group& members;
  std::uint64_t count{};  ///< elements, per rank or in total (comm::size_meaning_of)
  numeric::dtype type{};
  numeric::reduction op{};
  bool in_place{true};  ///< output is the input's buffer
  /// Values that follow from machine, members and root (builtin.hpp); with another of these: a new memo.
  mutable launch_memo memo{};
  std::uint32_t root{};                     ///< rank; of collectives that have one
  std::uint64_t tcm_base{};                 ///< offset from which the tensors lie
  std::optional<std::uint64_t> tcm_room{};  ///< offset of the lowest receive ring; unknown: the TCM's end
  /// The launch works on a chunk in TCM of tensors in HBM (sw/collectives/base/chunked.hpp).
  bool is_chunk{};
  /// The launch is an operation of a workload: other operations need queue pairs of its PEs
  /// (pattern_context), and ccl.tensor_kind = hbm is refused.
  bool in_workload{};
};

struct kernel_entry {
  std::string name;        ///< as given to --algorithm
  std::string collective;  ///< as given to --collective; a name of comm::collective
  std::string description;
  std::string pattern;                    ///< name in the pattern table
  std::vector<comm::rank_set> rank_sets;  ///< the first is the default
  /// Runs on every member PE; returns when this PE's part is done.
  void (*run)(pe_context&){};
  /// Bytes of scratch each PE needs (TCM), given the launch.
  std::function<std::uint64_t(const argument_context&)> scratch_bytes;
  /// Fills kernel_arguments::own for one member; may be null.
  std::function<void(const argument_context&, std::uint32_t rank, abi::kernel_arguments&)> fill;
  /// Words the host writes to the start of a member's scratch before the first launch (host's load_images):
  /// what does not fit the arguments. scratch_bytes counts them. May be null.
  std::function<std::vector<std::uint64_t>(const argument_context&, std::uint32_t rank)> image{};
  bool element_sums{};  ///< knows no other accumulation than ccl.accumulation = elem
  /// Every chunk of tensors in HBM but the last has a multiple of this number of elements of each block.
  std::uint64_t grain{1};
  /// Moves slots of blocks and does nothing else with tensors: it runs on those in HBM where they lie, if
  /// comm::moves_out_of_hbm (sw/collectives/base/chunked.hpp).
  bool moves_slots{};
  /// A second program, launched when the first has ended, on the output of the first. May be null.
  void (*then)(pe_context&){};
  /// Over SIPs it has a shard for every PE, unless the config says otherwise (shard-wise runs).
  bool every_pe{};
  /// The config determines its algorithm (ccl.levels): --algorithm auto and estimates of all leave it out.
  bool by_config{};
  /// How the additions of an element are nested, which gives the error bound of results that are not exact.
  numeric::summation sums{numeric::summation::sequential};
};

/// The collective of a kernel in a launch. Throws std::logic_error when the kernel names no
/// collective (registries are checked for that).
[[nodiscard]] comm::collective_shape shape_of(const kernel_entry& kernel, const argument_context& launch);

/// Input of the launch's pattern, and of the kernels' plans that must agree with it. Refers to the
/// launch.
[[nodiscard]] comm::pattern_context pattern_context_of(const argument_context& launch);

using kernel_table = std::vector<kernel_entry>;
using pattern_table = std::vector<comm::pattern_entry>;

/// The work of a PE for a launch: builds the runtime on its HAL, runs the kernel, and returns when all its
/// messages are complete. Throws firmware_trap and the HAL's exceptions.
void run_kernel(const kernel_entry& kernel, abi::hal& hal, const abi::kernel_arguments& arguments,
                const runtime_options& options);

/// The kernel sums f16 and bf16 in f32, whatever it knows of it: all_reduce in the modes f32_acc and
/// f32_wire.
[[nodiscard]] bool accumulates_wide(const kernel_entry& kernel, config::accumulation mode,
                                    numeric::dtype type);
/// Work of the routers of the pattern's tree, if it has one, on the kernel's messages.
[[nodiscard]] comm::tree_arithmetic tree_arithmetic_of(const kernel_entry& kernel,
                                                       const argument_context& launch);
/// Calls `run` for the programs of a kernel (kernel_entry::run, then) one after the other, each with what the
/// launch of a collective and its end take.
void run_programs(const kernel_entry& kernel, pe_runtime& runtime, const abi::kernel_arguments& arguments,
                  const std::function<void(const kernel_entry&, const abi::kernel_arguments&)>& run);
/// Runs the kernel in that mode (ccl.accumulation), which the runtime's options have too.
void run_accumulating(const kernel_entry& kernel, pe_context& pe, config::accumulation mode);

/// The algorithms built in, collective by collective.
[[nodiscard]] kernel_table builtin_kernels();
/// The patterns built in.
[[nodiscard]] pattern_table builtin_patterns();

/// The algorithm that comm.deterministic_reduction selects for every all_reduce: its sums have the order of
/// the ranks, whatever arrives first.
inline constexpr const char* deterministic_all_reduce = "p2p_tree";

}  // namespace diecast::sw
