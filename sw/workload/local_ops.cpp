// SPDX-License-Identifier: Apache-2.0
// Ops of a PE alone: compute keeps its core busy, delay leaves it free.
#include <cmath>

#include "sw/workload/op_kind.hpp"

namespace diecast::sw {
namespace {

using comm::op_field_type;

class computation final : public planned_op {
 public:
  explicit computation(std::uint64_t cycles) : cycles_(cycles) {}
  void run(const op_context& pe) const override { pe.runtime.work(cycles_); }

 private:
  std::uint64_t cycles_;
};

class idle_time final : public planned_op {
 public:
  explicit idle_time(sim_time time) : time_(time) {}
  void run(const op_context& pe) const override { pe.runtime.sleep_until(pe.hal().now() + time_); }

 private:
  sim_time time_;
};

std::unique_ptr<planned_op> plan_compute(const op_request& r) {
  if (r.op.has("cycles") == r.op.has("ns")) {
    throw user_error(problem{r.op.where, "compute needs exactly one of cycles and ns",
                             r.op.has("cycles") ? "cycles and ns" : "neither cycles nor ns",
                             "either cycles or ns"});
  }
  if (r.op.has("cycles")) return std::make_unique<computation>(r.op.get<std::uint64_t>("cycles"));
  const double cycles = std::ceil(r.op.get<double>("ns") * r.config.noc.clock_ghz);
  return std::make_unique<computation>(static_cast<std::uint64_t>(cycles));
}

constexpr double longest_ns = 1e9;

}  // namespace

op_kind compute_op() {
  op_kind k;
  k.schema = {
      "compute",
      "Work of the core, in pieces of pe.task_quantum_cycles. Either cycles or ns.",
      {{.name = "cycles",
        .type = op_field_type::count,
        .description = "cycles of noc.clock_ghz",
        .most = 1e9},
       {.name = "ns", .type = op_field_type::real, .description = "nanoseconds", .most = longest_ns}}};
  k.plan = plan_compute;
  return k;
}

op_kind delay_op() {
  op_kind k;
  k.schema = {"delay",
              "Time in which the core is free for other streams.",
              {{.name = "ns",
                .type = op_field_type::real,
                .description = "nanoseconds",
                .required = true,
                .most = longest_ns}}};
  k.plan = [](const op_request& r) {
    return std::make_unique<idle_time>(nanoseconds(r.op.get<double>("ns")));
  };
  return k;
}

}  // namespace diecast::sw
