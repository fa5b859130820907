// SPDX-License-Identifier: Apache-2.0
#include "models/abi/hal.hpp"

#include "models/numeric/convert.hpp"
#include "models/numeric/elementwise.hpp"

namespace diecast::abi {

const char* to_string(compare how) {
  switch (how) {
    case compare::eq: return "==";
    case compare::ne: return "!=";
    case compare::lt: return "<";
    case compare::le: return "<=";
    case compare::gt: return ">";
    case compare::ge: return ">=";
  }
  return "unknown";
}

std::vector<std::byte> result_of(const vector_command& c,
                                 const std::function<void(std::uint64_t, std::span<std::byte>)>& read) {
  const auto operand = [&](std::uint64_t offset, numeric::dtype type) {
    std::vector<std::byte> stored(c.count * numeric::size_of(type));
    read(offset, stored);
    if (type == c.type) return stored;
    std::vector<std::byte> converted(c.count * numeric::size_of(c.type));
    numeric::convert(type, stored, c.type, converted);
    return converted;
  };
  std::vector<std::byte> result = operand(c.a, c.type_of_a());
  if (c.op == vector_op::divide_by) numeric::divide(c.type, result, c.scalar);
  if (c.two_operands()) {
    const std::vector<std::byte> b = operand(c.b, c.type_of_b());
    numeric::apply(reduction_of(c.op), c.type, result, result, b);
  }
  return result;
}

void host_hal::debug_write_register(pe_coord pe, register_offset reg, std::uint64_t value) {
  const address to = encode({pe.sip, pe.cube, region::pe_registers, pe.pe.value, reg});
  debug_write(to, std::as_bytes(std::span{&value, 1}));
}

}  // namespace diecast::abi
