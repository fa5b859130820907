# SPDX-License-Identifier: Apache-2.0
# Installs this build and builds a platform of another project against it (testbench/out_of_tree).
diecast_need(Python3 python3 COMPONENTS Interpreter)
add_test(NAME package/out_of_tree
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/out_of_tree/check.py
          --build ${PROJECT_BINARY_DIR} --source ${PROJECT_SOURCE_DIR} --cmake ${CMAKE_COMMAND}
          -- -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
          -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS})
set_tests_properties(package/out_of_tree PROPERTIES LABELS full TIMEOUT 600)
