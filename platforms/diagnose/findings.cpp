// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/findings.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <map>
#include <utility>

namespace diecast::diagnose {
namespace {

using nlohmann::json;

/// A core is slow below its configured clock by this factor: clocks are exact.
constexpr double slow_core_factor = 1.5;
/// Credits are short and have priority: in a healthy machine they take little longer than on an idle fabric.
constexpr double late_ns = 1000;
constexpr double idle_factor = 10;  ///< times of the latency of an idle fabric
/// Corrupted frames beyond what the bit error rate explains.
constexpr double error_factor = 10;

/// The PE that most problems name: those that are wired to a wrongly wired PE are named, too, but less often.
std::string most_blamed(const json& problems) {
  std::map<std::string, std::size_t> blamed;
  for (const json& p : problems)
    for (const json& pe : p.value("pes", json::array())) ++blamed[pe.get<std::string>()];
  const auto most = std::ranges::max_element(blamed, {}, [](const auto& b) { return b.second; });
  return most == blamed.end() ? "" : most->first;
}

void refused(const observation& o, std::vector<finding>& found) {
  const bool wiring = has_problem(o, "wrong_install");
  finding f = made(wiring ? "wrong_install" : "config_error", wiring ? most_blamed(o.problems) : "",
                   {{}, o.complaint()}, wiring ? "correct the install plan: --dump-install shows it" : "");
  found.push_back(std::move(f));
}

std::uint64_t address_in(const json& j, const char* key) {
  constexpr int hexadecimal = 16;
  return std::strtoull(j.value(key, std::string{}).c_str(), nullptr, hexadecimal);
}

/// The message in flight that has that sequence number, and the sender and slot ring of `fault`; null if
/// none.
const json* message_in_flight(const observation& o, const json& fault, const char* sequence) {
  if (!o.flight.contains("in_flight") || !fault.contains(sequence)) return nullptr;
  const std::uint64_t first = address_in(fault, "first_pa"), end = address_in(fault, "end_pa");
  for (const json& f : o.flight["in_flight"]) {
    const std::uint64_t address = address_in(f, "address_pa");
    if (f.value("kind", "") == "message" && f.value("sequence", json()) == fault[sequence] &&
        address >= first && address < end && f.value("from", "") == fault.value("sender", ""))
      return &f;
  }
  return nullptr;
}

/// Class of a fault, a text before its message, and a workaround.
struct reading {
  std::string kind, remark{}, workaround{};
};

/// A token that is not the next one of its slot ring.
reading of_token(const observation& o, const json& fault) {
  const auto got = fault.value("sequence", std::uint64_t{}),
             expected = fault.value("expected", std::uint64_t{});
  if (got < expected) return {"duplicate", fmt::format("message {} arrived twice: ", got)};
  if (message_in_flight(o, fault, "expected") != nullptr)
    return {"reorder", fmt::format("message {} arrived while {} was still in flight: ", got, expected)};
  return {"drop", fmt::format("message {} arrived, {} is missing: ", got, expected)};
}

/// A packet of a message whose first packet is missing: overtaken, or lost.
reading without_first(const observation& o, const json& fault) {
  const json* const message = message_in_flight(o, fault, "sequence");
  const bool late = message != nullptr && message->value("first_packet_under_way", false);
  return late ? reading{"reorder", "the first packet is still in flight: "}
              : reading{"drop", "a packet of a message is lost or late: "};
}

reading of_packet_number(const observation&, const json& fault) {
  const bool again = fault.value("sequence", std::uint64_t{}) < fault.value("expected", std::uint64_t{});
  return {again ? "duplicate" : "gap"};
}

reading read_fault(const observation& o, const json& fault) {
  using rule = std::function<reading(const observation&, const json&)>;
  const auto is = [](reading r) { return [r](const observation&, const json&) { return r; }; };
  static const std::map<std::string, rule> rules{
      {"checksum_mismatch", is({"bit_flip"})},
      {"bad_call", is({"dispatch_corruption", "", "comm.mr_cache_monitor=disabled"})},
      {"tag_list_contradiction", is({"tag_list_race", "", software_matching})},
      {"token_sequence", of_token},
      {"credit_rejected", is({"overtaken_credit", "a credit arrived after a later one: "})},
      {"no_open_message", without_first},
      {"surplus_bytes", is({"duplicate"})},
      {"packet_number", of_packet_number},
      {"interleaved_messages", is({"reorder", "packets of two messages of one sender are interleaved: "})},
      {"unexpected_answer", is({"duplicate"})},
      {"unknown_send", is({answered_twice, "a message was answered twice: "})},
      {"messages_left", is({left_over})}};
  const auto at = rules.find(fault.value("kind", std::string{}));
  return at == rules.end() ? reading{"unexplained_fault"} : at->second(o, fault);
}

void faulted(const observation& o, std::vector<finding>& found) {
  const json fault = o.fault();
  const reading r = read_fault(o, fault);
  evidence shown{{}, r.remark + o.complaint()};
  const std::string where = pe_or_cube(fault.value("place", std::string{}));
  for (const std::string& pe : {where, fault.value("sender", std::string{})})
    if (!parts_of_path(pe).pe.empty()) shown.pes.push_back(pe);
  shown.links = fault.value("links", std::vector<std::string>{});
  found.push_back(made(r.kind, where, std::move(shown), r.workaround));
}

/// Whether nothing moves in the machine while packets are in its fabric.
bool stands_still(const observation& o) {
  if (o.exit_code != 3 || !o.deadlock.value("still", false)) return false;
  for (const json& f : o.deadlock.value("in_flight", json::array()))
    if (f.value("in_fabric", false)) return true;
  return false;
}

/// The only result of a barrier: whether a member left too early.
void escaped(const observation& o, std::vector<finding>& found) {
  const json fault = o.fault();
  if (fault.value("kind", "") == "barrier_left_early")
    found.push_back(made("premature_barrier", fault.value("place", std::string{}), {{}, o.complaint()}));
}

/// Places where more packets arrived than were sent, or fewer.
void counted(const observation& o, std::vector<finding>& found) {
  const bool stuck = stands_still(o);
  // Where firmware polls memory, a packet is in flight whenever the run ends.
  const bool polls = !o.deadlock.value("signals", json::array()).empty();
  const bool at_rest = o.exit_code == 0 || o.exit_code == 1 || (o.exit_code == 3 && !polls);
  for (const measurement& m : o.health) {
    if (m.measure != "packets") continue;
    const bool on_a_link = parts_of_path(m.where).pe.empty();
    evidence shown{{}, fmt::format("{} of {} packets came at {}", m.value, m.expected, m.where)};
    if (!on_a_link) shown.pes.push_back(m.where);
    if (m.value > m.expected) {
      found.push_back(made("duplicate", m.where, std::move(shown)));
      found.back().counted = true;
    } else if (at_rest) {
      found.push_back(made(stuck && on_a_link ? "link_down" : "missing_packets", m.where, std::move(shown)));
      found.back().hidden = right(o);
      found.back().counted = true;
    }
  }
}

std::string text_of(const json& j, const char* key) {
  return j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : "";
}

/// Whether every packet that was sent and counted has arrived: then no message was lost in the fabric.
bool all_came(const observation& o) {
  const auto short_of = [](const measurement& m) { return m.measure == "packets" && m.value < m.expected; };
  return !o.health.empty() && std::ranges::none_of(o.health, short_of);
}

void hung_by_wait(const json& wait, bool came, std::vector<finding>& found) {
  const std::string cause = text_of(wait, "cause"), where = text_of(wait, "waiter"), on = text_of(wait, "on");
  if (cause == "signal") return;  // polled() knows more
  evidence shown{{},
                 fmt::format("{} {} waits for {}; cause {} at {}{}", where, text_of(wait, "direction"),
                             text_of(wait, "for"), cause, on,
                             wait.contains("where") ? " (" + text_of(wait, "where") + ")" : ""),
                 {where, on}};
  const char* kind = "hang";
  if (cause == "lost_credit") kind = "lost_credit";
  if (cause == "unwired") kind = "wrong_install";
  if (cause == "in_flight") kind = wait.value("in_fabric", false) ? "stuck_packets" : "half_message";
  if (cause == "lost_message") {
    const bool part = text_of(wait, "in_flight_state") == "part_arrived";
    kind = part ? "half_message" : came ? "miscounted_message" : "drop";
    if (!part && came) shown.text += "; every packet that left came";
  }
  found.push_back(made(kind, where, std::move(shown)));
}

/// Findings of waits for signals in global memory, from the contents of caches and memory.
void polled(const observation& o, std::vector<finding>& found) {
  struct row {
    const char *finding, *kind, *blamed;
  };
  for (const json& s : o.deadlock.value("signals", json::array()))
    for (const row& r :
         {row{"stale line", "stale_cache_line", "waiter"}, row{"unanswered load", "stuck_packets", "waiter"},
          row{"unflushed signal", "signal_without_flush", "writer"},
          row{"lost signal", "lost_signal", "waiter"}, row{"counts apart", "counts_apart", "waiter"},
          row{"overlooked signal", "infinite_poll", "waiter"}})
      if (text_of(s, "finding") == r.finding)
        found.push_back(made(r.kind, text_of(s, r.blamed), {{}, text_of(s, "text")}));
}

/// Whether a receiver waits for a message whose sender waits for its receipt: then the message is lost, and
/// the order of operations is right.
bool lost_between(const json& waits) {
  const auto is = [](const json& wait, std::initializer_list<const char*> operations) {
    const std::string what = text_of(wait, "operation");
    return std::ranges::find(operations, what) != operations.end();
  };
  return std::ranges::any_of(waits, [&](const json& taker) {
    return is(taker, {"receive", "probe"}) && std::ranges::any_of(waits, [&](const json& sender) {
             return is(sender, {"send", "receipt"}) && text_of(sender, "waiter") == text_of(taker, "on") &&
                    text_of(sender, "on") == text_of(taker, "waiter");
           });
  });
}

void hung_in_circle(const json& waits, std::vector<finding>& found) {
  const bool lost = lost_between(waits);
  finding f = lost ? made("hang", text_of(waits.front(), "waiter"),
                          {{}, "the receiver waits for a message that the sender has sent"})
                   : made("deadlock_cycle", "", {{}, "the ranks wait for each other in a cycle"});
  for (const json& wait : waits) {
    const std::string direction = text_of(wait, "direction");
    f.evidence.push_back({{},
                          fmt::format("{} waits for {}: {}", text_of(wait, "waiter"), text_of(wait, "on"),
                                      direction.empty() ? text_of(wait, "operation") : direction)});
  }
  found.push_back(std::move(f));
}

/// Findings of a PE at which the waits of all others end, and which waits for no PE.
void hung_at(const std::string& pe, const observation& o, std::vector<finding>& found) {
  std::string state = "unknown", step;
  bool polls = false, misled = false;
  for (const json& p : o.deadlock.value("pes", json::array())) {
    if (text_of(p, "pe") != pe) continue;
    state = text_of(p, "state");
    step = text_of(p, "step");
    polls = p.value("polls", false);
    misled = p.value("in_sleep_routine", false);
  }
  const std::string where_it_is = fmt::format("{}, step '{}'", state, step);
  const auto add = [&](const char* kind, const std::string& text) {
    found.push_back(made(kind, pe, {{}, text + " (" + where_it_is + ")", {pe}}));
  };
  if (polls) return add("infinite_poll", pe + " polls");
  if (misled) {
    add("dispatch_corruption", pe + " runs a routine that nobody called");
    found.back().workaround = "comm.mr_cache_monitor=disabled";
    return;
  }
  // A PE that sleeps is not dead: it waits for a tag-matched message from any PE.
  if (state == "asleep") return add("hang", pe + " waits for a message");
  if (state == "done") return add("hang", fmt::format("others wait for {}, which has ended", pe));
  // A core whose access to memory waits in the fabric is not dead either. Polls, which are reads, may wait
  // there.
  bool held = false;
  for (const json& f : o.deadlock.value("in_flight", json::array()))
    held = held || (f.value("in_fabric", false) && text_of(f, "kind") == "write_request");
  add(held ? "stuck_packets" : "dead_pe",
      fmt::format("the waits of all others end at {}, which waits for nobody", pe));
}

void hung(const observation& o, std::vector<finding>& found) {
  if (o.deadlock.empty()) return found.push_back(made("hang", "", {{}, o.complaint()}));
  polled(o, found);
  for (const json& root : o.deadlock.value("roots", json::array())) {
    const std::string kind = text_of(root, "kind");
    if (kind == "fault") {
      for (const json& wait : root.value("waits", json::array())) hung_by_wait(wait, all_came(o), found);
    } else if (kind == "peer") {
      for (const json& member : root.value("members", json::array()))
        hung_at(member.get<std::string>(), o, found);
    } else {
      hung_in_circle(root.value("waits", json::array()), found);
    }
  }
}

link_state state_of(const measurement& rate, const observation& o) {
  const auto load = o.loads.find(rate.where);
  return judge(rate.value, rate.expected, load == o.loads.end() ? link_load{} : load->second);
}

void monitored(const observation& o, std::vector<finding>& found) {
  for (const measurement& m : o.health) {
    const auto add = [&](const char* kind, const std::string& text) {
      finding f = made(kind, m.where, {{}, text});
      f.part = m.part;
      f.hidden = right(o);
      found.push_back(std::move(f));
    };
    if (m.measure == "core_clock" && m.value * slow_core_factor < m.expected) {
      add("slow_pe", fmt::format("its core runs at {:.3f} GHz; configured: {:.3f} GHz", m.value, m.expected));
    } else if (m.measure == "link_rate" && state_of(m, o) == link_state::degraded) {
      add("link_degraded",
          fmt::format("packets arrive at {:.1f} GB/s; configured: {:.1f} GB/s", m.value, m.expected));
    } else if (m.measure == "crc_errors" && m.value > error_factor * m.expected) {
      add("bit_flip", fmt::format("{} frames arrived corrupted and were retransmitted; {:.2g} are expected "
                                  "at this bit error rate (replay hides the errors)",
                                  m.value, m.expected));
      found.back().hidden = true;
    } else if (m.measure == "credits_skipped") {
      add("lost_credit", fmt::format("{} credits lost (gap in credit sequence numbers)", m.value));
    } else if (m.measure == "credit_latency_max" && m.value > late_ns && m.value > idle_factor * m.expected) {
      add("late_credit", fmt::format("a credit took {:.0f} ns; through an idle fabric it takes {:.0f} ns",
                                     m.value, m.expected));
    } else if (m.measure == "credit_arrival" && m.value > late_ns + m.expected) {
      add("late_credit", fmt::format("a credit arrived {:.0f} ns after its release; at the configured "
                                     "latency it takes at most {:.0f} ns",
                                     m.value, m.expected));
    } else if (m.measure == "wrong_checksums") {
      add("bit_flip", fmt::format("{:.0f} packets arrived with a wrong checksum, {:.0f} were sent with one",
                                  m.value, m.expected));
    } else if (m.measure == "out_of_order") {
      add(disordered,
          fmt::format("{:.0f} packets arrived out of order within their flow, {:.0f} were sent out of order",
                      m.value, m.expected));
    }
  }
}

}  // namespace

finding made(std::string kind, std::string where, diagnose::evidence shown, std::string workaround) {
  return {std::move(kind), std::move(where), {}, false, false, {std::move(shown)}, std::move(workaround)};
}

bool has_link_in_doubt(const observation& o) {
  return std::ranges::any_of(o.health, [&o](const measurement& m) {
    return m.measure == "link_rate" && state_of(m, o) == link_state::in_doubt;
  });
}

bool names(const std::vector<finding>& findings, const std::string& kind) {
  return std::ranges::find(findings, kind, &finding::kind) != findings.end();
}

std::vector<finding> signs_of(const observation& o) {
  std::vector<finding> found;
  if (o.timed_out) return found;
  if (o.exit_code == 2) refused(o, found);
  if (o.exit_code == 4) faulted(o, found);
  if (o.exit_code == 3) hung(o, found);
  if (o.exit_code == 1) escaped(o, found);
  if (o.exit_code == 70 || o.exit_code == -1)
    found.push_back(made("internal_error", "", {{}, o.complaint()}));
  counted(o, found);
  monitored(o, found);
  for (finding& f : found)
    for (evidence& e : f.evidence) e.experiment = o.name;
  return found;
}

}  // namespace diecast::diagnose
