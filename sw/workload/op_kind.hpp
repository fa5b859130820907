// SPDX-License-Identifier: Apache-2.0
// How a kind of workload op is added: one file that makes an op_kind, and one line in builtin_ops().
//
//   1. Parsed: op_kind::schema lists the op's own fields with type, range and default. The reader of
//      workload files (platforms/config_io/workload_json) checks and converts them; nothing is parsed here.
//   2. Checked: op_kind::plan gets the fields and the members, and throws user_error for what cannot be
//      (problems whose `where` begins with op.where name the place in the file). An op that refers to
//      others (a wait to its sends) finds them in planned_op::link; what concerns all ops together (sends
//      without a receive) is op_kind::check_all, and what a stream lacks without the others
//      op_kind::needs_others.
//   3. Wired: planned_op::wiring gives the edges of the op's pattern. The workload gives each chain,
//      group and pattern queue pairs of its own; op_context::directions leads from the pattern's
//      directions to them. tcm_bytes and hbm_bytes ask for memory on every member; ops of a chain use
//      the same, unless keeps_memory says that an op still needs its own when it has ended.
//      planned_op::set_up puts on the machine what firmware must find there.
//   4. Run: planned_op::run is what the PE's firmware does, on the PE's runtime, in a task of its own. Ops
//      of one chain run one after the other. State that outlives an op: pe_runtime::service.
//   5. Verified: prepare and verify run on the host's side, by the backdoor, at the instant at which a
//      member starts and has ended the op.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/config/machine_config.hpp"
#include "models/cost/rules.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/immovable.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/workload/workload.hpp"

namespace diecast::sw {

/// Input of the plan of an op.
struct op_request {
  const comm::workload_op& op;  ///< fields as the schema says
  const comm::group& members;   ///< members of the op, in rank order; outlives the op
  std::uint32_t index{};        ///< index among all ops of the workload
  const config::machine_config& config;
  machine_shape shape;
  const kernel_table& kernels;
  const std::vector<comm::pattern_entry>& patterns;
  /// The machine's topology, made at the first call.
  std::function<const fabric::topology&()> topology;
  const std::vector<cost::algorithm_rule>& rules;  ///< the user's rules for "auto"
};

/// Edges between members that the op needs; none for an op without messages.
struct op_wiring {
  /// Ops of one chain and group with the same pattern share queue pairs: equal names, equal edges.
  std::string pattern;
  std::vector<comm::edge> edges;
  std::vector<std::string> direction_names;  ///< names of the directions from first_named on, for reports
  comm::direction first_named{comm::first_custom};
};

class planned_op;

/// All ops of a workload, for an op that refers to others.
struct op_neighbors {
  const comm::resolved_workload& workload;
  /// Null when no op has this id.
  std::function<planned_op*(const std::string& id)> find;
  /// By index among all ops of the workload.
  std::function<planned_op*(std::uint32_t index)> at;
  /// Those of one class, with their indices.
  template <class Op>
  [[nodiscard]] std::vector<std::pair<std::uint32_t, Op*>> of() const {
    std::vector<std::pair<std::uint32_t, Op*>> found;
    for (std::uint32_t i = 0; i < workload.ops.size(); ++i)
      if (auto* const op = dynamic_cast<Op*>(at(i))) found.emplace_back(i, op);
    return found;
  }
};

/// Context of a member's firmware while it runs an op.
struct op_context {
  pe_runtime& runtime;
  std::uint32_t rank{};             ///< rank in the op's group
  std::uint64_t iteration{};        ///< iteration of the stream, from 0
  const direction_map& directions;  ///< queue pairs of the op's pattern; never empty
  abi::address hbm{};               ///< start of the op's HBM area on this PE's home port
  [[nodiscard]] abi::hal& hal() const { return runtime.hal(); }
};

/// Context of the host when a member starts or has ended an op.
struct op_host {
  abi::host_hal& host;  ///< host interface of the member's SIP
  std::uint32_t rank{};
  std::uint64_t iteration{};
  abi::address hbm{};
  bool data{};                           ///< false: timing only; no bytes are stored or verified
  events::run_fingerprint& fingerprint;  ///< run fingerprint: verify adds what it has read
};

/// Barriers that an op makes among some PEs, once in each iteration of its stream. Firmware marks every one
/// of them: "enter barrier ID" and "left barrier ID" (models/analysis/barrier_checker.hpp), with the number
/// iteration * times + 0, 1, ..., and a checker outside of it says whether the op is right.
struct op_barriers {
  std::vector<pe_coord> members;     ///< rank by rank
  std::vector<std::uint32_t> ranks;  ///< rank of each member
  std::uint32_t times{1};
};

/// An op that has been checked and can run. Placed once, then run by any number of members and iterations.
class planned_op : public abstract_interface {
 public:
  [[nodiscard]] virtual op_wiring wiring() const { return {}; }
  /// Called once, when every op of the workload is planned. Appends problems.
  virtual void link(const op_neighbors&, std::vector<problem>&) {}
  /// TCM the op needs on each member, from tcm() upwards.
  [[nodiscard]] virtual std::uint64_t tcm_bytes() const { return 0; }
  /// Whether no other op uses its TCM and HBM, because it needs them until the end of its iteration.
  [[nodiscard]] virtual bool keeps_memory() const { return false; }
  /// Whether it sends or receives tag-matched messages (sw/runtime/messaging.hpp). Every PE of the workload
  /// then has a ring and a heap for them.
  [[nodiscard]] virtual bool uses_messages() const { return false; }
  /// HBM it needs on each member's home port.
  [[nodiscard]] virtual std::uint64_t hbm_bytes() const { return 0; }
  /// Called once, before anything runs. Offset of the op's TCM, the same on every member, and of its HBM in
  /// each member's part of its port (op_context::hbm is the address).
  void place(std::uint64_t tcm, std::uint64_t hbm) {
    tcm_ = tcm;
    hbm_ = hbm;
    placed();
  }
  [[nodiscard]] std::uint64_t hbm_offset() const { return hbm_; }

  /// Whether it uses words at the bottom of every HBM port (models/comm/sync_layout.hpp). The HBM of the
  /// workload's ops then lies above.
  [[nodiscard]] virtual bool uses_signals() const { return false; }
  /// Called before the launch on every SIP's host: writes by the backdoor what firmware needs at its start.
  virtual void set_up(abi::host_hal&) const {}

  /// Ranks of the op's group that do not take part pass over the op, as PEs outside of the group do: they
  /// neither run nor prepare nor verify it, and its times are not theirs.
  [[nodiscard]] virtual bool takes_part(std::uint32_t) const { return true; }
  virtual void run(const op_context& pe) const = 0;

  virtual void prepare(const op_host&) {}
  /// Number of wrong elements; empty for an op with nothing to check. Not called without data.
  [[nodiscard]] virtual std::optional<std::uint64_t> verify(const op_host&) { return std::nullopt; }

  // For the results.
  [[nodiscard]] virtual std::uint64_t bytes() const { return 0; }
  [[nodiscard]] virtual std::string algorithm() const { return {}; }
  /// Why this algorithm; empty when it was given.
  [[nodiscard]] virtual std::string reason() const { return {}; }
  [[nodiscard]] virtual std::optional<op_barriers> barriers() const { return std::nullopt; }

 protected:
  [[nodiscard]] std::uint64_t tcm() const { return tcm_; }
  virtual void placed() {}

 private:
  std::uint64_t tcm_{}, hbm_{};
};

struct op_kind {
  comm::op_schema schema;
  /// Throws user_error.
  std::function<std::unique_ptr<planned_op>(const op_request&)> plan;
  /// Rules that join ops; called once per workload, when every op is linked. May be null. Appends problems.
  std::function<void(const op_neighbors&, std::vector<problem>&)> check_all{};
  /// Why the stream of that index cannot run without the others (--isolate); empty when it can. May be null.
  std::function<std::string(const op_neighbors&, std::uint32_t stream)> needs_others{};
};

using op_table = std::vector<op_kind>;

/// Kinds built in: compute, delay, memory, barrier, messages, and one kind per collective in `kernels`.
[[nodiscard]] op_table builtin_ops(const kernel_table& kernels);

/// Seed of the data of one op in one iteration.
[[nodiscard]] std::uint64_t data_seed(const config::machine_config& config, std::uint32_t op,
                                      std::uint64_t iteration);

[[nodiscard]] op_kind compute_op();
[[nodiscard]] op_kind delay_op();
[[nodiscard]] op_kind memory_op();
/// Barriers: signals over global memory instead of messages over queue pairs.
[[nodiscard]] op_kind barrier_op();
[[nodiscard]] op_kind collective_op(const std::string& collective);
/// isend, irecv, wait, waitall, test, probe, mprobe, cancel, sendrecv.
[[nodiscard]] std::vector<op_kind> message_ops();

}  // namespace diecast::sw
