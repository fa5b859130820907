// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/elements.hpp"

#include "models/comm/collective.hpp"
#include "models/numeric/types.hpp"

namespace diecast::sw {

elements part(const elements& whole, std::uint64_t index, std::uint64_t parts) {
  const comm::element_range range = comm::part_of(whole.count, index, parts);
  return {whole.begin + range.begin, range.count};
}

elements whole(pe_context& pe) { return {0, pe.args().count}; }

tcm_range in_output(pe_context& pe, const elements& e) {
  const std::uint64_t element = numeric::size_of(pe.args().type);
  return {pe.args().output + e.begin * element, e.count * element};
}

void start_in_output(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  if (a.output != a.input) pe.copy(a.output, a.input, a.count * numeric::size_of(a.type));
}

void finish_average(pe_context& pe, const elements& e) {
  const tcm_range b = in_output(pe, e);
  pe.finish_average(b.at, b.bytes);
}

void send_all(pe_context& pe, const std::vector<comm::direction>& to, const elements& e,
              const std::function<void(comm::direction)>& before) {
  const tcm_range b = in_output(pe, e);
  pe.send_all(to, b.at, b.bytes, before);
}

void reduce_all(pe_context& pe, const std::vector<comm::direction>& from, const elements& e,
                const std::function<void(comm::direction)>& before) {
  const tcm_range b = in_output(pe, e);
  pe.reduce_all(from, b.at, b.bytes, before);
}

void receive_all(pe_context& pe, comm::direction from, const elements& e) {
  const tcm_range b = in_output(pe, e);
  pe.recv_all(from, b.at, b.bytes, pe_context::arrival::copy);
}

void swap_and_reduce(pe_context& pe, comm::direction dir, const elements& e) {
  swap(pe, dir, e, e, pe_context::arrival::reduce);
}

void swap(pe_context& pe, comm::direction dir, const elements& sent, const elements& received,
          pe_context::arrival how) {
  const tcm_range out = in_output(pe, sent);
  const tcm_range in = in_output(pe, received);
  pe.exchange(dir, out.at, out.bytes, dir, in.at, in.bytes, how);
}

}  // namespace diecast::sw
