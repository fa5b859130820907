// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/timed_dma.hpp"

#include <algorithm>

#include "models/comm/install_plan.hpp"
#include "models/config/overrides.hpp"
#include "models/timing/dram.hpp"
#include "models/timing/link.hpp"

namespace diecast::sw {
/// The TCM reads a packet when the one two before it begins to leave (hw/pe: packets_read_ahead).
constexpr std::uint32_t packets_in_flight = 3;
/// Pieces that a window of the DMA is cut into.
constexpr std::uint64_t window_pieces = 4;

timed_dma::timed_dma(const setup& s, const std::vector<std::unique_ptr<timed_pe>>& pes)
    : topology_(s.topology),
      config_(s.config),
      shape_(config_.shape()),
      clock_(timing::noc_clock(config_)),
      events_(s.events),
      memory_(s.memory),
      data_(s.data),
      engine_(events_, engine_kinds,
              {[this](std::uint32_t id, sim_time tail) { transfer_done(id, tail); },
               [this](std::uint32_t id, sim_time at) { transfer_left(id, at); }}),
      fabric_(topology_, config_, engine_),
      pes_(pes),
      states_(shape_.pes()) {
  for (std::uint32_t i = 0; i < shape_.pes(); ++i) {
    config::pe_block& block = states_[i].block;
    block = config::pe_block_of(config_, shape_.pe_at(i)).value_or(config_.pe);
    const double per_cycle = static_cast<double>(block.tcm_banks * block.tcm_bank_bytes);
    const double flit_ns = static_cast<double>(config_.noc.flit_bytes) / per_cycle * clock_.period.ns();
    states_[i].tcm = {{engine_.add_server(flit_ns), 0, 0, 0, 0, false, true}};
  }
}

std::uint32_t timed_dma::open(item::what made, std::uint32_t pe, unsigned references) {
  if (free_items_.empty()) {
    free_items_.push_back(static_cast<std::uint32_t>(items_.size()));
    items_.emplace_back();
  }
  const std::uint32_t id = free_items_.back();
  free_items_.pop_back();
  items_[id] = {};
  items_[id].kind = made;
  items_[id].pe = pe;
  items_[id].open = references;
  return id;
}

void timed_dma::release(std::uint32_t id) {
  if (--items_[id].open == 0) free_items_.push_back(id);
}

bool timed_dma::is_local(std::uint32_t pe, abi::address a) const {
  const auto where = abi::decode(a);
  return where && where->kind == abi::region::tcm &&
         shape_.pe_index({where->sip, where->cube, pe_id{where->unit}}) == pe;
}

/// Sequential accesses at the rate of the port's data bus, less refresh. A read is answered when its first
/// burst has come, a write when the controller owns it.
const timed_dma::memory_port& timed_dma::memory_at(abi::address a) {
  const auto [at, fresh] = memories_.try_emplace(topology_.locate(a));
  if (!fresh) return at->second;
  const config::hbm_block& h = config_.hbm;
  const auto where = abi::decode(a);
  double gbytes_s = config_.sram.gbytes_s, read_ns = config_.sram.latency_ns, write_ns = read_ns;
  if (where->kind == abi::region::hbm) {
    const bool simple = h.model == config::hbm_model::simple;
    gbytes_s = timing::port_gbytes_s(h) * (simple ? 1 : timing::refresh_share(h));
    write_ns = h.controller_ns + (simple ? h.simple_latency_ns : 0);
    read_ns = h.controller_ns + (simple ? h.simple_latency_ns : h.trcd_rd_ns + h.cl_ns);
  }
  at->second = {engine_.add_server(static_cast<double>(config_.noc.flit_bytes) / gbytes_s), read_ns,
                write_ns};
  return at->second;
}

const timing::transfer_route& timed_dma::route_of(const item& i) {
  switch (i.kind) {
    case item::what::copy:
    case item::what::vector: return states_[i.pe].tcm;
    case item::what::message:
    case item::what::credit:
    case item::what::part: break;
    case item::what::parcel: {
      const parcel& p = parcels_.at(static_cast<std::uint32_t>(i.from));
      return fabric_.route(p.from, p.to);
    }
    case item::what::request: return fabric_.route(node_of(i.pe), topology_.locate(i.from));
    case item::what::answer:
      return fabric_.route_from(memory_at(i.from).server, topology_.locate(i.from), node_of(i.pe));
    case item::what::store:
      return fabric_.route_to(node_of(i.pe), topology_.locate(i.to), memory_at(i.to).server);
    case item::what::acknowledge: return fabric_.route(topology_.locate(i.to), node_of(i.pe));
  }
  if (i.receiver == i.pe) return states_[i.pe].tcm;
  const sip_id from = shape_.pe_at(i.pe).sip, to = shape_.pe_at(i.receiver).sip;
  if (from != to && i.kind != item::what::credit && config_.comm.path == config::transfer_path::staged) {
    return fabric_.staged_route(node_of(i.pe), comm::io_cpu_node(topology_, from),
                                comm::io_cpu_node(topology_, to), node_of(i.receiver));
  }
  return fabric_.route(node_of(i.pe), node_of(i.receiver));
}

std::uint64_t timed_dma::tcm_cycles(std::uint64_t bytes) const {
  const std::uint64_t per_cycle = config_.pe.tcm_banks * config_.pe.tcm_bank_bytes;
  return std::max<std::uint64_t>(1,
                                 (std::min(bytes, config_.noc.max_packet_bytes) + per_cycle - 1) / per_cycle);
}

/// Time of an access: a cycle to the TCM, the banks, the read latency.
std::uint64_t timed_dma::read_cycles(std::uint32_t pe, std::uint64_t bytes) const {
  return 1 + tcm_cycles(bytes) + states_[pe].block.tcm_read_cycles;
}

/// Time at which the DMA engine starts a descriptor that it got at that edge.
sim_time timed_dma::ready_at(std::uint32_t pe, port which, sim_time handed_over) {
  const config::pe_block& block = states_[pe].block;
  port_state& p = states_[pe].of[which];
  const sim_time started = handed_over + clock_.cycles(block.dma_launch_cycles + block.dma_startup_cycles);
  p.last_ready = std::max(started, p.last_ready + clock_.cycles(block.dma_issue_cycles));
  return p.last_ready;
}

void timed_dma::send(std::uint32_t pe, const protocol::send_request& message) {
  const std::uint32_t id = open(item::what::message, pe, 2);  // two parts: the token and the source
  item& i = items_[id];
  i.message = message;
  i.receiver = pe_behind(shape_, message.mailbox);
  i.bytes = message.fields.message_bytes;
  i.from = message.source;
  i.shape = fabric_.shape(i.bytes, abi::traffic_class::comm);
  if (states_[pe].block.dma_channels > 1) i.shape.flow = message.qp;
  ++messages_;
  flows_[flow_of(i)].push_back(id);
  const sim_time ready = ready_at(pe, message_port, edge(config_.ipcq.check_cycles));
  if (i.bytes > 0 && !is_local(pe, i.from)) return depart_at(ready, id);
  i.read_done = ready + clock_.cycles(read_cycles(pe, i.bytes));
  depart_at(i.read_done + clock_.cycles(1), id);
}

void timed_dma::credit(std::uint32_t pe, const protocol::credit_request& credit) {
  const std::uint32_t id = open(item::what::credit, pe, 1);
  item& i = items_[id];
  i.credit = credit;
  i.receiver = pe_behind(shape_, credit.mailbox);
  i.shape = fabric_.shape(0, abi::traffic_class::sideband);
  flows_[flow_of(i)].push_back(id);
  depart_at(edge(config_.ipcq.check_cycles + 1), id);
}

/// Within the TCM chunks are read and written again, all of a window at once: its bandwidth limits them.
void timed_dma::copy(std::uint32_t pe, const protocol::copy_request& copy) {
  const std::uint32_t id = open(item::what::copy, pe, 1);
  item& i = items_[id];
  i.copy = copy;
  i.bytes = copy.bytes;
  i.shape.flits =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(1, 2 * copy.bytes / config_.noc.flit_bytes));
  states_[pe].copies.push_back(id);
  depart_at(ready_at(pe, copy_port, edge(0)) + clock_.cycles(1), id);
}

void timed_dma::vector(std::uint32_t pe, sim_time from, std::uint64_t bytes) {
  const std::uint32_t id = open(item::what::vector, pe, 1);
  timing::transfer_shape& s = items_[id].shape;
  s.flits = s.packet_flits =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / config_.noc.flit_bytes));
  s.traffic_class = 1;
  depart_at(from, id);
}

/// The terminal sends one cycle after the request.
void timed_dma::post(parcel p) {
  const std::uint32_t id = open(item::what::parcel, 0, 1);
  items_[id].from = id;
  items_[id].shape = fabric_.shape(p.bytes, p.traffic);
  parcels_[id] = std::move(p);
  depart_at(edge(1), id);
}

void timed_dma::at(sim_time when, std::function<void()> then) {
  const std::uint32_t id = open(item::what::parcel, 0, 1);
  parcels_[id].then = std::move(then);
  events_.put(when, call, id);
}

void timed_dma::move_bytes(abi::address from, abi::address to, std::uint64_t bytes) {
  if (!data_ || bytes == 0) return;
  moved_.resize(bytes);
  memory_.read(from, moved_);
  memory_.write(to, moved_);
}

/// A descriptor's turn, or a transfer's first flit at its first server. Its bytes are read now; the slot or
/// place of destination is reserved until the end is reported.
void timed_dma::begin(std::uint32_t id) {
  const item& i = items_[id];
  if (i.kind == item::what::copy) move_bytes(i.copy.source, i.copy.destination, i.bytes);
  if (i.kind == item::what::message) move_bytes(i.from, i.message.fields.match_address, i.bytes);
  const bool is_copy = i.kind == item::what::copy;
  const bool far =
      is_copy ? i.bytes > 0 && (!is_local(i.pe, i.copy.source) || !is_local(i.pe, i.copy.destination))
              : i.kind == item::what::message && i.bytes > 0 && !is_local(i.pe, i.from);
  if (!far) return start(id);
  const port which = is_copy ? copy_port : message_port;
  states_[i.pe].of[which].remote.push_back(id);
  pump(i.pe, which);
}

/// Counts a packet as one of the DMA engine if a PE sends it, not a memory or a CPU.
bool timed_dma::is_of_dma(const item& i) {
  const bool answers = i.kind == item::what::answer || i.kind == item::what::acknowledge;
  const auto response = static_cast<std::uint8_t>(abi::traffic_class::response);
  return i.kind == item::what::parcel ? i.shape.traffic_class == response : !answers;
}

void timed_dma::start(std::uint32_t id) {
  const item& i = items_[id];
  const timing::transfer_route& route = route_of(i);
  if (is_of_dma(i) && &route != &states_[i.pe].tcm) packets_ += i.shape.packets;
  const bool last_part = i.kind == item::what::part && items_[i.owner].started == items_[i.owner].bytes &&
                         i.copy.bytes == items_[i.owner].bytes;
  const bool tells = i.kind == item::what::message || last_part;
  engine_.start(route, i.shape, events_.now(), events_.now(), id, tells ? packets_in_flight : 0);
}

void timed_dma::pump(std::uint32_t pe, port which) {
  port_state& p = states_[pe].of[which];
  while (!p.remote.empty() && p.pieces < window_pieces) {
    const std::uint32_t owner = p.remote.front();
    start_piece(pe, which, owner);
    if (items_[owner].started == items_[owner].bytes) p.remote.pop_front();
  }
}

void timed_dma::start_piece(std::uint32_t pe, port which, std::uint32_t owner) {
  const std::uint64_t packets = std::max<std::uint64_t>(1, states_[pe].block.dma_outstanding / window_pieces);
  item& whole = items_[owner];
  const std::uint64_t bytes = std::min(packets * config_.noc.max_packet_bytes, whole.bytes - whole.started);
  const bool is_copy = which == copy_port;
  const abi::address from = (is_copy ? whole.copy.source : whole.from) + whole.started;
  const bool here = is_local(pe, from);
  const std::uint32_t id = open(here ? item::what::store : item::what::request, pe, 1);
  item& i = items_[id];
  i.owner = owner;
  i.from = from;
  i.to = is_copy ? whole.copy.destination + whole.started : 0;
  i.bytes = bytes;
  whole.started += bytes;
  i.copy.bytes = whole.started;  // offset in its owner at which the piece ends
  ++states_[pe].of[which].pieces;
  i.shape = fabric_.shape(bytes, abi::traffic_class::request);
  if (here) return depart_at(edge(read_cycles(pe, bytes) + 1), id);
  i.shape.flits = i.shape.packets;  // requests
  i.shape.packet_flits = 1;
  depart_at(edge(1), id);
}

/// The bytes of a piece have come from another memory.
void timed_dma::answered(std::uint32_t id, sim_time there) {
  item& i = items_[id];
  if (items_[i.owner].kind == item::what::message) {
    --states_[i.pe].of[message_port].pieces;
    i.kind = item::what::part;
    i.receiver = items_[i.owner].receiver;
    i.shape = fabric_.shape(i.bytes, abi::traffic_class::comm);
    depart_at(there + clock_.cycles(1), id);
    return pump(i.pe, message_port);
  }
  if (is_local(i.pe, i.to)) return events_.put(there + clock_.cycles(1 + tcm_cycles(i.bytes)), piece_due, id);
  i.kind = item::what::store;
  i.shape = fabric_.shape(i.bytes, abi::traffic_class::request);
  depart_at(there + clock_.cycles(1), id);
}

void timed_dma::piece_done(std::uint32_t id) {
  const item& i = items_[id];
  const std::uint32_t owner = i.owner, pe = i.pe;
  item& whole = items_[owner];
  whole.ended += i.bytes;
  release(id);
  --states_[pe].of[copy_port].pieces;
  if (whole.ended == whole.bytes) events_.put(edge(1), copy_due, owner);
  pump(pe, copy_port);
}

void timed_dma::transfer_left(std::uint32_t id, sim_time at) {
  const bool is_part = items_[id].kind == item::what::part;
  const std::uint32_t message = is_part ? items_[id].owner : id;
  const item& i = items_[message];
  // The TCM reads a packet of a long message when one before it has left.
  const bool waits = i.shape.packets >= packets_in_flight && !is_part;
  const sim_time read =
      waits ? clock_.edge_at_or_after(at) + clock_.cycles(1 + read_cycles(i.pe, i.bytes)) : at;
  events_.put(std::max(i.read_done, read) + clock_.cycles(1), source_read, message);
}

/// All of a message has come to the receiver's DMA engine, which writes its slot; `last`: bytes of its last
/// packet. A slot in another memory is a store of its own, acknowledged before the token is published.
void timed_dma::message_here(std::uint32_t id, std::uint64_t last_bytes, sim_time there) {
  const std::uint32_t receiver = items_[id].receiver;
  const abi::address slot = items_[id].message.fields.match_address;
  if (items_[id].bytes > 0 && !is_local(receiver, slot)) {
    const std::uint32_t store = open(item::what::store, receiver, 1);
    items_[store].owner = id;
    items_[store].to = slot;
    items_[store].shape = fabric_.shape(items_[id].bytes, abi::traffic_class::request);
    return depart_at(there + clock_.cycles(1), store);
  }
  const std::uint64_t longest = config_.noc.max_packet_bytes;
  const std::uint64_t written = last_bytes > 0 ? 1 + tcm_cycles((last_bytes - 1) % longest + 1) : 1;
  events_.put(there + clock_.cycles(written + config_.ipcq.match_cycles), token, id);
}

void timed_dma::transfer_done(std::uint32_t id, sim_time tail) {
  item& i = items_[id];
  const sim_time there = clock_.edge_at_or_after(tail) + clock_.cycles(1);
  switch (i.kind) {
    case item::what::message: return message_here(id, i.bytes, there);
    case item::what::credit:
      return events_.put(there + clock_.cycles(config_.ipcq.match_cycles), credit_due, id);
    case item::what::copy:
      return events_.put(there + clock_.cycles(states_[i.pe].block.tcm_read_cycles + 1), copy_due, id);
    case item::what::vector: pes_[i.pe]->vector_done(tail); return release(id);
    case item::what::parcel: return events_.put(there, call, id);
    case item::what::request:
      i.kind = item::what::answer;
      i.shape = fabric_.shape(i.bytes, abi::traffic_class::response);
      return depart_at(there + nanoseconds(memory_at(i.from).read_ns), id);
    case item::what::answer: return answered(id, there);
    case item::what::part: {
      item& whole = items_[i.owner];
      whole.ended += i.bytes;
      if (whole.ended == whole.bytes) message_here(i.owner, i.bytes, there);
      return release(id);
    }
    case item::what::store:
      i.kind = item::what::acknowledge;
      i.shape.flits = i.shape.packets;
      i.shape.packet_flits = 1;
      i.shape.traffic_class = static_cast<std::uint8_t>(abi::traffic_class::response);
      return depart_at(there + nanoseconds(memory_at(i.to).write_ns), id);
    case item::what::acknowledge: {
      if (items_[i.owner].kind == item::what::copy) return events_.put(there, piece_due, id);
      events_.put(there + clock_.cycles(config_.ipcq.match_cycles), token, i.owner);
      return release(id);
    }
  }
}

timed_dma::flow_key timed_dma::flow_of(const item& i) const {
  return {std::uint64_t{i.pe} << 32 | i.receiver, i.kind == item::what::credit};
}

/// Messages and credits of a flow become visible in their order.
void timed_dma::deliver(const flow_key& flow) {
  std::deque<std::uint32_t>& in_flight = flows_[flow];
  while (!in_flight.empty() && items_[in_flight.front()].arrived) {
    const std::uint32_t id = in_flight.front();
    in_flight.pop_front();
    const item& i = items_[id];
    timed_pe& receiver = *pes_[i.receiver];
    if (i.kind == item::what::credit) {
      receiver.credit_arrived(i.credit.fields);
    } else {
      receiver.token_arrived(i.message.fields);
      message_bytes_ += i.bytes;
    }
    release(id);
  }
}

void timed_dma::visit_flights(const std::function<void(bool credit, const abi::ipcq_fields&)>& visit) const {
  for (const auto& [flow, in_flight] : flows_) {
    for (const std::uint32_t id : in_flight)
      visit(flow.second, flow.second ? items_[id].credit.fields : items_[id].message.fields);
  }
}

void timed_dma::copy_done(std::uint32_t id) {
  const std::uint32_t pe = items_[id].pe;
  items_[id].arrived = true;
  std::deque<std::uint32_t>& copies = states_[pe].copies;
  std::uint32_t ended = 0;
  for (; !copies.empty() && items_[copies.front()].arrived; ++ended) {
    release(copies.front());
    copies.pop_front();
  }
  if (ended > 0) pes_[pe]->copies_done(ended);
}

void timed_dma::handle(const timing::timed_event& e) {
  switch (e.kind) {
    case run_pe: return pes_[e.index]->resume();
    case depart:
      return items_[e.index].kind == item::what::message || items_[e.index].kind == item::what::copy
                 ? begin(e.index)
                 : start(e.index);
    case token:
    case credit_due: items_[e.index].arrived = true; return deliver(flow_of(items_[e.index]));
    case source_read: {
      timed_pe& sender = *pes_[items_[e.index].pe];
      sender.core().source_read(items_[e.index].message.qp);
      sender.look_for_events();
      return release(e.index);
    }
    case copy_due: return copy_done(e.index);
    case piece_due: return piece_done(e.index);
    case call: {
      const std::function<void()> then = std::move(parcels_.extract(e.index).mapped().then);
      release(e.index);
      return then();
    }
    default: return engine_.handle(e);
  }
}

}  // namespace diecast::sw
