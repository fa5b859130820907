// SPDX-License-Identifier: Apache-2.0
// Entry point of every test program; any SystemC warning fails the test in which it appears.
#define CATCH_CONFIG_RUNNER
#include <cstdlib>
#include <string>
#include <systemc>

#include "faults.hpp"
#include "hw/base/time.hpp"
#include "part.hpp"
#include "test.hpp"

namespace {

void strict_report(const sc_core::sc_report& report, const sc_core::sc_actions&) {
  if (report.get_severity() >= sc_core::SC_WARNING) throw report;
}

}  // namespace

void diecast::test::unexpected_fault(const std::string& text) { FAIL_CHECK("unexpected fault: " << text); }

int sc_main(int argc, char** argv) {
  diecast::hw::set_time_resolution();
  sc_core::sc_report_handler::set_handler(strict_report);
  if (diecast::test::in_part(true, false)) {
    const char* const given = std::getenv("RC_PARAMS");
    setenv("RC_PARAMS", (std::string(given != nullptr ? given : "") + " max_success=40").c_str(), 1);
  }
  return Catch::Session().run(argc, argv);
}

// The leak checker follows the stacks of suspended SC_THREADs (QuickThreads) into their guard pages and
// crashes at exit; addresses are checked all the same. ASAN_OPTIONS overrides this.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

// Where an exception is thrown on a stack that it takes for another one, the sanitizer asks for the alternate
// signal stack and finds its own variable in the shadow of frames that are gone (google/sanitizers issue
// 189). Nobody else calls sigaltstack here.
extern "C" const char* __asan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_suppressions() { return "interceptor_name:sigaltstack\n"; }

// In place of the library's main, so that no banner is printed.
int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
