// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/app.hpp"
#include "platforms/bench/bench.hpp"

int sc_main(int argc, char** argv) { return diecast::bench::run(argc, argv); }

int main(int argc, char** argv) { return diecast::app::start(argc, argv); }
