// SPDX-License-Identifier: Apache-2.0
//
// Everything a program needs: a client, handles, kernels, results, the report.
#pragma once

#include "berth/access.hpp"    // IWYU pragma: export
#include "berth/client.hpp"    // IWYU pragma: export
#include "berth/error.hpp"     // IWYU pragma: export
#include "berth/handle.hpp"    // IWYU pragma: export
#include "berth/kernel.hpp"    // IWYU pragma: export
#include "berth/options.hpp"   // IWYU pragma: export
#include "berth/readback.hpp"  // IWYU pragma: export
#include "berth/report.hpp"    // IWYU pragma: export
#include "berth/uniforms.hpp"  // IWYU pragma: export
#include "berth/units.hpp"     // IWYU pragma: export
