// SPDX-License-Identifier: Apache-2.0
#include "support/reference_network.hpp"

#include <algorithm>
#include <stdexcept>

namespace diecast::test {
namespace {
constexpr std::uint32_t classes = 8;
}

reference_network::reference_network(parameters p) : p_(std::move(p)) {
  const std::size_t ports = std::size_t{p_.routers} * p_.ports;
  in_.resize(ports * p_.vcs);
  out_.resize(ports * p_.vcs);
  node_of_.assign(ports, none);
  feeder_.assign(ports, none);
  input_vc_rr_.resize(ports);
  grant_rr_.resize(ports);
  accept_rr_.resize(ports);
  held_by_.assign(ports * classes, none);
  holds_.assign(ports * classes, none);
  to_input_.resize(ports);
  to_node_.resize(ports);
  to_output_.resize(ports);
  to_source_.resize(ports);
  sources_.resize(p_.terminal.size());
  for (std::size_t o = 0; o < ports; ++o) {
    for (std::uint32_t v = 0; v < p_.vcs; ++v) out_[o * p_.vcs + v].credits = p_.buffer[v];
    if (p_.neighbor[o] != none) feeder_[p_.neighbor[o]] = static_cast<std::uint32_t>(o);
  }
  for (std::uint32_t n = 0; n < p_.terminal.size(); ++n) {
    node_of_[p_.terminal[n]] = n;
    sources_[n].vcs.resize(p_.vcs);
    for (std::uint32_t v = 0; v < p_.vcs; ++v) sources_[n].vcs[v].credits = p_.buffer[v];
  }
}

void reference_network::step() {
  receive();
  for (std::uint32_t n = 0; n < sources_.size(); ++n) inject(n);
  for (std::uint32_t r = 0; r < p_.routers; ++r) route_heads(r);
  // Switch allocation looks at what VC allocation had given before this cycle, unless they are one stage.
  for (std::uint32_t r = 0; r < p_.routers; ++r) {
    if (!p_.overlap) allocate_vcs(r);
    allocate_switch(r);
  }
  ++now_;
}

void reference_network::receive() {
  for (std::uint32_t port = 0; port < to_input_.size(); ++port) {
    auto& flits = to_input_[port];
    for (; !flits.empty() && flits.front().f.arrival <= now_; flits.pop_front()) {
      input_vc& v = in(port, flits.front().vc);
      v.buffer.push_back(flits.front().f);
      if (v.buffer.size() > p_.buffer[flits.front().vc]) throw std::logic_error("buffer overflow");
    }
    auto& ejected = to_node_[port];
    for (; !ejected.empty() && ejected.front().f.arrival <= now_; ejected.pop_front()) {
      const flit& f = ejected.front().f;
      ++flits_ejected_;
      to_output_[port].push_back({now_ + p_.credit, ejected.front().vc});
      if (f.tail()) {
        f.packet->tail_ejected = now_;
        --in_flight_;
      }
    }
    for (auto& c = to_output_[port]; !c.empty() && c.front().at <= now_; c.pop_front()) {
      ++out(port, c.front().vc).credits;
    }
    for (auto& c = to_source_[port]; !c.empty() && c.front().at <= now_; c.pop_front()) {
      ++sources_[node_of_[port]].vcs[c.front().vc].credits;
    }
  }
}

/// One flit per cycle; a packet takes the next free VC that has a credit.
void reference_network::inject(std::uint32_t node) {
  source& s = sources_[node];
  if (s.waiting.empty() || s.waiting.front()->created > now_) return;
  reference_packet* p = s.waiting.front();
  if (s.vc == none) {
    const vc_range range = p_.inject(*p);
    for (std::uint32_t k = 0; k < range.count && s.vc == none; ++k) {
      const bool within = s.last_vc >= range.first && s.last_vc - range.first < range.count;
      const std::uint32_t after = within ? s.last_vc - range.first + 1 : 0;
      const std::uint32_t v = range.first + (after + k) % range.count;
      if (s.vcs[v].credits >= (p_.whole_packets ? p->flits : 1)) s.vc = s.last_vc = v;
    }
    if (s.vc == none) return;
    ++in_flight_;
  }
  if (s.vcs[s.vc].credits == 0) return;
  --s.vcs[s.vc].credits;
  to_input_[p_.terminal[node]].push_back({{p, s.sent++, now_ + p_.ni_in}, s.vc});
  if (s.sent < p->flits) return;
  s.waiting.pop_front();
  s.sent = 0;
  s.vc = none;
}

void reference_network::route_heads(std::uint32_t router) {
  for (std::uint32_t i = router * p_.ports; i < (router + 1) * p_.ports; ++i) {
    for (std::uint32_t v = 0; v < p_.vcs; ++v) {
      input_vc& iv = in(i, v);
      if (iv.at != state::idle || iv.buffer.empty()) continue;
      const std::uint64_t arrival = iv.buffer.front().arrival;
      iv.ready = p_.overlap ? std::max(arrival + p_.routing + p_.vc_alloc, iv.front_since)
                            : std::max(arrival, iv.front_since) + p_.routing;
      iv.at = state::allocating;
    }
  }
}

void reference_network::allocate_vcs(std::uint32_t router) {
  const std::uint32_t first = router * p_.ports;
  const std::uint32_t inputs = p_.ports * p_.vcs;
  std::vector<std::vector<std::uint32_t>> grants(inputs);  // to an input VC, output VCs of the router
  std::vector<std::vector<std::uint32_t>> requests(inputs);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    input_vc& iv = in_[first * p_.vcs + i];
    if (iv.at != state::allocating || iv.ready > now_) continue;
    const hop h = p_.route(router, i % p_.vcs, *iv.buffer.front().packet);
    for (std::uint32_t k = 0; k < h.vcs.count; ++k) {
      const output_vc& ov = out(first + h.output, h.vcs.first + k);
      if (!ov.taken && ov.free_from <= now_) requests[h.output * p_.vcs + h.vcs.first + k].push_back(i);
    }
  }
  for (std::uint32_t o = 0; o < inputs; ++o) {
    if (requests[o].empty()) continue;
    const std::uint32_t pointer = out_[first * p_.vcs + o].pointer;
    const auto nearest = [&](std::uint32_t a, std::uint32_t b) {
      return (a + inputs - pointer) % inputs < (b + inputs - pointer) % inputs;
    };
    grants[*std::min_element(requests[o].begin(), requests[o].end(), nearest)].push_back(o);
  }
  for (std::uint32_t i = 0; i < inputs; ++i) {
    if (grants[i].empty()) continue;
    input_vc& iv = in_[first * p_.vcs + i];
    const auto nearest = [&](std::uint32_t a, std::uint32_t b) {
      return (a + inputs - iv.pointer) % inputs < (b + inputs - iv.pointer) % inputs;
    };
    const std::uint32_t o = *std::min_element(grants[i].begin(), grants[i].end(), nearest);
    output_vc& ov = out_[first * p_.vcs + o];
    ov.taken = true;
    ov.pointer = (i + 1) % inputs;
    iv.pointer = (o + 1) % inputs;
    iv.output = first + o / p_.vcs;
    iv.output_vc = o % p_.vcs;
    iv.at = state::active;
    iv.ready = now_ + p_.vc_alloc;
  }
}

/// Whether the VC's front flit could leave in this cycle, and by which output.
bool reference_network::may_send(std::uint32_t input, std::uint32_t vc, std::uint32_t& output) {
  input_vc& iv = in(input, vc);
  if (iv.buffer.empty() || iv.ready > now_) return false;
  const flit& f = iv.buffer.front();
  const reference_packet& p = *f.packet;
  if (p_.overlap && iv.at == state::allocating) {  // VC allocation is part of the switch allocation
    const hop h = p_.route(input / p_.ports, vc, p);
    output = input / p_.ports * p_.ports + h.output;
    if (free_vc(output, h, p) == none) return false;
  } else if (iv.at == state::active) {
    output = iv.output;
    const std::uint32_t needed = p_.whole_packets && f.head() ? p.flits : 1;
    if (out(output, iv.output_vc).credits < needed) return false;
  } else {
    return false;
  }
  if (!p_.hold) return true;
  const std::uint32_t c = p_.class_of_vc[vc];
  const std::uint32_t by = held_by_[output * classes + c];
  const std::uint32_t holds = holds_[input * classes + c];
  return (by == none || by == input * p_.vcs + vc) && (holds == none || holds == vc);
}

std::uint32_t reference_network::free_vc(std::uint32_t output, const hop& h, const reference_packet& p) {
  for (std::uint32_t k = 0; k < h.vcs.count; ++k) {
    const output_vc& ov = out(output, h.vcs.first + k);
    if (ov.taken || ov.free_from > now_) continue;
    if (ov.credits >= (p_.whole_packets ? p.flits : 1)) return h.vcs.first + k;
  }
  return none;
}

void reference_network::allocate_switch(std::uint32_t router) {
  const std::uint32_t first = router * p_.ports;
  const std::uint32_t n = p_.ports;
  std::vector<std::uint32_t> request(std::size_t{n} * n, none);  // [input][output] VC
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t k = 0; k < p_.vcs; ++k) {
      const std::uint32_t vc = (input_vc_rr_[first + i] + k) % p_.vcs;
      std::uint32_t output{};
      if (!may_send(first + i, vc, output)) continue;
      std::uint32_t& r = request[i * n + output - first];
      if (r == none) r = vc;
    }
  }
  std::vector<std::uint32_t> granted(n, none);  // [output] input
  for (std::uint32_t o = 0; o < n; ++o) {
    for (std::uint32_t k = 0; k < n && granted[o] == none; ++k) {
      const std::uint32_t i = (grant_rr_[first + o] + k) % n;
      if (request[i * n + o] != none) granted[o] = i;
    }
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t k = 0; k < n; ++k) {
      const std::uint32_t o = p_.port_per_vc ? k : (accept_rr_[first + i] + k) % n;
      if (granted[o] != i) continue;
      const std::uint32_t vc = request[i * n + o];
      grant_rr_[first + o] = (i + 1) % n;
      accept_rr_[first + i] = (o + 1) % n;
      input_vc_rr_[first + i] = (vc + 1) % p_.vcs;
      send(first + i, vc);
      if (!p_.port_per_vc) break;
    }
  }
}

void reference_network::send(std::uint32_t input, std::uint32_t vc) {
  input_vc& iv = in(input, vc);
  flit f = iv.buffer.front();
  if (p_.overlap && iv.at == state::allocating) {
    const hop h = p_.route(input / p_.ports, vc, *f.packet);
    iv.output = input / p_.ports * p_.ports + h.output;
    iv.output_vc = free_vc(iv.output, h, *f.packet);
    out(iv.output, iv.output_vc).taken = true;
    iv.at = state::active;
  }
  iv.buffer.pop_front();
  output_vc& ov = out(iv.output, iv.output_vc);
  --ov.credits;
  auto& upstream = feeder_[input] == none ? to_source_[input] : to_output_[feeder_[input]];
  upstream.push_back({now_ + p_.credit, vc});
  f.arrival = now_ + p_.switch_alloc + p_.traversal + p_.link;
  const std::uint32_t next = p_.neighbor[iv.output];
  (next == none ? to_node_[iv.output] : to_input_[next]).push_back({f, iv.output_vc});
  const std::uint32_t c = p_.hold ? p_.class_of_vc[vc] : 0;
  held_by_[iv.output * classes + c] = f.tail() ? none : input * p_.vcs + vc;
  holds_[input * classes + c] = f.tail() ? none : vc;
  if (!f.tail()) return;
  ov.taken = false;
  ov.free_from = now_ + 1;
  iv.at = state::idle;
  iv.front_since = now_ + 1;
}

}  // namespace diecast::test
