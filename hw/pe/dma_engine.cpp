// SPDX-License-Identifier: Apache-2.0
#include "hw/pe/dma_engine.hpp"

#include "models/comm/install_plan.hpp"
#include "models/fabric/fault_places.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

abi::node_address terminal_of(pe_coord pe, const fabric::topology& topology) {
  return topology.locate(abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0}));
}

bool is_memory(abi::address a) {
  const auto where = abi::decode(a);
  return where && (where->kind == abi::region::tcm || where->kind == abi::region::sram ||
                   where->kind == abi::region::hbm);
}

std::unique_ptr<publication_rule> make_publication(const pe_setup& pe) {
  const auto* const fault = fabric::fault_at(pe.config, config::fault_kind::token_before_data, pe.self);
  if (fault != nullptr) return std::make_unique<early_publication>(*fault);
  return std::make_unique<publication_rule>();
}

}  // namespace

dma_engine::dma_engine(sc_core::sc_module_name name, const pe_setup& pe, const packet_setup& setup)
    : sc_module(name),
      pe_(pe),
      setup_(setup),
      clock_(clock_domain::from_ghz(pe.config.noc.clock_ghz)),
      terminal_("terminal", setup.topology, pe.config, terminal_of(pe.self, setup.topology), *this),
      publication_(make_publication(pe)) {}

sim_time dma_engine::edge_after(std::uint64_t cycles) const {
  return clock_.edge_at_or_after(now()) + clock_.cycles(cycles);
}

void dma_engine::report(events::transfer_phase phase, pe_coord source, std::uint16_t qp) const {
  if (!pe_.events.wants(events::transfers)) return;
  pe_.events.publish(events::transfer_event{now(), phase, source, qp});
}

bool dma_engine::idle() const {
  return work_.empty() && jobs_[compute_port].empty() && jobs_[ipcq_port].empty() && pending_.empty() &&
         inbound_.empty();
}

bool dma_engine::serves_core_only() const {
  const bool others = pending_.any([](const pending& p) { return p.what != stage::answer; });
  return !others && jobs_[compute_port].empty() && jobs_[ipcq_port].empty() && inbound_.empty();
}

void dma_engine::enqueue(port which, job j) {
  const auto& pe = pe_.config.pe;
  const sim_time started = edge_after(pe.dma_launch_cycles + pe.dma_startup_cycles);
  j.ready = std::max(started, last_ready_[which] + clock_.cycles(pe.dma_issue_cycles));
  last_ready_[which] = j.ready;
  work_.put(j.ready, work_key(static_cast<unsigned>(work_kind::descriptor_ready), 0),
            {work_kind::descriptor_ready, 0, 0, {}});
  jobs_[which].push_back(std::move(j));
}

void dma_engine::send_message(const protocol::send_request& message) {
  if (!is_memory(message.source)) {
    throw protocol_error("{}: source of an IPCQ message is {}, expected a TCM, SRAM or HBM", name(),
                         abi::describe(message.source));
  }
  job j;
  j.is_message = true;
  j.message = message;
  j.total = message.fields.message_bytes;
  ++messages_sent_;
  bytes_sent_ += j.total;
  report(events::transfer_phase::queued, pe_.self, message.qp);
  enqueue(ipcq_port, std::move(j));
}

void dma_engine::start_copy(const copy_request& copy) {
  job j;
  j.copy = copy;
  j.copy_number = copies_started_++;
  j.total = copy.bytes;
  copy_remaining_[j.copy_number] = at_least_one(copy.bytes);
  enqueue(compute_port, std::move(j));
}

void dma_engine::start_access(core_access access) {
  packet_ptr p = make_packet(access.kind, access.at);
  if (access.kind == abi::packet_kind::read_request) {
    p->header.request_bytes = access.bytes;
  } else {
    p->header.payload_bytes = access.bytes;
    p->data = std::move(access.data);
  }
  pending answer;
  answer.what = stage::answer;
  answer.copy_number = access.tag;
  p->header.transaction = core_access_bit | open(std::move(answer));
  send_request(std::move(p));
}

void dma_engine::send_credit(const protocol::credit_request& credit) {
  packet_ptr p = make_packet(abi::packet_kind::ipcq_credit, credit.mailbox);
  p->header.ipcq = credit.fields;
  terminal_.send(std::move(p));
}

void dma_engine::send_launch_done(std::uint32_t launch_id) {
  packet_ptr p = make_packet(abi::packet_kind::launch_done,
                             abi::encode({pe_.self.sip, setup_.topology.io_cube(pe_.self.sip),
                                          abi::region::launch_mailbox, abi::io_cpu_unit, 0}));
  p->header.transaction = launch_id;
  p->header.ipcq.source = pe_.self;
  terminal_.send(std::move(p));
}

void dma_engine::send_packet(packet_ptr p) {
  work_.put(edge_after(1), work_key(static_cast<unsigned>(work_kind::send_packet), foreign_++),
            {work_kind::send_packet, 0, 0, std::move(p)});
}

bool dma_engine::may_issue(port which) const {
  const auto& queue = jobs_[which];
  if (queue.empty() || queue.front().ready > now()) return false;
  if (which == compute_port) return transactions_ < pe_.config.pe.dma_outstanding;
  const std::uint64_t window = pe_.config.pe.dma_outstanding;
  switch (access_of(queue[next_job(which)])) {
    case source_access::read: return true;
    case source_access::read_behind: return buffered_ < 2 * window;
    case source_access::fetch: return fetching_ < window && buffered_ < 2 * window;
  }
  return false;
}

/// How the source of a job's next packet is read. A packet that is fetched from another memory takes a place
/// in the read window until its data arrive, and one in a buffer of two windows until it enters the NoC.
/// Reads therefore continue while a full window waits for the network. Packets leave in order, so packets
/// from the own TCM that follow fetched ones wait in that buffer, too: among the few packets read ahead they
/// would block copies.
dma_engine::source_access dma_engine::access_of(const job& j) const {
  const bool is_here = j.next >= j.total || is_local(j.message.source + j.next);
  if (!is_here) return source_access::fetch;
  return buffered_ > 0 ? source_access::read_behind : source_access::read;
}

/// Weighted round robin: a port keeps its turn for `weight` packets while the other one waits.
dma_engine::port dma_engine::choose(bool compute, bool message) {
  if (turns_left_[compute_port] == 0 && turns_left_[ipcq_port] == 0)
    turns_left_ = {pe_.config.pe.dma_compute_weight, pe_.config.pe.dma_ipcq_weight};
  port which = message ? ipcq_port : compute_port;
  if (compute && message && turns_left_[ipcq_port] == 0) which = compute_port;
  if (turns_left_[which] > 0) --turns_left_[which];
  return which;
}

/// Issues packets as long as a port may. Decides by what was known before this instant: packets that the
/// terminal sends now are counted a cycle later.
void dma_engine::pump() {
  while (ahead_ < packets_read_ahead) {
    const bool compute = may_issue(compute_port);
    const bool message = may_issue(ipcq_port);
    if (!compute && !message) return;
    issue(choose(compute, message));
  }
}

/// Index of the job whose packet is next. With one channel that is the first job; with several the first
/// messages of that many queue pairs take turns, in the order of queue pairs.
std::size_t dma_engine::next_job(port which) const {
  if (which != ipcq_port || pe_.config.pe.dma_channels == 1) return 0;
  const auto& queue = jobs_[ipcq_port];
  std::array<std::uint16_t, config::most_dma_channels> taken{};
  std::size_t channels = 0;
  // Jobs of the lowest queue pair, and of the lowest one above the last queue pair that was served.
  std::size_t first = 0, after = queue.size();
  for (std::size_t i = 0; i < queue.size() && queue[i].ready <= now(); ++i) {
    const std::uint16_t qp = queue[i].message.qp;
    const auto end = taken.begin() + static_cast<std::ptrdiff_t>(channels);
    if (std::find(taken.begin(), end, qp) != end) continue;  // messages of one queue pair keep their order
    taken[channels++] = qp;
    if (qp < queue[first].message.qp) first = i;
    if (qp > last_sent_ && (after == queue.size() || qp < queue[after].message.qp)) after = i;
    if (channels == pe_.config.pe.dma_channels) break;
  }
  return after < queue.size() ? after : first;
}

void dma_engine::issue(port which) {
  const std::size_t at = next_job(which);
  job& j = jobs_[which][at];
  if (j.is_message) {
    last_sent_ = j.message.qp;
    issue_message(j);
  } else {
    issue_copy(j);
  }
  if (j.next >= j.total) jobs_[which].erase(jobs_[which].begin() + static_cast<std::ptrdiff_t>(at));
}

void dma_engine::issue_message(job& j) {
  const std::uint64_t bytes = std::min<std::uint64_t>(pe_.config.noc.max_packet_bytes, j.total - j.next);
  packet_ptr p = make_packet(abi::packet_kind::ipcq_data, j.message.mailbox);
  p->header.ipcq = j.message.fields;
  p->header.offset = static_cast<std::uint32_t>(j.next);
  p->header.payload_bytes = static_cast<std::uint32_t>(bytes);
  if (j.next == 0) report(events::transfer_phase::issued, pe_.self, j.message.qp);
  pending read;
  read.what = stage::message_read;
  read.p = p;
  read.last = j.next + bytes >= j.total;
  read.qp = j.message.qp;
  const source_access access = access_of(j);
  read.buffered = access != source_access::read;
  ++(read.buffered ? buffered_ : ahead_);
  const std::uint32_t index = open(std::move(read));
  reads_.push_back(index);
  const abi::address from = j.message.source + j.next;
  if (access == source_access::fetch) {
    fetch(index, from, bytes);
  } else {
    access_tcm(tcm_port::dma_read, from, *p, bytes, false, index);
  }
  j.next += at_least_one(bytes);  // an empty message is one packet
}

/// Reads the bytes of a packet from another memory, over the network, before the packet is sent.
void dma_engine::fetch(std::uint32_t index, abi::address from, std::uint64_t bytes) {
  pending_[index].what = stage::message_fetch;
  ++fetching_;
  packet_ptr request = make_packet(abi::packet_kind::read_request, from);
  request->header.request_bytes = static_cast<std::uint32_t>(bytes);
  request->header.transaction = index;
  send_request(std::move(request));
}

void dma_engine::issue_copy(job& j) {
  const std::uint64_t bytes = std::min<std::uint64_t>(pe_.config.noc.max_packet_bytes, j.total - j.next);
  const abi::address from = j.copy.source + j.next;
  pending chunk;
  chunk.what = stage::copy_read;
  chunk.copy_number = j.copy_number;
  chunk.chunk_bytes = bytes;
  chunk.destination = j.copy.destination + j.next;
  ++transactions_;
  if (bytes == 0 || is_local(from)) {
    chunk.p = setup_.pool.make();
    chunk.p->header.payload_bytes = static_cast<std::uint32_t>(bytes);
    packet_ptr p = chunk.p;
    access_tcm(tcm_port::dma_read, from, *p, bytes, false, open(std::move(chunk)));
  } else {
    chunk.what = stage::copy_fetch;
    packet_ptr p = make_packet(abi::packet_kind::read_request, from);
    p->header.request_bytes = static_cast<std::uint32_t>(bytes);
    p->header.transaction = open(std::move(chunk));
    send_request(std::move(p));
  }
  j.next += at_least_one(bytes);
}

void dma_engine::access_tcm(tcm_port through, abi::address at, packet& p, std::uint64_t bytes, bool write,
                            std::uint32_t index) {
  if (bytes == 0) {
    work_.put(edge_after(1),
              work_key(static_cast<unsigned>(work_kind::access_finished), pending_[index].sequence),
              {work_kind::access_finished, index, 0, {}});
    return;
  }
  if (setup_.move_data && !write) p.data.resize(bytes);
  tcm_request r{
      through, abi::decode(at)->offset, bytes, write, setup_.move_data ? p.data.data() : nullptr, index,
      this};
  tcm->request(r, edge_after(1));
}

void dma_engine::tcm_done(std::uint64_t tag, sim_time finish) {
  const auto index = static_cast<std::uint32_t>(tag);
  work_.put(finish, work_key(static_cast<unsigned>(work_kind::access_finished), pending_[index].sequence),
            {work_kind::access_finished, index, 0, {}});
}

void dma_engine::finished(std::uint32_t index) {
  const stage what = pending_[index].what;
  if (what == stage::message_fetch) --fetching_;
  if (what == stage::message_read || what == stage::message_fetch) return message_read_done(index);
  pending done = pending_.close(index);
  switch (done.what) {
    case stage::message_read:
    case stage::message_fetch: return;
    case stage::answer: {
      const auto data = done.p ? std::span<const std::byte>(done.p->data) : std::span<const std::byte>();
      return core->access_done(done.copy_number, data);
    }
    case stage::message_write: return message_write_done(done);
    case stage::copy_read:
    case stage::copy_fetch: return write_chunk(done);
    case stage::copy_write:
    case stage::copy_store: return chunk_done(done);
    case stage::serve_read: return respond(done, abi::packet_kind::read_response);
    case stage::serve_write: return respond(done, abi::packet_kind::write_response);
  }
}

/// The banks may finish a later read first; the packets of a flow leave in order all the same.
void dma_engine::message_read_done(std::uint32_t index) {
  pending_[index].read = true;
  while (!reads_.empty() && pending_[reads_.front()].read) {
    pending done = pending_.close(reads_.front());
    reads_.pop_front();
    leaving_.push_back(done.buffered);
    leave(std::move(done.p));
    if (done.last) ipcq->source_read(done.qp);
  }
}

/// A packet of a message, its checksum made where there is one, goes to the network.
void dma_engine::inject(packet_ptr p) {
  const packet_ptr sent = p;
  terminal_.send(std::move(p));
  if (sent->header.kind == abi::packet_kind::ipcq_data && ends_message(sent->header))
    report(events::transfer_phase::injected, pe_.self, sent->header.ipcq.source_direction);
}

void dma_engine::message_left() {
  const bool was_buffered = leaving_.front();
  leaving_.pop_front();
  --(was_buffered ? buffered_ : ahead_);
}

void dma_engine::send_request(packet_ptr p) {
  ++ahead_;
  terminal_.send(std::move(p));
}

void dma_engine::write_chunk(pending& done) {
  packet_ptr p = done.p;
  if (done.chunk_bytes == 0 || is_local(done.destination)) {
    done.what = stage::copy_write;
    const abi::address to = done.destination;
    const std::uint64_t bytes = done.chunk_bytes;
    access_tcm(tcm_port::dma_write, to, *p, bytes, true, open(std::move(done)));
    return;
  }
  done.what = stage::copy_store;
  packet_ptr request = make_packet(abi::packet_kind::write_request, done.destination);
  request->header.payload_bytes = static_cast<std::uint32_t>(done.chunk_bytes);
  request->data = p->data;
  done.p = {};
  request->header.transaction = open(std::move(done));
  send_request(std::move(request));
}

void dma_engine::chunk_done(const pending& done) {
  --transactions_;
  copy_remaining_.at(done.copy_number) -= at_least_one(done.chunk_bytes);
  // Copies complete in order: the oldest unfinished one delays those after it.
  bool any = false;
  while (!copy_remaining_.empty() && copy_remaining_.begin()->second == 0) {
    copy_remaining_.erase(copy_remaining_.begin());
    ++copies_done_;
    any = true;
  }
  if (any) ipcq->copies_done(copies_done_);
}

void dma_engine::respond(const pending& done, abi::packet_kind kind) {
  const abi::packet_header& request = done.p->header;
  packet_ptr p = setup_.pool.make();
  p->header.kind = kind;
  p->header.destination = abi::origin_of(request);
  p->header.target = request.target;
  p->header.transaction = request.transaction;
  p->header.offset = request.offset;
  if (kind == abi::packet_kind::read_response) {
    p->header.payload_bytes = request.request_bytes;
    p->data = std::move(done.p->data);
  }
  terminal_.release(done.vc, done.p->flits);
  leave(std::move(p));
}

void dma_engine::act() {
  guarded(pe_.faults, name(), [this] {
    work w;
    while (work_.take(w)) {
      do_work(w);
      w.p = {};
    }
    pump();
  });
}

}  // namespace diecast::hw
