// SPDX-License-Identifier: Apache-2.0
// MSCCL programs run on the mock machine with data: own programs over sizes, types, slots and
// schedulers, and every all-reduce program of DIECAST_MSCCL_DIR.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "models/golden/collective_check.hpp"
#include "models/random/test_data.hpp"
#include "msccl_programs.hpp"
#include "platforms/config_io/msccl_xml.hpp"
#include "support/test.hpp"
#include "sw/collectives/msccl/msccl_interpreter.hpp"
#include "sw/host/collective.hpp"
#include "sw/mock_machine/mock_machine.hpp"

using namespace diecast;
using namespace diecast::testing;

namespace {

using byte_vector = std::vector<std::byte>;

struct run_case {
  std::uint64_t count{1000};
  numeric::dtype type{numeric::dtype::f16};
  numeric::reduction op{numeric::reduction::sum};
  std::uint64_t n_slots{4};
  std::uint64_t slot_bytes{1024};
  sw::schedule order{sw::schedule::round_robin};
  bool in_place{true};
  config::buffer_kind rings{config::buffer_kind::tcm};
  std::uint64_t tcm_kib{4096};
};

std::string to_string(const run_case& c) {
  return fmt::format("count {} type {} op {} n_slots {} slot_bytes {} schedule {} in_place {} rings {}",
                     c.count, numeric::to_string(c.type), numeric::to_string(c.op), c.n_slots, c.slot_bytes,
                     sw::to_string(c.order), c.in_place, static_cast<int>(c.rings));
}

/// A machine with one PE per rank, the program installed.
class msccl_bench {
 public:
  msccl_bench(const comm::program& p, const run_case& c)
      : config_(config_for(p, c)),
        group_(first_pes(config_.shape(), static_cast<std::uint32_t>(p.ranks))),
        context_{config_, config_.shape(), group_, c.count, c.type, c.op, c.in_place, {}},
        run_(sw::make_msccl_run(p, context_)),
        machine_(config_,
                 comm::build_install_plan(
                     run_.edges, comm::options_from(config_, sw::lay_out(run_.kernel, context_).end)),
                 sw::mock_options{c.order, 7, {}}) {
    sw::check_launch(run_.kernel, context_);
    for (std::uint32_t r = 0; r < ranks(); ++r)
      arguments_.push_back(sw::make_arguments(run_.kernel, context_, r));
    for (std::uint32_t s = 0; s < config_.shape().sips; ++s)
      sw::load_images(machine_.host(sip_id{s}), run_.kernel, context_, arguments_);
  }

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(group_.members.size()); }
  [[nodiscard]] const sw::msccl_run& run() const { return run_; }
  void write_input(std::uint32_t r, const byte_vector& bytes) {
    machine_.write_tcm(group_.members[r], arguments_[r].input, bytes);
  }
  byte_vector read_output(std::uint32_t r, std::size_t bytes) {
    byte_vector out(bytes);
    machine_.read_tcm(group_.members[r], arguments_[r].output, out);
    return out;
  }
  sw::mock_outcome go() { return machine_.run(run_.kernel, group_, arguments_); }

 private:
  static config::machine_config config_for(const comm::program& p, const run_case& c) {
    config::machine_config m;
    m.pod.sips = p.ranks > 4 ? 2 : 1;
    m.sip.columns = 2;
    m.sip.rows = 2;
    m.cube.pes = (static_cast<std::uint64_t>(p.ranks) + 7) / 8 + (p.ranks > 4 ? 0 : 1);
    m.ipcq.queue_pairs = 512;
    m.ipcq.n_slots = c.n_slots;
    m.ipcq.slot_bytes = c.slot_bytes;
    m.ipcq.rings = c.rings;
    m.pe.tcm_kib = c.tcm_kib;
    return m;
  }
  static comm::group first_pes(const machine_shape& shape, std::uint32_t n) {
    comm::group g = comm::map_ranks(shape, comm::rank_set::pe);
    g.members.resize(n);
    return g;
  }

  config::machine_config config_;
  comm::group group_;
  sw::argument_context context_;
  sw::msccl_run run_;
  sw::mock_machine machine_;
  std::vector<diecast::abi::kernel_arguments> arguments_;
};

/// Runs an all-reduce on exact data; what is wrong with it, or nothing.
std::optional<std::string> all_reduce_fault(const comm::program& p, const run_case& c) {
  msccl_bench b(p, c);
  const random::test_data data(11, c.type, c.op, b.ranks(), c.count);
  const std::size_t bytes = c.count * numeric::size_of(c.type);
  for (std::uint32_t r = 0; r < b.ranks(); ++r) {
    byte_vector input(bytes);
    data.fill(r, input);
    b.write_input(r, input);
  }
  byte_vector expected(bytes);
  data.expected(expected);
  const sw::mock_outcome outcome = b.go();
  if (!outcome.finished) return "deadlock: " + outcome.deadlock;
  for (std::uint32_t r = 0; r < b.ranks(); ++r)
    if (golden::count_wrong(c.type, b.read_output(r, bytes), expected) != 0)
      return fmt::format("rank {} holds a wrong result", r);
  return std::nullopt;
}

void expect_all_reduce(const comm::program& p, const run_case& c) {
  std::string fault;
  try {
    fault = all_reduce_fault(p, c).value_or("");
  } catch (const std::exception& e) {
    fault = e.what();
  }
  INFO(p.source << " " << to_string(c));
  CHECK(fault == "");
}

comm::program parse(const xml_program& p, const std::string& name) {
  return platforms::parse_msccl(to_xml(p), name).program;
}

std::vector<comm::program> all_reduce_programs() {
  return {parse(ring_all_reduce(2, 1), "ring 2x1"),          parse(ring_all_reduce(3, 2), "ring 3x2"),
          parse(ring_all_reduce(5, 1), "ring 5x1"),          parse(one_shot_all_reduce(4, 3), "one shot 4x3"),
          parse(out_of_place_all_reduce(4), "out of place"), parse(scratch_all_reduce(3), "scratch"),
          parse(bursting_all_reduce(2), "burst 2")};
}

byte_vector pattern(std::uint32_t rank, std::size_t elements) {
  std::vector<std::int32_t> values(elements);
  for (std::size_t i = 0; i < elements; ++i)
    values[i] = static_cast<std::int32_t>(rank * 1'000'003 + i * 17 + 1);
  byte_vector out(elements * 4);
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

byte_vector part(const byte_vector& all, std::size_t index, std::size_t parts) {
  const auto size = static_cast<std::ptrdiff_t>(all.size() / parts);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(index) * size;
  return {begin, begin + size};
}

}  // namespace

TEST_CASE("msccl run: own all-reduce programs at every size, slot count and schedule") {
  for (const comm::program& p : all_reduce_programs())
    for (const std::uint64_t count : {0u, 1u, 2u, 7u, 64u, 1000u, 5003u})
      for (const std::uint64_t n_slots : {2u, 3u, 4u})
        for (const sw::schedule order :
             {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial})
          expect_all_reduce(p, {.count = count, .n_slots = n_slots, .slot_bytes = 256, .order = order});
}

TEST_CASE("msccl run: a ring needs one slot per FIFO only, since firmware receives before it sends") {
  for (const std::uint64_t count : {10u, 3000u})
    expect_all_reduce(parse(ring_all_reduce(4, 2), "ring 4x2"),
                      {.count = count, .n_slots = 1, .slot_bytes = 256});
}

TEST_CASE("msccl run: every type and reduction") {
  using numeric::dtype, numeric::reduction;
  for (const comm::program& p : all_reduce_programs())
    for (const dtype t : {dtype::f16, dtype::bf16, dtype::f32, dtype::i32})
      for (const reduction op :
           {reduction::sum, reduction::max, reduction::min, reduction::prod, reduction::avg})
        expect_all_reduce(p, {.count = 777, .type = t, .op = op});
}

TEST_CASE("msccl run: output apart from the input, and rings outside TCM") {
  for (const comm::program& p : all_reduce_programs())
    for (const config::buffer_kind rings :
         {config::buffer_kind::tcm, config::buffer_kind::sram, config::buffer_kind::hbm})
      for (const bool in_place : {false, true})
        expect_all_reduce(
            p, {.count = 2500, .order = sw::schedule::random, .in_place = in_place, .rings = rings});
}

TEST_CASE("msccl run: a step adds to its source as that is when its message has come") {
  for (const char* type : {"rrc", "rrcs", "rrs"})
    for (const int chunks : {1, 3})
      for (const std::uint64_t count : {3u, 1000u})
        for (const sw::schedule order :
             {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial}) {
          INFO(type << " " << chunks);
          expect_all_reduce(parse(late_source_all_reduce(type, chunks), "late source"),
                            {.count = count, .slot_bytes = 256, .order = order});
        }
}

TEST_CASE("msccl run: messages that a FIFO cannot hold end as a named deadlock") {
  SECTION("every pair receives first") {
    msccl_bench b(parse(receive_first(), "receive first"), {});
    CHECK(b.run().notes ==
          std::vector<std::string>{
              "the program cannot end with 4 messages per FIFO (ipcq.n_slots): a deadlock is expected"});
    const sw::mock_outcome outcome = b.go();
    CHECK_FALSE(outcome.finished);
    CHECK_THAT(outcome.deadlock, Catch::Contains("pe0") && Catch::Contains("pe1"));
  }
  SECTION("a burst of three in two slots") {
    const comm::program p = parse(bursting_all_reduce(3), "burst 3");
    msccl_bench b(p, {.n_slots = 2});
    CHECK_THAT(b.run().notes.at(0), Catch::Contains("cannot end with 2 messages per FIFO"));
    CHECK_FALSE(b.go().finished);
    expect_all_reduce(p, {.n_slots = 3});
  }
}

TEST_CASE("msccl run: all-to-all, all-gather and reduce-scatter by position") {
  constexpr std::uint32_t n = 4;
  for (const std::uint64_t count : {8u, 24u, 4000u})
    for (const bool in_place : {false, true}) {
      INFO("count " << count << " in place " << in_place);
      const run_case c{.count = count, .type = numeric::dtype::i32, .slot_bytes = 256, .in_place = false};
      std::vector<byte_vector> whole;
      for (std::uint32_t r = 0; r < n; ++r) whole.push_back(pattern(r, count));

      msccl_bench gather(parse(direct_all_gather(n, in_place), "all gather"), c);
      for (std::uint32_t r = 0; r < n; ++r) gather.write_input(r, part(whole[0], r, n));
      CHECK(gather.go().finished);
      for (std::uint32_t r = 0; r < n; ++r) CHECK(gather.read_output(r, count * 4) == whole[0]);

      msccl_bench scatter(parse(direct_reduce_scatter(n, in_place), "reduce scatter"), c);
      for (std::uint32_t r = 0; r < n; ++r) scatter.write_input(r, whole[r]);
      CHECK(scatter.go().finished);
      byte_vector sum(count * 4);
      std::vector<std::int32_t> values(count);
      for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<std::int32_t>((0 + 1 + 2 + 3) * 1'000'003 + 4 * (i * 17 + 1));
      std::memcpy(sum.data(), values.data(), sum.size());
      for (std::uint32_t r = 0; r < n; ++r) CHECK(scatter.read_output(r, count) == part(sum, r, n));

      if (in_place) continue;
      msccl_bench exchange(parse(direct_all_to_all(n, 2), "all to all"), c);
      for (std::uint32_t r = 0; r < n; ++r) exchange.write_input(r, whole[r]);
      CHECK(exchange.go().finished);
      for (std::uint32_t r = 0; r < n; ++r)
        for (std::uint32_t q = 0; q < n; ++q)
          CHECK(part(exchange.read_output(r, count * 4), q, n) == part(whole[q], r, n));
    }
}

TEST_CASE("msccl run: a launch that cannot be is refused") {
  const comm::program p = parse(direct_all_gather(4, true), "gather.xml");
  config::machine_config m;
  m.pod.sips = 1;
  m.ipcq.queue_pairs = 2;
  const comm::group g = comm::map_ranks(m.shape(), comm::rank_set::pe);
  const sw::argument_context c{m, m.shape(), g, 10, numeric::dtype::f16, numeric::reduction::sum, true, {}};
  CHECK_THROWS_WITH(sw::make_msccl_run(p, c),
                    Catch::Contains("as many ranks as it has gpus (value 128 ranks; expected 4 ranks)") &&
                        Catch::Contains("ipcq.queue_pairs (value 2; expected at least 3)") &&
                        Catch::Contains("into 4 equal chunks (value 10 elements; expected a multiple of 4)"));
}

TEST_CASE("msccl run: every all-reduce program of a directory, with data at two sizes") {
  const char* directory = std::getenv("DIECAST_MSCCL_DIR");
  if (directory == nullptr) {
    WARN("skipped: DIECAST_MSCCL_DIR names no directory with MSCCL programs");
    return;
  }
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".xml") files.insert(entry.path());
  std::size_t ran = 0;
  for (const auto& path : files) {
    const comm::program p = platforms::load_msccl(path.string()).program;
    if (p.collective != comm::collective::all_reduce) continue;
    for (const std::uint64_t count : {1001u, 32768u})
      for (const sw::schedule order : {sw::schedule::round_robin, sw::schedule::random})
        expect_all_reduce(p, {.count = count, .n_slots = 2, .slot_bytes = 2048, .order = order});
    ++ran;
  }
  CHECK(ran > 0);
}
