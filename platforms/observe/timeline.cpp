// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/timeline.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "models/abi/firmware_tasks.hpp"
#include "models/config/population.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"

namespace diecast::observe {
namespace {

using platforms::text_argument;
using platforms::track_id;

/// Groups: a cube's PEs, links and HBM, then the SIP links.
constexpr std::uint32_t groups_per_cube = 3;
constexpr std::uint32_t pe_group = 1, links_group = 2, hbm_group = 3;
constexpr std::size_t utilization_bins = 512;
constexpr sim_time first_bin = nanoseconds(16);

constexpr std::array kinds{fabric::link_kind::mesh, fabric::link_kind::inject, fabric::link_kind::eject,
                           fabric::link_kind::ucie, fabric::link_kind::sip};
constexpr std::array<const char*, kinds.size()> kind_names{"mesh", "inject", "eject", "ucie", "sip"};

std::uint32_t cube_number(const machine_shape& shape, std::uint32_t sip, std::uint32_t cube) {
  return sip * shape.cubes_per_sip() + cube;
}

/// Row of the utilization sums: cube and kind; SIP links of all SIPs share the last.
std::size_t usage_row(const machine_shape& shape, const fabric::link& l) {
  constexpr std::size_t per_cube = kinds.size() - 1;
  if (l.kind == fabric::link_kind::sip) return shape.cubes() * per_cube;
  const auto kind = static_cast<std::size_t>(std::ranges::find(kinds, l.kind) - kinds.begin());
  return cube_number(shape, l.sip, l.cube) * per_cube + kind;
}

std::string picoseconds_of(sim_time t) { return fmt::format("{:.3f}", t.ns() * 1e3); }

}  // namespace

timeline::timeline(const std::string& path, const config::machine_config& config,
                   const fabric::topology* topology, const comm::install_plan& plan,
                   comm::direction_namer names, instance_filter shown, std::uint32_t part)
    : shape_(config.shape()),
      topology_(topology),
      ends_(plan),
      names_(std::move(names)),
      glob_(config.trace.timeline_scope),
      shown_(std::move(shown)),
      part_(part),
      packets_left_(config.trace.timeline_packets),
      file_("--timeline", path, part > 0),
      next_flow_(std::uint64_t{part} << 40 | 1),
      usage_(shape_.cubes() * (kinds.size() - 1) + 1, utilization_bins, first_bin),
      link_counts_(shape_.cubes() * (kinds.size() - 1) + 1) {
  name_pes(plan);
  count_links();
}

bool timeline::in_scope(const std::string& path) const {
  return config::matches(glob_, path) && (!shown_ || shown_(path));
}

void timeline::name_pes(const comm::install_plan& plan) {
  for (const auto& q : plan.queue_pairs) {
    pe_track* const t = track_of(q.owner);
    if (t == nullptr) continue;
    if (!q.tx) continue;
    t->sends.emplace_back(q.dir, names_(q.owner, q.dir));
    t->credits[q.dir] = q.n_slots;  // installed before anything moves: all slots are free
  }
  for (const auto& [pe, t] : pes_) write_credits(t, pe.pe.value, {});
}

void timeline::count_links() {
  if (topology_ == nullptr) return;
  busy_until_.resize(topology_->links().size());
  for (const fabric::link& l : topology_->links())
    if (in_scope(l.name)) ++link_counts_[usage_row(shape_, l)];
}

/// The track of a PE in scope, named at its first use: a PE may run kernels without queue pairs.
timeline::pe_track* timeline::track_of(pe_coord pe) {
  const auto known = pes_.find(pe);
  if (known != pes_.end()) return &known->second;
  const std::string path = pe_path(shape_, pe);
  if (!in_scope(path)) return nullptr;
  pe_track& t = pes_[pe];
  t.at = {cube_number(shape_, pe.sip.value, pe.cube.value) * groups_per_cube + pe_group, pe.pe.value + 1};
  if (groups_.insert(t.at.group).second)
    file_.name_group(t.at.group, cube_path(shape_, pe.sip, pe.cube), t.at.group);
  file_.name_track(t.at, path.substr(path.rfind('.') + 1), t.at.row);
  return &t;
}

void timeline::end_step(pe_track& t, sim_time at) {
  if (!t.step) return;
  file_.slice(t.at, t.step->name, "step", t.step->since, at);
  t.step.reset();
}

void timeline::end_phase(pe_track& t, sim_time at, bool unfinished) {
  end_step(t, at);
  if (!t.phase) return;
  if (unfinished) {
    file_.slice(t.at, t.phase->name, "kernel", t.phase->since, at, {{"unfinished", "true"}});
  } else {
    file_.slice(t.at, t.phase->name, "kernel", t.phase->since, at);
  }
  t.phase.reset();
}

void timeline::on(const events::core_state_changed& e) {
  pe_track* const t = track_of(e.pe);
  if (t == nullptr) return;
  switch (e.state) {
    case events::core_state::waiting_start: t->phase = {e.at, "wait for the common start"}; break;
    case events::core_state::running:
      if (t->state != events::core_state::asleep) {
        end_phase(*t, e.at, false);
        t->phase = {e.at, "kernel"};
      }
      break;
    case events::core_state::asleep: t->asleep_since = e.at; break;
    case events::core_state::done: end_phase(*t, e.at, false); break;
    case events::core_state::idle: break;
  }
  t->state = e.state;
}

void timeline::on(const events::step_entered& e) {
  pe_track* const t = track_of(e.pe);
  if (t == nullptr) return;
  end_step(*t, e.at);
  t->step = {e.at, abi::step_text(e.name, e.index)};
}

void timeline::on_op_begun(pe_coord pe, std::uint32_t chain, const std::string& stream,
                           const std::string& name, sim_time at) {
  const pe_track* const t = track_of(pe);
  if (t == nullptr) return;
  constexpr std::uint32_t first_row = 1'000'000;  // rows below are PEs
  const auto [track, fresh] = op_tracks_.try_emplace({pe, chain});
  if (fresh) {
    track->second.at = {t->at.group, first_row + static_cast<std::uint32_t>(op_tracks_.size())};
    file_.name_track(track->second.at, fmt::format("pe{} {}", pe.pe.value, stream), t->at.row);
  }
  track->second.op = {at, name};
}

void timeline::on_op_ended(pe_coord pe, std::uint32_t chain, sim_time at) {
  const auto track = op_tracks_.find({pe, chain});
  if (track == op_tracks_.end()) return;  // the op's PE is not in scope
  file_.slice(track->second.at, track->second.op->name, "op", track->second.op->since, at);
  track->second.op.reset();
}

void timeline::on(const events::core_waited& e) {
  const pe_track* const t = track_of(e.pe);
  if (t == nullptr) return;
  using events::wait_cause;
  const bool of_queue =
      e.cause == wait_cause::data || e.cause == wait_cause::credit || e.cause == wait_cause::dma;
  std::string name = fmt::format("wait: {}", events::to_string(e.cause));
  if (of_queue) name += ' ' + names_(e.pe, e.qp);
  file_.slice(t->at, name, fmt::format("wait,{}", events::to_string(e.cause)), e.from, e.to,
              {{"cause", text_argument(events::to_string(e.cause))}, {"event_ps", picoseconds_of(e.raised)}});
}

void timeline::on(const events::core_worked& e) {
  const pe_track* const t = track_of(e.pe);
  if (t == nullptr) return;
  file_.slice(t->at, events::to_string(e.what), "work", e.from, e.to);
}

void timeline::write_credits(const pe_track& t, std::uint32_t pe, sim_time at) {
  if (t.sends.empty()) return;
  platforms::trace_events::arguments series;
  for (const auto& [dir, name] : t.sends) series.emplace_back(name, fmt::to_string(t.credits.at(dir)));
  file_.counter(t.at.group, fmt::format("pe{} credits", pe), at, series);
}

void timeline::on(const events::queue_pair_changed& e) {
  pe_track* const t = track_of(e.pe);
  if (t == nullptr) return;
  const auto at = t->credits.find(e.qp);
  if (at == t->credits.end() || at->second == e.free_credits) return;
  at->second = e.free_credits;
  write_credits(*t, e.pe.pe.value, e.at);
}

void timeline::on(const events::message_event& e) {
  const bool sent = e.phase == events::message_phase::sent;
  if (!sent && e.phase != events::message_phase::visible) return;
  const auto to = sent ? ends_.receiver_of({e.pe, e.qp}) : std::nullopt;
  const pe_track* const t = track_of(e.pe);
  if (t == nullptr) return;
  file_.instant(t->at, (sent ? "send " : "receive ") + names_(e.pe, e.qp), e.at,
                {{"bytes", fmt::to_string(e.bytes)}, {"sequence", fmt::to_string(e.sequence)}});
  if (to) {
    const std::string there = pe_path(shape_, to->pe);
    if (in_scope(there)) {
      flows_[*to].push_back({t->at, e.at, e.sequence});
    } else if (config::matches(glob_, there)) {
      leaving_.push_back({to->pe.sip, *to, t->at, e.at, e.sequence});
    }
  } else if (!sent) {
    auto& waiting = flows_[{e.pe, e.qp}];
    const auto mine = std::ranges::find(waiting, e.sequence, &flow::sequence);
    if (mine == waiting.end()) return;
    file_.flow(false, mine->from, next_flow_, mine->sent);
    file_.flow(true, t->at, next_flow_++, e.at);
    waiting.erase(mine);
  }
}

std::uint32_t timeline::link_group(const fabric::link& link) {
  const bool between_sips = link.kind == fabric::link_kind::sip;
  const std::uint32_t cube = between_sips ? shape_.cubes() : cube_number(shape_, link.sip, link.cube);
  const std::uint32_t group = cube * groups_per_cube + links_group;
  if (groups_.insert(group).second) {
    const std::string name =
        between_sips ? "SIP links" : cube_path(shape_, sip_id{link.sip}, cube_id{link.cube}) + " links";
    file_.name_group(group, name, group);
  }
  return group;
}

track_id timeline::link_track(const events::link_occupied& e) {
  const fabric::link& link = topology_->links()[e.link];
  const std::uint32_t row = e.link * fabric::max_vcs + e.vc + 1;
  return {link_group(link), row};
}

void timeline::on(const events::link_occupied& e) {
  const fabric::link& link = topology_->links()[e.link];
  const auto [entry, is_new] = links_.try_emplace({e.link, e.vc});
  if (is_new) {
    entry->second = in_scope(link.name);
    if (entry->second) {
      const track_id t = link_track(e);
      const std::string cube = cube_path(shape_, sip_id{link.sip}, cube_id{link.cube}) + '.';
      const std::string name = link.name.starts_with(cube) ? link.name.substr(cube.size()) : link.name;
      file_.name_track(t, fmt::format("{} vc{}", name, e.vc), t.row);
    }
  }
  if (!entry->second) return;
  if (packets_left_ > 0) {
    --packets_left_;
    file_.slice(link_track(e), "packet", "link", e.head, e.tail, {{"flits", fmt::to_string(e.flits)}});
  } else if (!packets_end_) {
    packets_end_ = e.head;
    file_.instant(link_track(e), "later packets are left out (trace.timeline_packets)", e.head);
  }
  // Packets of several VCs take turns on a link: what two of them occupy at once counts once.
  sim_time& busy_until = busy_until_[e.link];
  usage_.add(usage_row(shape_, link), std::max(e.head, busy_until), e.tail);
  busy_until = std::max(busy_until, e.tail);
}

/// The track of a channel's first pseudo-channel; the others follow it.
track_id timeline::channel_track(const dram_channel& channel) {
  const auto [entry, is_new] = channels_.try_emplace(channel.path);
  if (!is_new) return entry->second;
  const std::string cube = channel.path.substr(0, channel.path.rfind('.'));
  std::uint32_t number = 0;
  for (; number < shape_.cubes(); ++number) {
    const sip_id sip{number / shape_.cubes_per_sip()};
    if (cube_path(shape_, sip, cube_id{number % shape_.cubes_per_sip()}) == cube) break;
  }
  const std::uint32_t group = number * groups_per_cube + hbm_group;
  if (groups_.insert(group).second) file_.name_group(group, cube + " HBM", group);
  std::uint32_t& rows = channel_rows_[group];
  entry->second = {group, rows + 1};
  for (std::uint32_t pc = 0; pc < channel.parameters->pseudo_channels; ++pc) {
    const track_id t{group, ++rows};
    file_.name_track(t, fmt::format("{} pc{}", channel.path.substr(cube.size() + 1), pc), t.row);
  }
  return entry->second;
}

void timeline::on_dram(const dram_channel& channel, const timing::dram_event& e) {
  if (!in_scope(channel.path)) return;
  const timing::dram_parameters& p = *channel.parameters;
  track_id t = channel_track(channel);
  t.row += e.where.pseudo_channel;
  const sim_time at = p.tick * e.at;
  const platforms::trace_events::arguments where{{"bank", fmt::to_string(e.where.bank)},
                                                 {"bank_group", fmt::to_string(e.where.bank_group)},
                                                 {"row", fmt::to_string(e.where.row)}};
  if (is_column(e.command)) {
    file_.slice(t, to_string(e.command), "hbm", at, at + p.tick * p.burst, where);
  } else {
    file_.instant(t, to_string(e.command), at, where);
  }
}

void timeline::write_utilization(sim_time end) {
  const auto write_row = [&](std::size_t row, std::uint32_t group, const std::string& kind) {
    if (link_counts_[row] == 0 || !groups_.contains(group)) return;
    double last = -1;
    const auto& sums = usage_.sums(row);
    for (std::size_t bin = 0; bin < sums.size(); ++bin) {
      const sim_time at = usage_.width() * bin;
      if (at > end) break;
      const double share =
          static_cast<double>(sums[bin].fs) / (static_cast<double>(usage_.width().fs) * link_counts_[row]);
      if (share == last) continue;
      last = share;
      file_.counter(group, fmt::format("{} utilization", kind), at,
                    {{"share", fmt::format("{:.4f}", share)}});
    }
  };
  constexpr std::size_t per_cube = kinds.size() - 1;
  for (std::uint32_t cube = 0; cube < shape_.cubes(); ++cube) {
    for (std::size_t k = 0; k < per_cube; ++k)
      write_row(cube * per_cube + k, cube * groups_per_cube + links_group, kind_names[k]);
  }
  write_row(shape_.cubes() * per_cube, shape_.cubes() * groups_per_cube + links_group,
            kind_names.back() + (shown_ ? fmt::format(" of process {}", part_) : ""));
}

void timeline::close(sim_time end) {
  for (auto& [pe, t] : pes_) {
    if (t.state == events::core_state::asleep && t.asleep_since < end)
      file_.slice(t.at, "wait: never ended", "wait", t.asleep_since, end, {{"unfinished", "true"}});
    end_phase(t, end, true);
  }
  for (const auto& [key, t] : op_tracks_)
    if (t.op) file_.slice(t.at, t.op->name, "op", t.op->since, end, {{"unfinished", "true"}});
  write_utilization(end);
  for (const std::string& part : parts_) file_.append(part);
  file_.close();
}

}  // namespace diecast::observe
