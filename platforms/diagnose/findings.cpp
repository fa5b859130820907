// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/findings.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace diecast::diagnose {
namespace {

using nlohmann::json;

/// How much slower than promised a core must be to be called so: a clock is exact.
constexpr double slow_core_factor = 1.5;
/// Credits are short and go first: in a healthy machine they take little more than through an idle fabric.
constexpr double late_ns = 1000;
constexpr double idle_factor = 10;  ///< of its way through an idle fabric
/// Corrupted frames beyond what the bit error rate explains.
constexpr double error_factor = 10;

/// `where`: a path, and what part of it behind a space: "pod.sip0.cube_0_0.pe1 W".
finding make(std::string kind, const std::string& where, std::string evidence) {
  finding f;
  f.kind = std::move(kind);
  const std::size_t space = where.find(' ');
  f.where = where.substr(0, space);
  if (space != std::string::npos) f.part = where.substr(space + 1);
  f.evidence.push_back(std::move(evidence));
  return f;
}

std::optional<std::smatch> matched(const std::string& text, const char* pattern) {
  std::smatch m;
  if (!std::regex_search(text, m, std::regex(pattern))) return std::nullopt;
  return m;
}
/// A match lies in the text it was found in.
std::optional<std::smatch> matched(const std::string&& text, const char* pattern) = delete;

/// The instance a complaint begins with.
std::string instance_of(const std::string& complaint) {
  const auto m = matched(complaint, R"((pod\.sip\d+\.cube_\d+_\d+(?:\.pe\d+)?|sip\d+\.cube\d+\.pe\d+))");
  return m ? m->str(1) : "";
}

/// The PE that most complaints name, of several the one named most often: who is wired to a PE that is wired
/// wrongly complains, too, but not of each other.
std::string most_blamed(const std::string& complaints) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> blamed;  // by PE: complaints, times
  std::istringstream lines(complaints);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> pes = pes_in(line);
    for (const std::string& pe : pes) ++blamed[pe].second;
    for (const std::string& pe : std::set(pes.begin(), pes.end())) ++blamed[pe].first;
  }
  const auto most = std::max_element(blamed.begin(), blamed.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == blamed.end() ? "" : most->first;
}

void refused(const observation& o, std::vector<finding>& found) {
  const std::string& e = o.errors;
  const bool wiring = e.find("receive rings overlap") != std::string::npos ||
                      e.find("(I3") != std::string::npos || e.find("not paired with it") != std::string::npos;
  finding f = make(wiring ? "wrong_install" : "config_error", wiring ? most_blamed(e) : "", o.complaint());
  if (wiring) f.workaround = "correct the install plan: --dump-install shows it";
  found.push_back(std::move(f));
}

/// SIP and PE of "sip1.cube0.pe3" or "pod.sip1.cube_0_0.pe3", by which a complaint and a flight name a
/// sender; the cube is numbered in one and has coordinates in the other.
std::pair<std::string, std::string> sip_and_pe(const std::string& name) {
  static const std::regex parts(R"(sip(\d+)\..*pe(\d+))");
  std::smatch m;
  return std::regex_search(name, m, parts) ? std::pair{m.str(1), m.str(2)}
                                           : std::pair<std::string, std::string>{};
}

std::uint64_t number_of(const std::string& text, int base = 10) {
  return std::strtoull(text.c_str(), nullptr, base);
}

/// Addresses of a ring, or of one slot of it.
struct addresses {
  std::uint64_t first{}, end{};
};

/// Message `sequence` from a PE into a ring, as the list of what is under way has it; null when it is not
/// there.
const json* message_under_way(const observation& o, std::uint64_t sequence, const std::string& from,
                              addresses to) {
  if (!o.flight.is_object() || !o.flight.contains("in_flight")) return nullptr;
  constexpr int hexadecimal = 16;
  for (const json& f : o.flight["in_flight"]) {
    const std::uint64_t address = number_of(f.value("address_pa", ""), hexadecimal);
    if (f.value("kind", "") == "message" && f.value("sequence", std::uint64_t{}) == sequence &&
        address >= to.first && address < to.end && sip_and_pe(f.value("from", "")) == sip_and_pe(from))
      return &f;
  }
  return nullptr;
}

/// The ring that the complaint of a token is about, as the queue pairs below it are dumped.
std::optional<addresses> ring_of(const observation& o) {
  const std::string complaint = o.complaint();
  const auto direction = matched(complaint, R"(: matched (\w+), but )");
  if (!direction) return std::nullopt;
  const std::string row =
      R"(\n +)" + direction->str(1) + R"( .*rx_base (0x[0-9a-f]+) peer_rx_base .* \((\d+) x (\d+) B\))";
  const auto ring = matched(o.errors, row.c_str());
  if (!ring) return std::nullopt;
  constexpr int hexadecimal = 16;
  const std::uint64_t first = number_of(ring->str(1), hexadecimal);
  return addresses{first, first + number_of(ring->str(2)) * number_of(ring->str(3))};
}

/// Whether message `sequence` of the sender and ring that the complaint of a token names is under way.
bool is_in_flight(const observation& o, std::uint64_t sequence) {
  const std::string complaint = o.complaint();
  const auto sender = matched(complaint, R"(token for .*sent by (\S+))");
  const auto ring = ring_of(o);
  return sender && ring && message_under_way(o, sequence, sender->str(1), *ring) != nullptr;
}

/// A packet of a message whose first one is not there: overtaken, or lost.
void without_first(const observation& o, const std::string& where, std::vector<finding>& found) {
  const std::string complaint = o.complaint();
  const auto m = matched(complaint, R"(of message (\d+) from (\S+) to (0x[0-9a-f]+))");
  const json* message = nullptr;
  if (m) {
    constexpr int hexadecimal = 16;
    const std::uint64_t slot = number_of(m->str(3), hexadecimal);
    message = message_under_way(o, number_of(m->str(1)), m->str(2), {slot, slot + 1});
  }
  const bool late = message != nullptr && message->value("first_packet_under_way", false);
  found.push_back(late ? make("reorder", where, "the first packet is still in flight: " + complaint)
                       : make("drop", where, "a packet of a message is lost or late: " + complaint));
}

/// A token that is not the next one of its ring.
void wrong_sequence(const observation& o, const std::smatch& m, std::vector<finding>& found) {
  const std::uint64_t got = number_of(m.str(1));
  const std::uint64_t expected = number_of(m.str(2));
  const std::string where = instance_of(o.complaint());
  if (got < expected) {
    found.push_back(
        make("duplicate", where, fmt::format("message {} arrived twice: {}", got, o.complaint())));
  } else if (is_in_flight(o, expected)) {
    found.push_back(make(
        "reorder", where,
        fmt::format("message {} arrived while {} was still in flight: {}", got, expected, o.complaint())));
  } else {
    found.push_back(make("drop", where,
                         fmt::format("message {} arrived, {} is missing: {}", got, expected, o.complaint())));
  }
}

void faulted(const observation& o, std::vector<finding>& found) {
  const std::string complaint = o.complaint();
  const std::string where = instance_of(complaint);
  if (const auto m = matched(complaint, R"(checksum mismatch.*it came over (.*)$)")) {
    found.push_back(make("bit_flip", where, complaint));
  } else if (matched(complaint, "call through a bad entry: table")) {
    finding f = make("dispatch_corruption", where, complaint);
    f.workaround = "comm.mr_cache_monitor=disabled";
    found.push_back(std::move(f));
  } else if (matched(complaint, "tag shadow: ")) {
    finding f = make("tag_list_race", where, complaint);
    f.workaround = software_matching;
    found.push_back(std::move(f));
  } else if (const auto s = matched(complaint, R"(token for .* sequence (\d+),.*expected sequence (\d+))")) {
    wrong_sequence(o, *s, found);
  } else if (matched(complaint, "credit for ")) {
    found.push_back(make("overtaken_credit", where, "a credit arrived after a later one: " + complaint));
  } else if (matched(complaint, "of which no message is open here")) {
    without_first(o, where, found);
  } else if (matched(complaint, R"(\d+ bytes at offset \d+ of a message of)")) {
    found.push_back(make("duplicate", where, complaint));
  } else if (const auto n =
                 matched(complaint, R"(packet (\d+) of the tag-matched.* expected packet (\d+))")) {
    const bool again = std::stoull(n->str(1)) < std::stoull(n->str(2));
    found.push_back(make(again ? "duplicate" : "gap", where, complaint));
  } else if (matched(complaint, "of the same sender is half received")) {
    found.push_back(
        make("reorder", where, "packets of two messages of one sender are interleaved: " + complaint));
  } else if (matched(complaint, R"(answers read \d+, which is not open)")) {
    found.push_back(make("duplicate", where, complaint));
  } else if (matched(complaint, "TM_DONE names .* which is not open")) {
    found.push_back(make(answered_twice, where, "a message was answered twice: " + complaint));
  } else if (matched(complaint, R"(ends with \d+ messages that nobody received)")) {
    found.push_back(make(left_over, where, complaint));
  } else {
    found.push_back(make("unexplained_fault", where, complaint));
  }
}

/// Whether a flight's or a wait's place is a router or a link.
bool is_in_fabric(const std::string& where) {
  return where.find("in the fabric") != std::string::npos || where.find("held on") != std::string::npos;
}

/// Packets that stand somewhere in the fabric of a machine in which nothing moves.
bool stands_still(const observation& o) {
  if (o.exit_code != 3 || !o.deadlock.is_object() || !o.deadlock.value("still", false)) return false;
  for (const json& f : o.deadlock.value("in_flight", json::array())) {
    if (is_in_fabric(f.value("where", std::string{}))) return true;
  }
  return false;
}

/// Barriers give no other result than that nobody leaves too early.
void escaped(const observation& o, std::vector<finding>& found) {
  const auto m = matched(o.errors, R"(times a PE left the barrier too early: (\S+) .*)");
  if (m) found.push_back(make("premature_barrier", m->str(1), m->str(0)));
}

/// Packets that came and did not leave, or left and did not come.
void counted(const observation& o, std::vector<finding>& found) {
  const bool stuck = stands_still(o);
  // Where firmware polls memory, some packet is under way whenever the run ends.
  const bool polls = o.deadlock.is_object() && !o.deadlock.value("signals", json::array()).empty();
  const bool at_rest = o.exit_code == 0 || o.exit_code == 1 || (o.exit_code == 3 && !polls);
  for (const measurement& m : o.health) {
    if (m.measure != "packets") continue;
    const std::string text = fmt::format("{} of {} packets came at {}", m.value, m.expected, m.where);
    if (m.value > m.expected) {
      found.push_back(make("duplicate", m.where, text));
      found.back().counted = true;
    } else if (at_rest) {
      const bool on_a_link = m.where.find(".pe") == std::string::npos;
      found.push_back(make(stuck && on_a_link ? "link_down" : "missing_packets", m.where, text));
      found.back().hidden = right(o);
      found.back().counted = true;
    }
  }
}

std::string text_of(const json& j, const char* key) {
  return j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : "";
}

/// Whether every packet that left came, as far as the machine counts: then no message is lost on its way.
bool all_came(const observation& o) {
  const auto short_of = [](const measurement& m) { return m.measure == "packets" && m.value < m.expected; };
  return !o.health.empty() && std::none_of(o.health.begin(), o.health.end(), short_of);
}

void hung_by_wait(const json& wait, bool came, std::vector<finding>& found) {
  const std::string cause = text_of(wait, "cause");
  const std::string where = text_of(wait, "waiter");
  const std::string text = fmt::format(
      "{} {} waits for {}; cause {} at {}{}", where, text_of(wait, "direction"), text_of(wait, "for"), cause,
      text_of(wait, "on"), wait.contains("where") ? " (" + text_of(wait, "where") + ")" : "");
  if (cause == "lost_credit") return found.push_back(make("lost_credit", where, text));
  if (cause == "lost_message" && text_of(wait, "in_flight_state") == "part_arrived") {
    return found.push_back(make("half_message", where, text));
  }
  if (cause == "lost_message") {
    return found.push_back(came ? make("miscounted_message", where, text + "; every packet that left came")
                                : make("drop", where, text));
  }
  if (cause == "unwired") return found.push_back(make("wrong_install", where, text));
  if (cause == "in_flight") {
    const bool fabric = is_in_fabric(text_of(wait, "where"));
    return found.push_back(make(fabric ? "stuck_packets" : "half_message", where, text));
  }
  found.push_back(make("hang", where, text));
}

/// Waits for signals in global memory, and what caches and memory hold of them.
void polled(const observation& o, std::vector<finding>& found) {
  for (const json& s : o.deadlock.value("signals", json::array())) {
    const std::string what = text_of(s, "finding");
    if (what == "stale line")
      found.push_back(make("stale_cache_line", text_of(s, "waiter"), text_of(s, "text")));
    if (what == "unflushed signal")
      found.push_back(make("signal_without_flush", text_of(s, "writer"), text_of(s, "text")));
    if (what == "lost signal") found.push_back(make("lost_signal", text_of(s, "waiter"), text_of(s, "text")));
    if (what == "counts apart")
      found.push_back(make("counts_apart", text_of(s, "waiter"), text_of(s, "text")));
    if (what == "overlooked signal")
      found.push_back(make("infinite_poll", text_of(s, "waiter"), text_of(s, "text")));
  }
}

/// One end waits for a message, and the other end for it to be taken: it is lost, not the order wrong.
bool lost_between(const json& waits) {
  const auto is = [](const json& wait, std::initializer_list<const char*> operations) {
    const std::string what = text_of(wait, "operation");
    return std::find(operations.begin(), operations.end(), what) != operations.end();
  };
  return std::any_of(waits.begin(), waits.end(), [&](const json& taker) {
    return is(taker, {"receive", "probe"}) &&
           std::any_of(waits.begin(), waits.end(), [&](const json& sender) {
             return is(sender, {"send", "receipt"}) && text_of(sender, "waiter") == text_of(taker, "on") &&
                    text_of(sender, "on") == text_of(taker, "waiter");
           });
  });
}

void hung_in_circle(const json& waits, std::vector<finding>& found) {
  const bool lost = lost_between(waits);
  finding f = lost ? make("hang", text_of(waits.front(), "waiter"),
                          "the receiver waits for a message that the sender has sent")
                   : make("deadlock_cycle", "", "the ranks wait for each other in a cycle");
  for (const json& wait : waits) {
    const std::string direction = text_of(wait, "direction");
    f.evidence.push_back(fmt::format("{} waits for {}: {}", text_of(wait, "waiter"), text_of(wait, "on"),
                                     direction.empty() ? text_of(wait, "operation") : direction));
  }
  found.push_back(std::move(f));
}

/// The waits of all others end at a PE that waits for nobody.
void hung_at(const std::string& pe, const observation& o, std::vector<finding>& found) {
  std::string state = "unknown", step;
  for (const json& p : o.deadlock.value("pes", json::array())) {
    if (text_of(p, "pe") != pe) continue;
    state = text_of(p, "state");
    step = text_of(p, "step");
  }
  const std::string where_it_is = fmt::format("{}, step '{}'", state, step);
  if (text_of(o.deadlock, "text").find(pe + " polls") != std::string::npos) {
    return found.push_back(make("infinite_poll", pe, fmt::format("{} polls ({})", pe, where_it_is)));
  }
  if (state == "asleep" && step.starts_with("sleep, entered as ")) {
    finding f = make("dispatch_corruption", pe,
                     fmt::format("{} runs a routine that nobody called ({})", pe, where_it_is));
    f.workaround = "comm.mr_cache_monitor=disabled";
    return found.push_back(std::move(f));
  }
  // Who sleeps is not dead: it waits for what is in no queue pair, a tag-matched message of anybody.
  if (state == "asleep") {
    return found.push_back(make("hang", pe, fmt::format("{} waits for a message ({})", pe, where_it_is)));
  }
  if (state == "done") {
    return found.push_back(
        make("hang", pe, fmt::format("others wait for {}, which has ended ({})", pe, where_it_is)));
  }
  found.push_back(
      make("dead_pe", pe,
           fmt::format("the waits of all others end at {}, which waits for nobody ({})", pe, where_it_is)));
}

void hung(const observation& o, std::vector<finding>& found) {
  if (!o.deadlock.is_object()) return found.push_back(make("hang", "", o.complaint()));
  polled(o, found);
  for (const json& root : o.deadlock.value("roots", json::array())) {
    const std::string kind = text_of(root, "kind");
    if (kind == "fault") {
      for (const json& wait : root.value("waits", json::array())) hung_by_wait(wait, all_came(o), found);
    } else if (kind == "peer") {
      for (const json& member : root.value("members", json::array())) {
        hung_at(member.get<std::string>(), o, found);
      }
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
      finding f = make(kind, m.where, text);
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

bool has_link_in_doubt(const observation& o) {
  return std::any_of(o.health.begin(), o.health.end(), [&o](const measurement& m) {
    return m.measure == "link_rate" && state_of(m, o) == link_state::in_doubt;
  });
}

bool names(const std::vector<finding>& findings, const std::string& kind) {
  return std::any_of(findings.begin(), findings.end(), [&](const finding& f) { return f.kind == kind; });
}

std::vector<finding> signs_of(const observation& o) {
  std::vector<finding> found;
  if (o.timed_out) return found;
  if (o.exit_code == 2) refused(o, found);
  if (o.exit_code == 4) faulted(o, found);
  if (o.exit_code == 3) hung(o, found);
  if (o.exit_code == 1) escaped(o, found);
  if (o.exit_code == 70 || o.exit_code == -1) found.push_back(make("internal_error", "", o.complaint()));
  counted(o, found);
  monitored(o, found);
  const std::string of_run = o.name + ": ";
  for (finding& f : found) {
    for (std::string& text : f.evidence) text.insert(0, of_run);
  }
  return found;
}

void spell(std::vector<finding>& findings, const place_names& names) {
  for (finding& f : findings) f.where = names.spelled(f.where);
}

}  // namespace diecast::diagnose
