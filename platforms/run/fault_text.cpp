// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/fault_text.hpp"

#include "models/types/error.hpp"
#include "sw/runtime/firmware_trap.hpp"

namespace diecast::platforms {

fault_text explain(const std::exception_ptr& fault) {
  try {
    std::rethrow_exception(fault);
  } catch (const user_error& e) {
    return {run_status::error, e.what()};
  } catch (const protocol_error& e) {
    return {run_status::fault, e.what()};
  } catch (const sw::firmware_trap& e) {
    return {run_status::fault, e.what()};
  } catch (const std::exception& e) {
    return {run_status::internal, e.what()};
  }
}

}  // namespace diecast::platforms
