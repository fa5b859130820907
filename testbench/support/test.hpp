// SPDX-License-Identifier: Apache-2.0
// The one header that knows which Catch is installed.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
