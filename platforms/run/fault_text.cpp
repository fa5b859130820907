// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/fault_text.hpp"

#include <new>
#include <system_error>

#include "models/types/error.hpp"
#include "sw/runtime/firmware_trap.hpp"

namespace diecast::platforms {

fault_text explain(const std::exception_ptr& fault, const comm::direction_namer& names) {
  try {
    std::rethrow_exception(fault);
  } catch (const user_error& e) {
    return {run_status::error, e.what()};
  } catch (const comm::queue_pair_error& e) {
    return {run_status::fault, e.text(names)};
  } catch (const protocol_error& e) {
    return {run_status::fault, e.what()};
  } catch (const sw::firmware_trap& e) {
    return {run_status::fault, e.text(names)};
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

}  // namespace diecast::platforms
