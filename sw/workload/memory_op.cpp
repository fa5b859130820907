// SPDX-License-Identifier: Apache-2.0
// Memory traffic of a PE: copies by the compute port of its DMA engine between TCM and its home HBM port,
// or within TCM, two at a time. Their results are verified.
//
// HBM holds an area to read, filled by the host, and one to write; both are used again from their
// start when the op moves more than they hold. TCM holds two buffers for reads, and one for writes.

#include <algorithm>
#include <array>
#include <cmath>

#include "models/abi/address.hpp"
#include "models/random/stream.hpp"
#include "sw/host/collective.hpp"
#include "sw/workload/op_kind.hpp"

namespace diecast::sw {
namespace {

using comm::op_field_type;

constexpr std::uint64_t chunk_bytes = 8192;
constexpr std::uint64_t area_chunks = 32;  ///< most chunks of an HBM area: 256 KiB
constexpr std::uint64_t read_buffers = 2;

using abi::aligned;

/// One copy: chunk number `index` of its direction.
struct chunk {
  bool read{};
  std::uint64_t index{};
  std::uint64_t bytes{};
};

/// Bytes at a place of an area. They differ between ops, iterations, ranks and places.
void fill(std::uint64_t seed, std::uint32_t rank, std::uint64_t place, std::span<std::byte> out) {
  std::array<std::uint64_t, chunk_bytes / sizeof(std::uint64_t)> words{};
  const random::stream source(events::mix(seed, rank), "", "workload memory");
  source.fill(place * words.size(), words);
  const auto bytes = std::as_bytes(std::span(words));
  std::copy_n(bytes.begin(), out.size(), out.begin());
}

class memory_traffic final : public planned_op {
 public:
  memory_traffic(const op_request& r, bool hbm, double read_fraction);

  std::uint64_t tcm_bytes() const override { return (read_buffers + 1) * buffer_; }
  std::uint64_t hbm_bytes() const override { return hbm_ ? (reads_area_ + writes_area_) * buffer_ : 0; }
  std::uint64_t bytes() const override { return bytes_; }
  void run(const op_context& pe) const override;
  void prepare(const op_host& h) override;
  std::optional<std::uint64_t> verify(const op_host& h) override;

 private:
  [[nodiscard]] std::uint64_t read_buffer(std::uint64_t index) const {
    return tcm() + index % read_buffers * buffer_;
  }
  [[nodiscard]] std::uint64_t write_buffer() const { return tcm() + read_buffers * buffer_; }
  [[nodiscard]] std::uint64_t seed(std::uint64_t iteration) const {
    return data_seed(config_, index_, iteration);
  }
  void check(std::span<const std::byte> got, std::uint64_t seed, std::uint32_t rank, std::uint64_t place,
             std::uint64_t& wrong) const;
  void check_reads(const op_host& h, std::uint64_t& wrong) const;
  void check_writes(const op_host& h, std::uint64_t& wrong) const;

  const config::machine_config& config_;
  const comm::group& members_;
  std::uint32_t index_;
  bool hbm_;
  std::uint64_t bytes_;
  std::uint64_t buffer_;         ///< bytes of a chunk in memory
  std::vector<chunk> chunks_;    ///< in order
  std::uint64_t reads_area_{};   ///< chunks
  std::uint64_t writes_area_{};  ///< chunks
};

/// Reads and writes are spread evenly: after every chunk the share of reads is as near as it can be.
memory_traffic::memory_traffic(const op_request& r, bool hbm, double read_fraction)
    : config_(r.config),
      members_(r.members),
      index_(r.index),
      hbm_(hbm),
      bytes_(r.op.get<std::uint64_t>("bytes")),
      buffer_(aligned(std::min(chunk_bytes, bytes_))) {
  std::uint64_t reads = 0, writes = 0;
  for (std::uint64_t done = 0; done < bytes_;) {
    const std::uint64_t n = std::min(chunk_bytes, bytes_ - done);
    done += n;
    const bool read =
        !hbm || static_cast<double>(reads) < read_fraction * static_cast<double>(reads + writes + 1);
    chunks_.push_back({read, read ? reads++ : writes++, n});
  }
  reads_area_ = std::min(reads, area_chunks);
  writes_area_ = std::min(writes, area_chunks);
}

/// Within TCM a copy goes from the write buffer to a read buffer.
void memory_traffic::run(const op_context& pe) const {
  queue_driver& driver = pe.runtime.driver();
  const abi::address tcm = pe.runtime.options().tcm_base;
  std::optional<std::uint32_t> before;
  for (const chunk& c : chunks_) {
    abi::address from = tcm + write_buffer();
    abi::address to = tcm + read_buffer(c.index);
    if (hbm_ && c.read) from = pe.hbm + c.index % reads_area_ * buffer_;
    if (hbm_ && !c.read) to = pe.hbm + (reads_area_ + c.index % writes_area_) * buffer_;
    const std::uint32_t job = driver.start_copy(from, to, c.bytes);
    if (before) driver.wait_copy(*before);
    before = job;
  }
  if (before) driver.wait_copy(*before);
}

void memory_traffic::prepare(const op_host& h) {
  if (!h.data) return;
  std::vector<std::byte> bytes(buffer_);
  const pe_coord pe = members_.members[h.rank];
  fill(seed(h.iteration), h.rank, area_chunks, bytes);
  write_tcm(h.host, pe, write_buffer(), bytes);
  if (!hbm_) return;
  for (std::uint64_t i = 0; i < reads_area_; ++i) {
    fill(seed(h.iteration), h.rank, i, bytes);
    h.host.debug_write(h.hbm + i * buffer_, bytes);
  }
}

void memory_traffic::check(std::span<const std::byte> got, std::uint64_t seed, std::uint32_t rank,
                           std::uint64_t place, std::uint64_t& wrong) const {
  std::vector<std::byte> expected(got.size());
  fill(seed, rank, place, expected);
  for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] == expected[i] ? 0 : 1;
}

/// Each read buffer holds the last chunk that went there.
void memory_traffic::check_reads(const op_host& h, std::uint64_t& wrong) const {
  std::array<const chunk*, read_buffers> last{};
  for (const chunk& c : chunks_)
    if (c.read) last[c.index % read_buffers] = &c;
  for (const chunk* c : last) {
    if (c == nullptr) continue;
    std::vector<std::byte> got(c->bytes);
    read_tcm(h.host, members_.members[h.rank], read_buffer(c->index), got);
    check(got, seed(h.iteration), h.rank, hbm_ ? c->index % reads_area_ : area_chunks, wrong);
    h.fingerprint.add_bytes("memory read", got);
  }
}

/// The places the last round of writes has reached hold the write buffer's bytes of this iteration.
void memory_traffic::check_writes(const op_host& h, std::uint64_t& wrong) const {
  std::vector<std::uint64_t> valid(writes_area_);
  for (const chunk& c : chunks_)
    if (!c.read) valid[c.index % writes_area_] = std::max(valid[c.index % writes_area_], c.bytes);
  for (std::uint64_t i = 0; i < valid.size(); ++i) {
    std::vector<std::byte> got(valid[i]);
    h.host.debug_read(h.hbm + (reads_area_ + i) * buffer_, got);
    check(got, seed(h.iteration), h.rank, area_chunks, wrong);
    h.fingerprint.add_bytes("memory write", got);
  }
}

std::optional<std::uint64_t> memory_traffic::verify(const op_host& h) {
  std::uint64_t wrong = 0;
  check_reads(h, wrong);
  if (hbm_) check_writes(h, wrong);
  return wrong;
}

std::unique_ptr<planned_op> plan_memory(const op_request& r) {
  const bool hbm = r.op.get<std::string>("where") == "hbm";
  if (!hbm && r.op.has("read_fraction")) {
    throw user_error(problem{r.op.where + ".read_fraction",
                             "does not apply to where tcm: a copy within TCM reads and writes the same bytes",
                             std::to_string(r.op.get<double>("read_fraction")),
                             "where hbm, or no read_fraction"});
  }
  const double fraction = r.op.has("read_fraction") ? r.op.get<double>("read_fraction") : 0.5;
  return std::make_unique<memory_traffic>(r, hbm, fraction);
}

}  // namespace

op_kind memory_op() {
  op_kind k;
  k.schema = {
      "memory",
      "Copies by the PE's DMA engine between its TCM and its home HBM port, or within its TCM.",
      {comm::required(comm::number_field("bytes", op_field_type::size, "bytes read and written together",
                                         1024.0 * 1024.0 * 1024.0, 1)),
       comm::number_field(
           "read_fraction", op_field_type::real,
           "share of the bytes read from HBM, 0 to 1; the rest is written; default with where hbm: 0.5", 1),
       comm::word_field("where", "hbm: between HBM and TCM; tcm: within TCM", {"tcm", "hbm"},
                        std::string("hbm"))}};
  k.plan = plan_memory;
  return k;
}

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
  k.schema = {"compute",
              "Work of the core, in pieces of pe.task_quantum_cycles. Either cycles or ns.",
              {comm::number_field("cycles", op_field_type::count, "cycles of noc.clock_ghz", 1e9),
               comm::number_field("ns", op_field_type::real, "nanoseconds", longest_ns)}};
  k.plan = plan_compute;
  return k;
}

op_kind delay_op() {
  op_kind k;
  k.schema = {"delay",
              "Time in which the core is free for other streams.",
              {comm::required(comm::number_field("ns", op_field_type::real, "nanoseconds", longest_ns))}};
  k.plan = [](const op_request& r) {
    return std::make_unique<idle_time>(nanoseconds(r.op.get<double>("ns")));
  };
  return k;
}

}  // namespace diecast::sw
