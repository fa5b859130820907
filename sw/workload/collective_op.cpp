// SPDX-License-Identifier: Apache-2.0
// A collective as an op: any kernel of the table, on queue pairs and tensors of its own.
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <utility>

#include "models/comm/collective.hpp"
#include "models/golden/collective_check.hpp"
#include "sw/host/collective.hpp"
#include "sw/workload/collective_choice.hpp"
#include "sw/workload/op_kind.hpp"

namespace diecast::sw {
namespace {

using comm::op_field_type;

/// Data of one iteration, and how many members have been checked.
struct iteration_data {
  golden::collective_check check;
  std::size_t checked{};
};

class collective_run final : public planned_op {
 public:
  explicit collective_run(const op_request& r);

  op_wiring wiring() const override { return wiring_; }
  std::uint64_t tcm_bytes() const override { return lay_out(kernel_, launch_).end - launch_.tcm_base; }
  std::uint64_t bytes() const override { return launch_.count * numeric::size_of(launch_.type); }
  std::string algorithm() const override { return kernel_.name; }
  std::string reason() const override { return reason_; }

  void run(const op_context& pe) const override {
    const auto run_one = [&](const kernel_entry& program, const abi::kernel_arguments& a) {
      pe_context context(pe.runtime, a, pe.directions);
      run_accumulating(program, context, config_.ccl.accumulate);
      context.finish();
    };
    run_programs(kernel_, pe.runtime, arguments_[pe.rank], run_one);
    pe.runtime.hal().pipe_barrier();  // the op has ended when its writes are in memory
  }
  void prepare(const op_host& h) override;
  std::optional<std::uint64_t> verify(const op_host& h) override;

 private:
  void placed() override {
    launch_.tcm_base = tcm();
    for (std::uint32_t rank = 0; rank < launch_.members.members.size(); ++rank)
      arguments_.push_back(make_arguments(kernel_, launch_, rank));
  }

  collective_run(const op_request& r, const argument_context& launch);
  collective_run(const op_request& r, argument_context launch, const kernel_choice& choice);

  const config::machine_config& config_;
  std::uint32_t index_;
  kernel_entry kernel_;
  std::string reason_;
  argument_context launch_;
  op_wiring wiring_;
  std::vector<abi::kernel_arguments> arguments_;        ///< by rank
  std::map<std::uint64_t, iteration_data> iterations_;  ///< begun by a member, and not ended by all
};

argument_context launch_of(const op_request& r) {
  const std::uint64_t bytes = r.op.has("bytes") ? r.op.get<std::uint64_t>("bytes") : 0;
  const numeric::dtype type =
      r.op.has("dtype") ? *numeric::parse_dtype(r.op.get<std::string>("dtype")) : numeric::dtype::f16;
  const numeric::reduction op =
      r.op.has("redop") ? *numeric::parse_reduction(r.op.get<std::string>("redop")) : numeric::reduction::sum;
  const std::uint64_t element = numeric::size_of(type);
  if (bytes % element != 0) {
    throw user_error(problem{r.op.where + ".bytes",
                             fmt::format("not a whole number of {} elements", numeric::to_string(type)),
                             std::to_string(bytes), fmt::format("a multiple of {}", element)});
  }
  argument_context launch{r.config, r.shape, r.members, bytes / element, type, op};
  launch.in_workload = true;
  if (!r.op.has("root")) return launch;
  const auto root = r.op.get<std::uint64_t>("root");
  if (root >= r.members.members.size()) {
    throw user_error(problem{r.op.where + ".root", "the root is no member of the group", std::to_string(root),
                             fmt::format("0 to {}", r.members.members.size() - 1)});
  }
  launch.root = static_cast<std::uint32_t>(root);
  return launch;
}

collective_run::collective_run(const op_request& r) : collective_run(r, launch_of(r)) {}

collective_run::collective_run(const op_request& r, const argument_context& launch)
    : collective_run(r, launch, choose_kernel(r, launch)) {}

collective_run::collective_run(const op_request& r, argument_context launch, const kernel_choice& choice)
    : config_(r.config),
      index_(r.index),
      kernel_(choice.kernel),
      reason_(choice.reason),
      launch_(std::move(launch)) {
  if (config_.ccl.tensors != config::tensor_kind::tcm) {
    throw user_error(problem{
        r.op.where, "collectives of a workload have their tensors in TCM (ccl.tensor_kind)", "hbm", "tcm"});
  }
  check_launch(kernel_, launch_);
  const comm::pattern_entry& pattern = pattern_of(r, kernel_);
  // A rooted pattern differs for each root.
  const std::string name = r.op.has("root") ? fmt::format("{}@{}", pattern.name, launch_.root) : pattern.name;
  wiring_ = {name, pattern.build(pattern_context_of(launch_)), pattern.direction_names,
             pattern.names_all ? comm::direction{0} : comm::first_custom};
}

void collective_run::prepare(const op_host& h) {
  const pe_coord pe = launch_.members.members[h.rank];
  const abi::kernel_arguments& a = arguments_[h.rank];
  load_image(h.host, kernel_, launch_, h.rank, a);
  if (!h.data) return;
  if (!iterations_.contains(h.iteration)) {
    iterations_.emplace(h.iteration, iteration_data{{shape_of(kernel_, launch_), launch_.type, launch_.op,
                                                     data_seed(config_, index_, h.iteration),
                                                     random::data_pattern::random, kernel_.sums}});
  }
  const golden::collective_check& check = iterations_.at(h.iteration).check;
  // Old contents must not pass for a result.
  write_tcm(h.host, pe, a.output, std::vector<std::byte>(check.output_bytes(h.rank), std::byte{0xa5}));
  write_tcm(h.host, pe, a.input, check.input(h.rank));
}

std::optional<std::uint64_t> collective_run::verify(const op_host& h) {
  iteration_data& data = iterations_.at(h.iteration);
  std::vector<std::byte> got(data.check.output_bytes(h.rank));
  read_tcm(h.host, launch_.members.members[h.rank], arguments_[h.rank].output, got);
  h.fingerprint.add_bytes("collective", got);
  const std::uint64_t wrong = data.check.count_wrong(h.rank, got);
  if (++data.checked == launch_.members.members.size()) iterations_.erase(h.iteration);
  return wrong;
}

std::vector<comm::op_field> fields_of(comm::collective what) {
  std::vector<comm::op_field> fields{
      {.name = "algorithm",
       .type = op_field_type::word,
       .description = "algorithm name or auto; default: the first that runs on the group"}};
  const std::vector<comm::op_field> data{
      comm::required(comm::number_field("bytes", op_field_type::size,
                                        comm::size_meaning_of(what) == comm::size_meaning::per_rank
                                            ? "bytes of each contributed vector"
                                            : "bytes of the whole vector, of which each rank has a part",
                                        1e12)),
      comm::word_field("dtype", "element type",
                       {"f16", "half", "bf16", "bfloat16", "f32", "float", "i32", "int32"},
                       std::string("f16"))};
  fields.insert(fields.begin(), data.begin(), data.end());
  if (comm::reduces(what)) {
    fields.push_back(
        comm::word_field("redop", "reduction", {"sum", "max", "min", "prod", "avg"}, std::string("sum")));
  }
  if (comm::has_root(what)) {
    fields.push_back(
        comm::number_field("root", op_field_type::count, "rank of the group", 1e6, 0, std::uint64_t{0}));
  }
  return fields;
}

}  // namespace

op_kind collective_op(const std::string& collective) {
  const auto what = comm::collective_named(collective);
  if (!what || *what == comm::collective::barrier) {
    throw std::invalid_argument(
        fmt::format("a kernel of collective {}: workloads cannot verify it", collective));
  }
  op_kind k;
  k.schema = {collective, "The collective of that name, verified.", fields_of(*what)};
  k.plan = [](const op_request& r) { return std::make_unique<collective_run>(r); };
  return k;
}

}  // namespace diecast::sw
