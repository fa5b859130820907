// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/wait_text.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/abi/firmware_tasks.hpp"
#include "models/analysis/wait_for.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::analysis {

const char* to_string(flight_state s) { return enum_name(s); }

const char* to_string(wait_kind k) { return enum_name(k); }

const char* to_string(wait_cause c) { return enum_name(c); }

const char* to_string(root_kind k) { return enum_name(k); }

std::string present_step(const pe_dump& pe) {
  std::vector<std::string> steps;
  for (const abi::firmware_task& t : pe.tasks.live()) {
    std::string step = t.step();
    const bool known = step.empty() || std::ranges::find(steps, step) != steps.end();
    if (!known && !pe.tasks.has_children(t.id)) steps.push_back(std::move(step));
  }
  std::string text = fmt::format("{}", fmt::join(steps, ", "));
  for (const abi::operation_note& n : pe.awaits) {
    if (n.kind != abi::operation_kind::barrier) continue;  // steps of messages contain this text
    text += fmt::format("{}{}", text.empty() ? "" : ": ", abi::describe(n));
  }
  return text;
}

std::string step_of(const pe_dump& pe, abi::task_id task) {
  const abi::firmware_task* const found = pe.tasks.find(task);
  std::string text = found == nullptr ? std::string{} : found->step();
  for (const abi::operation_note& n : pe.awaits) {
    if (n.kind != abi::operation_kind::barrier || n.task != task) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ": ", abi::describe(n));
  }
  return text;
}

namespace {

using protocol::queue_pair_state;

const char* state_text(events::core_state s) {
  switch (s) {
    case events::core_state::idle: return "was never started";
    case events::core_state::waiting_start: return "waits for its start time";
    case events::core_state::running: return "is running or polling";
    case events::core_state::asleep: return "sleeps, but for none of its queue pairs";
    case events::core_state::done: return "has finished its kernel";
  }
  return "is in an unknown state";
}

/// Lines of a summary; the one in front of it, which says when, makes ten on stderr.
constexpr std::ptrdiff_t summary_lines = 9;
/// Lines of a report's head that state the first root and its hint.
constexpr std::ptrdiff_t root_lines = 3;

std::ptrdiff_t lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

std::string first_lines(const std::string& text, std::ptrdiff_t lines) {
  std::size_t end = 0;
  for (std::ptrdiff_t i = 0; i < std::min(lines, lines_of(text)); ++i) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

/// What is known of words in memory, and the roots.
std::string summary_of(const std::string& words, const std::string& head) {
  constexpr std::ptrdiff_t kept = summary_lines - 1;
  const std::string first = first_lines(words, kept - std::min(root_lines, lines_of(head)));
  const std::ptrdiff_t more = lines_of(words) + lines_of(head) - kept;
  return first + first_lines(head, kept - lines_of(first)) +
         fmt::format("{}all waits and the queue pairs: see deadlock.json (written with --out)",
                     more > 0 ? fmt::format("and {} more lines, ", more) : "");
}

/// The roots, waits and pointers as text.
class writer {
 public:
  writer(const machine_shape& shape, const stopped_machine& machine, const comm::direction_namer& names)
      : shape_(shape), machine_(machine), dumps_(machine.pes), names_(names) {}

  std::string head(const wait_for_report& r) const {
    const auto open = std::ranges::count_if(dumps_, [](const pe_dump& d) {
      return d.state != events::core_state::done && d.state != events::core_state::idle;
    });
    std::string text = fmt::format("{} of {} PEs are not finished{}; {} waits\n", open, dumps_.size(),
                                   machine_.still ? " and nothing moves" : "", r.edges.size());
    for (const wait_root& root : r.roots) text += describe(root);
    if (r.roots.empty()) {
      text += machine_.still    ? "root: none found: no PE has stopped and no queue pair has a waiter\n"
              : r.edges.empty() ? "root: none: no PE waits\n"
                                : "root: none: the awaited messages may still arrive\n";
    }
    return text;
  }
  std::string rest(const wait_for_report& r) const {
    std::string text = "waits:\n";
    for (const wait_edge& e : r.edges) text += "  " + describe(e) + step_text(e.step) + "\n";
    return text + "queue pairs not at rest:\n" + pointer_dump(shape_, dumps_, names_);
  }

 private:
  std::string name(pe_coord pe, comm::direction d) const {
    return fmt::format("{} {}", pe_path(shape_, pe), names_(pe, d));
  }
  const pe_dump& dump_of(pe_coord pe) const {
    return *std::ranges::lower_bound(dumps_, pe, {}, &pe_dump::pe);
  }
  static std::string step_text(const std::string& step) {
    return step.empty() ? "" : fmt::format(" (step {})", step);
  }
  std::string rx_base(const wait_edge& e) const {
    const queue_pair_state& s = dump_of(e.waiter).queue_pairs[e.dir];
    return fmt::format("{:#018x}", e.kind == wait_kind::receive ? s.rx_base : s.peer_rx_base);
  }

  std::string describe(const wait_edge& e) const {
    if (e.kind == wait_kind::copy)
      return fmt::format("{} waits for its own DMA to finish a copy", pe_path(shape_, e.waiter));
    if (e.kind == wait_kind::memory) return describe_memory(e);
    if (e.kind == wait_kind::message) return describe_message(e);
    const std::string who = name(e.waiter, e.dir);
    const std::string other = name(e.on, e.on_dir);
    const bool receive = e.kind == wait_kind::receive;
    if (e.cause == wait_cause::own_dma)
      return fmt::format("{} waits for its own DMA to read the source of a send", who);
    std::string wait = fmt::format("{} waits for {} ring {}", who,
                                   receive ? "a message in its" : "a free slot in", rx_base(e));
    switch (e.cause) {
      case wait_cause::peer:
        return receive ? fmt::format("{} from {}", wait, other)
                       : fmt::format("{}, which {} has not released", wait, other);
      case wait_cause::in_flight:
        return fmt::format("{}; {} has {} {}, the next is {}", wait, other, receive ? "sent" : "released",
                           e.missing, e.where);
      case wait_cause::lost_message:
        return e.where.empty()
                   ? fmt::format("{}; {} has sent {} that never became visible there", wait, other, e.missing)
                   : fmt::format("{}; {} has sent {}, the next is {} and nothing of it is in flight", wait,
                                 other, e.missing, e.where);
      case wait_cause::lost_credit:
        return fmt::format("{}; {} has released {} whose credit never took effect", wait, other, e.missing);
      case wait_cause::unwired:
        return fmt::format("{}, which no queue pair {}", wait, receive ? "writes" : "owns");
      case wait_cause::signal:  // a word in memory: no queue pair
      case wait_cause::ended:   // a tag-matched message: no queue pair
      case wait_cause::own_dma: break;
    }
    return wait;
  }

  /// A word that a PE's firmware polls, in global memory or else in the TCM.
  std::string describe_memory(const wait_edge& e) const {
    const pe_dump& pe = dump_of(e.waiter);
    const std::string word =
        pe.watches ? fmt::format("waits until the word at {} is {} {}{}", abi::describe(pe.watches->at),
                                 abi::to_string(pe.watches->how), pe.watches->value,
                                 pe.watches->or_next ? " or the next" : "")
                   : fmt::format("polls the word at {:#x} of its TCM until it is {} {}", pe.polls->tcm_offset,
                                 abi::to_string(pe.polls->how), pe.polls->value);
    return fmt::format("{} {}, which {} is expected to {}{}", pe_path(shape_, e.waiter), word,
                       pe_path(shape_, e.on), pe.watches ? "set" : "write",
                       e.cause == wait_cause::unwired  ? " and has no part in this run"
                       : e.cause == wait_cause::signal ? "; " + to_string(*defect_of(machine_, e.waiter))
                                                       : "");
  }

  std::string describe_message(const wait_edge& e) const {
    const abi::operation_note& n = *e.operation;
    const std::string who = pe_path(shape_, e.waiter), other = pe_path(shape_, e.on);
    const std::string tag = abi::tag_text(n.tag, n.group);
    const std::string part = e.cause == wait_cause::ended     ? ", which has ended"
                             : e.cause == wait_cause::unwired ? ", which has no part in this run"
                             : e.cause == wait_cause::in_flight
                                 ? fmt::format("; a packet between them is {}", e.where)
                                 : "";
    switch (n.kind) {
      case abi::operation_kind::send:
        return fmt::format("{} waits for the end of a send to {}, {}, {} bytes{}", who, other, tag, n.bytes,
                           part);
      case abi::operation_kind::receipt:
        return fmt::format("{} waits until {} has taken {} more of its messages{}", who, other, n.count,
                           part);
      default:
        return fmt::format(
            "{} waits for a message of {}, {}{}{}", who, other, tag,
            n.kind == abi::operation_kind::probe ? "" : fmt::format(", at most {} bytes", n.bytes), part);
    }
  }

  static bool takes_any(const pe_dump& pe) {
    return std::ranges::any_of(pe.awaits, [](const abi::operation_note& n) {
      return n.kind != abi::operation_kind::barrier && !n.peer;
    });
  }

  /// The first thing to check.
  std::string advice(const wait_root& root) const {
    const auto all = [&](wait_kind kind) {
      return std::ranges::all_of(root.waits, [kind](const wait_edge& e) { return e.kind == kind; });
    };
    if (root.kind == root_kind::cycle && all(wait_kind::send_space)) {
      return "every PE of it sends more before it receives than its ring holds: send and receive slot by "
             "slot (exchange), or raise ipcq.n_slots";
    }
    if (root.kind == root_kind::cycle && all(wait_kind::message))
      return "compare the peers and tags of their sends and receives; where both ends name the same message, "
             "it is lost";
    if (root.kind == root_kind::cycle && all(wait_kind::receive))
      return "every PE of it receives before it sends: let one of them send first";
    if (root.kind == root_kind::cycle && all(wait_kind::memory))
      return "each waits for a word that another one of them sets: compare what caches and memory hold of "
             "it, and the counts of their barriers";
    if (root.kind == root_kind::cycle)
      return "sends and receives of these PEs do not alternate in the same order: compare their steps";
    if (root.kind == root_kind::peer && dump_of(root.members[0]).state == events::core_state::done)
      return "the operation was done but not seen, or the program lacks it: check the waiting PE";
    if (root.kind == root_kind::peer && takes_any(dump_of(root.members[0])))
      return "it takes messages of any rank: compare the tags of the sends to it; where one fits, it is lost";
    if (root.kind == root_kind::peer && machine_.still &&
        dump_of(root.members[0]).state == events::core_state::running)
      return "its core has stopped, waits for memory, or polls for a value that does not come: check its "
             "step";
    if (root.kind == root_kind::peer)
      return root.waits.empty() ? "it has not finished and waits for no queue pair: check its step"
                                : "its program lacks the call that these waits need, or has not reached it";
    switch (root.waits.front().cause) {
      case wait_cause::lost_message:
        if (root.waits.front().flight == flight_state::part_arrived)
          return "one of the message's packets was lost, or arrived twice";
        return "the token was counted on another queue pair (ipcq.match), or the packet was lost";
      case wait_cause::lost_credit:
        return "the credit was counted on another queue pair (ipcq.match), or the packet was lost";
      case wait_cause::unwired:
        if (root.waits.front().kind == wait_kind::message)
          return "its peer takes no part in the run: check the program";
        return "the two ends were installed differently: see --dump-install";
      case wait_cause::signal:
        return "compare what caches and memory hold of the word: see signals of deadlock.json";
      case wait_cause::ended:
        return "its peer's program has no such call, or names another tag; or a message is lost";
      case wait_cause::in_flight:
        if (root.waits.front().flight == flight_state::held_behind)
          return "a packet of the earlier message was lost, or arrived twice";
        return "the packet does not move: check what blocks it there";
      default:
        return "the DMA engine makes no progress: check what stops its packets, and the memory that it reads";
    }
  }

  std::string describe(const wait_root& root) const {
    std::string text;
    switch (root.kind) {
      case root_kind::fault: text = "root: " + describe(root.waits[0]) + step_text(root.step) + "\n"; break;
      case root_kind::peer: {
        const pe_coord pe = root.members[0];
        text = fmt::format("root: {} {}{}; {} waits end there\n", pe_path(shape_, pe),
                           state_text(dump_of(pe).state), step_text(root.step), root.waits.size());
        break;
      }
      case root_kind::cycle: text = fmt::format("root: a cycle of {} waits\n", root.waits.size()); break;
    }
    // A run that was cut off need not be stuck; then no hint applies.
    text += (machine_.still ? "  hint: " : "  hint, if it makes no progress: ") + advice(root) + "\n";
    if (root.kind != root_kind::cycle) return text;
    for (const wait_edge& e : root.waits) text += "  " + describe(e) + step_text(e.step) + "\n";
    return text;
  }

  const machine_shape& shape_;
  const stopped_machine& machine_;
  const std::vector<pe_dump>& dumps_;
  const comm::direction_namer& names_;
};

}  // namespace

void write_waits(const machine_shape& shape, const stopped_machine& machine,
                 const comm::direction_namer& names, wait_for_report& report) {
  const writer w(shape, machine, names);
  const std::string head = w.head(report);
  report.text = head + w.rest(report);
  const bool known = !report.roots.empty() && report.roots[0].kind == root_kind::fault;
  report.summary = summary_of(explain_words(shape, machine.words, known ? 0 : 4), head);
}

std::string pointer_dump(const machine_shape& shape, const std::vector<pe_dump>& dumps,
                         const comm::direction_namer& names) {
  std::string text;
  for (const pe_dump& d : dumps) {
    bool named = false;
    for (std::size_t i = 0; i < d.queue_pairs.size(); ++i) {
      if (d.queue_pairs[i].at_rest()) continue;
      if (!named) text += pe_path(shape, d.pe) + "\n";
      named = true;
      text += protocol::describe(names(d.pe, static_cast<comm::direction>(i)), d.queue_pairs[i]) + "\n";
    }
  }
  return text;
}

}  // namespace diecast::analysis
