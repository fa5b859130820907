// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/app.hpp"
#include "platforms/hbm/app.hpp"

int sc_main(int argc, char** argv) {
  return diecast::hbm::run(diecast::hbm::builtin_registries(), argc, argv);
}

int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
