// SPDX-License-Identifier: MIT
// Pool as a Python type: waits give the GIL up and last at most 50 ms a slice, so that signals are seen.
#pragma once

#include <Python.h>

namespace rocketride {

PyTypeObject* make_pool_type();

}  // namespace rocketride
