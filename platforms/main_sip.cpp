// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/app.hpp"

int sc_main(int argc, char** argv) {
  return diecast::app::run(diecast::app::builtin_registries(diecast::app::sip_platform()), argc, argv);
}

int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
