// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/fault_text.hpp"

#include <new>
#include <system_error>

#include "models/types/error.hpp"
#include "platforms/io/deadlock_json.hpp"

namespace diecast::platforms {

fault_text explain(const std::exception_ptr& fault, const comm::direction_namer& names) {
  try {
    std::rethrow_exception(fault);
  } catch (const user_error& e) {
    return {run_status::error, e.what()};
  } catch (const fault_error& e) {
    return {run_status::fault, e.text(names), false, e.record()};
  } catch (const protocol_error& e) {
    return {run_status::fault, e.what(), false, fault_record{}};
  } catch (const std::bad_alloc&) {
    return {run_status::system, "out of memory; expected more of it, or a smaller run"};
  } catch (const resource_error& e) {
    return {run_status::system, e.what()};
  } catch (const std::system_error& e) {
    return {run_status::system, e.what()};
  } catch (const output_error& e) {
    return {run_status::error, e.what(), true};
  } catch (const std::exception& e) {
    return {run_status::internal, e.what()};
  }
}

detected_fault detected(const fault_record& r, const std::string& instance, const machine_shape& shape,
                        const comm::direction_namer& names, double time_ns) {
  detected_fault d{to_string(r.kind), r.pe ? pe_path(shape, *r.pe) : instance};
  if (r.pe && r.queue_pair) d.queue_pair = names(*r.pe, *r.queue_pair);
  if (r.from) d.sender = pe_path(shape, *r.from);
  if (r.from || r.kind == diecast::fault_kind::packet_number) d.sequence = r.sequence;
  if (r.kind == diecast::fault_kind::token_sequence || r.kind == diecast::fault_kind::packet_number)
    d.expected = r.expected;
  const bool ring = r.ring.end != 0;
  if (ring || r.address != 0) {
    d.first_pa = hex_text(ring ? r.ring.first : r.address);
    d.end_pa = hex_text(ring ? r.ring.end : r.address + 1);
  }
  d.links = r.links;
  d.time_ns = time_ns;
  return d;
}

}  // namespace diecast::platforms
