// SPDX-License-Identifier: Apache-2.0
// One of the processes that simulate a pod together. Not to be started by hand: diecast-pod --processes does,
// by the launcher of an MPI job.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <systemc>
#include <unistd.h>

#include "models/config/text.hpp"
#include "platforms/app/app.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/mpi/mpi_group.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/processes.hpp"
#include "platforms/run/simulate.hpp"

namespace diecast {
namespace {

/// Exactly `bytes` of standard input, of which a buffer would take more.
std::string read_input(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = read(STDIN_FILENO, text.data() + done, bytes - done);
    if (n == 0 || (n < 0 && errno != EINTR))
      throw std::runtime_error("no job on standard input; diecast-pod --processes sends one");
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return text;
}

/// Reads the job that the requesting program sends: its length, a line end and its archive.
std::string read_job() {
  std::string length;
  for (std::string digit; (digit = read_input(1)) != "\n";) length += digit;
  const auto bytes = config::parse_count(length);
  if (!bytes) throw std::runtime_error("no job on standard input; diecast-pod --processes sends one");
  return read_input(*bytes);
}

/// A byte on standard input requests the results so far; its end shows that no process waits for a result.
void look_for_requests() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, 0) <= 0) return;
  char byte = 0;
  if (read(STDIN_FILENO, &byte, 1) == 1) return platforms::note_interrupt(SIGINT);
  mpi::mpi_group::abort(platforms::exit_code(platforms::run_status::interrupted));
}

void work(mpi::mpi_group& group) {
  const std::string archive = group.broadcast(group.self() == 0 ? read_job() : std::string{});
  nlohmann::json processes = nlohmann::json::array();
  for (const std::string& one : group.gather(nlohmann::json{mpi::mpi_group::host(), getpid()}.dump()))
    processes.push_back(nlohmann::json::parse(one));
  if (group.self() == 0) {
    std::printf("%s\n", processes.dump().c_str());
    std::fflush(stdout);
    group.set_between(look_for_requests);
  }
  const app::registries tables = app::builtin_registries(app::pod_platform());
  const platforms::received_job job(archive, tables);
  if (job.partition.processes != group.count())
    throw std::runtime_error(fmt::format("the launcher has started {} processes (expected {})", group.count(),
                                         job.partition.processes));
  std::uint64_t pes = 0, sips = 0;
  for (const pe_coord pe : job.machine->topology.population().pes())
    pes += job.partition.process_of[pe.sip.value] == group.self() ? 1 : 0;
  for (const std::uint32_t p : job.partition.process_of) sips += p == group.self() ? 1 : 0;
  platforms::check_stacks(pes, sips);
  const std::string result =
      archived(platforms::simulate_part(*job.run, tables, job.only, job.draw, group, job.partition));
  group.set_between({});
  if (group.self() != 0) return;
  std::printf("\nresult %zu\n", result.size());
  std::fwrite(result.data(), 1, result.size(), stdout);
  std::fflush(stdout);
}

}  // namespace
}  // namespace diecast

int sc_main(int argc, char** argv) {
  using namespace diecast;
  if (argc > 1) {
    platforms::warn(fmt::format("diecast-worker: no flags (value {}; diecast-pod starts it)", argv[1]));
    return platforms::exit_code(platforms::run_status::error);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  mpi::mpi_group group;
  try {
    work(group);
  } catch (const std::exception&) {
    const platforms::fault_text why = platforms::explain(std::current_exception());
    const nlohmann::json said{group.self(), platforms::to_string(why.status), why.message};
    platforms::warn("diecast-worker failed: " +
                    said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    mpi::mpi_group::abort(platforms::exit_code(why.status));
  }
  group.finish();
  // Firmware may still be suspended on its stacks; its destructors are not run.
  _exit(0);
}

int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
