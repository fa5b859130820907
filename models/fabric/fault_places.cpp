// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/fault_places.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/config/text.hpp"

namespace diecast::fabric {
namespace {

using config::fault_kind;
using config::fault_mechanism;
using config::fault_setting;

std::string side_path(const topology& t, sip_id sip, cube_id cube, side s) {
  return fmt::format("{}.ucie_{}", cube_path(t.shape(), sip, cube), to_string(s));
}

bool names_side(const std::string& glob, const topology& t, sip_id sip, cube_id cube, side s) {
  const std::string initial = fmt::format("{}.ucie_{}", cube_path(t.shape(), sip, cube), to_string(s)[0]);
  return config::matches(glob, side_path(t, sip, cube, s)) || config::matches(glob, initial);
}

/// Path of the port that a SIP link leaves by.
std::string port_path(const topology& t, const sip_link& link) {
  const cube_layout& gateway = t.layout(sip_id{link.from.sip}, cube_id{link.from.cube});
  return fmt::format("{}.{}", sip_path(sip_id{link.from.sip}), gateway.terminals.at(link.from.terminal).name);
}

bool names_sip_link(const std::string& glob, const topology& t, const sip_link& link) {
  return config::matches(glob, link.name) || config::matches(glob, port_path(t, link));
}

bool is_interposer(const fault_setting& f) {
  return config::entry_of(f.kind).mechanism == fault_mechanism::interposer;
}

/// On a link a fault uses an interposer, whatever its mechanism at a PE.
bool acts_on_links(const fault_setting& f) { return config::entry_of(f.kind).links; }

bool is_framed(const topology& t, sip_id sip, cube_id cube, side s) {
  return t.ucie(sip, cube, s).format != config::flit_format::raw;
}

template <class Condition>
fault_list those(const config::machine_config& c, Condition condition) {
  fault_list list;
  for (std::size_t i = 0; i < c.faults.size(); ++i)
    if (condition(c.faults[i])) list.push_back({c.faults[i], i, c.sim.fault_draw});
  return list;
}

/// Calls visit(sip, cube, side) for every side with a neighbor.
template <class Visit>
void each_side(const topology& t, Visit visit) {
  for (std::uint32_t sip = 0; sip < t.shape().sips; ++sip) {
    for (std::uint32_t cube = 0; cube < t.shape().cubes_per_sip(); ++cube) {
      for (unsigned s = 0; s < sides; ++s) {
        if (t.neighbor(cube_id{cube}, static_cast<side>(s)))
          visit(sip_id{sip}, cube_id{cube}, static_cast<side>(s));
      }
    }
  }
}

struct places_named {
  bool pe{}, link{}, framed{};
};

places_named places_of(const fault_setting& f, const topology& t) {
  places_named named;
  const std::vector<pe_coord> pes = t.population().pes();
  named.pe =
      std::ranges::any_of(pes, [&](pe_coord pe) { return config::matches(f.where, pe_path(t.shape(), pe)); });
  each_side(t, [&](sip_id sip, cube_id cube, side s) {
    if (!names_side(f.where, t, sip, cube, s)) return;
    named.link = true;
    named.framed = named.framed || is_framed(t, sip, cube, s);
  });
  for (const sip_link& l : t.sip_links()) named.link = named.link || names_sip_link(f.where, t, l);
  return named;
}

/// Paths of all places of the machine where this kind acts.
std::vector<std::string> places_for(const config::fault_kind_entry& kind, const topology& t) {
  std::vector<std::string> places;
  if (kind.pes)
    for (const pe_coord pe : t.population().pes()) places.push_back(pe_path(t.shape(), pe));
  if (kind.links) {
    each_side(t, [&](sip_id sip, cube_id cube, side s) { places.push_back(side_path(t, sip, cube, s)); });
    for (const sip_link& l : t.sip_links()) {
      places.push_back(l.name);
      places.push_back(port_path(t, l));
    }
  }
  return places;
}

/// Example of a place that a fault of this kind may name: the one most similar to its `where`, or else the
/// first.
std::string expected_places(const fault_setting& f, const topology& t) {
  const config::fault_kind_entry& kind = config::entry_of(f.kind);
  const std::vector<std::string> places = places_for(kind, t);
  if (places.empty()) return fmt::format("{}; this machine has none", kind.place);
  const std::string near = config::nearest(f.where, places);
  return near.empty() ? fmt::format("{}, as {}", kind.place, places.front())
                      : config::did_you_mean(kind.place, near);
}

/// A place that both faults name although only one of the two can act there; empty when there is none.
std::string place_of_both(const fault_setting& a, const fault_setting& b, const topology& t) {
  std::string place;
  if (a.kind == fault_kind::bit_flip) {
    each_side(t, [&](sip_id sip, cube_id cube, side s) {
      if (!place.empty() || !is_framed(t, sip, cube, s)) return;
      if (!names_side(a.where, t, sip, cube, s) || !names_side(b.where, t, sip, cube, s)) return;
      place = side_path(t, sip, cube, s);
    });
  } else if (!is_interposer(a)) {
    for (std::uint32_t i = 0; i < t.shape().pes() && place.empty(); ++i) {
      const std::string path = pe_path(t.shape(), t.shape().pe_at(i));
      if (config::matches(a.where, path) && config::matches(b.where, path)) place = path;
    }
  }
  return place;
}

void check_one_per_place(const config::machine_config& c, const topology& t, std::size_t later,
                         std::vector<problem>& problems) {
  const fault_setting& f = c.faults[later];
  for (std::size_t i = 0; i < later; ++i) {
    if (c.faults[i].kind != f.kind) continue;
    const std::string place = place_of_both(c.faults[i], f, t);
    if (place.empty()) continue;
    problems.push_back(
        {fmt::format("faults[{}].where", later),
         fmt::format("names {}, which faults[{}] of the same kind names too", place, i), f.where,
         f.kind == fault_kind::bit_flip ? "one bit_flip for each UCIe side with frames"
                                        : fmt::format("one {} for each PE", config::entry_of(f.kind).name)});
    return;
  }
}

}  // namespace

fault_list faults_into_pe(const config::machine_config& c, pe_coord pe) {
  if (c.faults.empty()) return {};
  const std::string path = pe_path(c.shape(), pe);
  return those(c, [&](const fault_setting& f) {
    return is_interposer(f) && config::entry_of(f.kind).pes && config::matches(f.where, path);
  });
}

fault_list faults_of_side(const config::machine_config& c, const topology& t, sip_id sip, cube_id cube,
                          side s) {
  if (c.faults.empty()) return {};
  return those(c, [&](const fault_setting& f) {
    const bool hidden = f.kind == fault_kind::bit_flip && is_framed(t, sip, cube, s);
    return acts_on_links(f) && !hidden && names_side(f.where, t, sip, cube, s);
  });
}

fault_list faults_of_sip_link(const config::machine_config& c, const topology& t, std::uint32_t link) {
  if (c.faults.empty()) return {};
  return those(c, [&](const fault_setting& f) {
    return acts_on_links(f) && names_sip_link(f.where, t, t.sip_links()[link]);
  });
}

fault_list hidden_bit_flips(const config::machine_config& c, const topology& t, sip_id sip, cube_id cube,
                            side s) {
  if (c.faults.empty() || !is_framed(t, sip, cube, s)) return {};
  return those(c, [&](const fault_setting& f) {
    return f.kind == fault_kind::bit_flip && names_side(f.where, t, sip, cube, s);
  });
}

const fault_setting* fault_at(const config::machine_config& c, fault_kind kind, pe_coord pe) {
  for (const fault_setting& f : c.faults)
    if (f.kind == kind && config::matches(f.where, pe_path(c.shape(), pe))) return &f;
  return nullptr;
}

std::vector<problem> check_faults(const config::machine_config& c, const topology& t) {
  std::vector<problem> problems;
  for (std::size_t i = 0; i < c.faults.size(); ++i) {
    const fault_setting& f = c.faults[i];
    const config::fault_kind_entry& kind = config::entry_of(f.kind);
    const places_named named = places_of(f, t);
    if (!((kind.pes && named.pe) || (kind.links && named.link))) {
      problems.push_back({fmt::format("faults[{}].where", i),
                          fmt::format("names no place of this machine where {} acts", kind.name), f.where,
                          expected_places(f, t)});
    }
    if (f.kind == fault_kind::bit_flip && named.framed && (f.count == 0 || f.probability < 1.0)) {
      problems.push_back({fmt::format("faults[{}]", i),
                          "bit flips under UCIe frames hit `count` consecutive frames and cannot be random",
                          f.count == 0 ? "count 0" : fmt::format("probability {}", f.probability),
                          "count 1 or more and probability 1"});
    }
    if (f.kind == fault_kind::bit_flip && named.framed && f.from_us > 0) {
      problems.push_back({fmt::format("faults[{}].from_us", i),
                          "flipped bits under UCIe frames are counted in frames, not timed",
                          fmt::format("{}", f.from_us), "0, and `after`"});
    }
    check_one_per_place(c, t, i, problems);
  }
  return problems;
}

}  // namespace diecast::fabric
