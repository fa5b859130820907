// SPDX-License-Identifier: Apache-2.0
// Small MSCCL programs written for these tests, as XML text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

/// A step as written into XML; offsets and cnt in chunks.
struct xml_step {
  std::string_view type;
  std::string_view source_buffer{"i"};
  int source{0};
  std::string_view destination_buffer{"i"};
  int destination{0};
  int count{1};
  int depends_block{-1};
  int depends_step{-1};
};
struct xml_block {
  int send{-1}, recv{-1}, channel{0};
  std::vector<xml_step> steps;
};
struct xml_rank {
  int input{}, output{}, scratch{};
  std::vector<xml_block> blocks;
};
struct xml_program {
  std::string coll{"allreduce"};
  std::string protocol{"Simple"};
  int chunks{};
  bool in_place{true};
  std::vector<xml_rank> ranks;
};
[[nodiscard]] std::string to_xml(const xml_program& p);

/// In-place ring all-reduce with rrs, rrcs and rcs steps; one thread block per channel.
[[nodiscard]] xml_program ring_all_reduce(int ranks, int channels);
/// The same collective in two phases with rrc and r steps only, cnt > 1 in both: every rank sends
/// its whole vector to every other.
[[nodiscard]] xml_program one_shot_all_reduce(int ranks, int chunks);
/// Out of place: o = received op i.
[[nodiscard]] xml_program out_of_place_all_reduce(int chunks);
/// Two ranks through scratch: a second thread block reduces what the first received.
[[nodiscard]] xml_program scratch_all_reduce(int chunks);
/// Two ranks, out of place: the first adds what it receives, in a step of `type`, to what another of its
/// blocks has put there before it sent the message that is answered by this one.
[[nodiscard]] xml_program late_source_all_reduce(std::string_view type, int chunks);
/// Every rank sends around the ring before it receives: needs as many messages per FIFO as `burst`.
[[nodiscard]] xml_program bursting_all_reduce(int burst);
[[nodiscard]] xml_program direct_all_to_all(int ranks, int chunks_per_rank);
[[nodiscard]] xml_program direct_all_gather(int ranks, bool in_place);
[[nodiscard]] xml_program direct_reduce_scatter(int ranks, bool in_place);
/// Two ranks that both receive before they send: never ends.
[[nodiscard]] xml_program receive_first();

}  // namespace diecast::testing
