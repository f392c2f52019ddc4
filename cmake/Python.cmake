# Finds what the Python module (client/python) is built with: pybind11 and the system's Python. Sets
# CACHEINF_HAS_PYTHON, and Python3_EXECUTABLE, which runs the module's tests; or cacheinf_no_python,
# the reason why it is left out.
set(CACHEINF_PYTHON AUTO CACHE STRING "Build the Python module: ON, OFF, or AUTO (if it can be)")
set_property(CACHE CACHEINF_PYTHON PROPERTY STRINGS AUTO ON OFF)

set(CACHEINF_HAS_PYTHON OFF)
set(cacheinf_no_python "CACHEINF_PYTHON is OFF")
# Sanitizers would have to be in Python, too.
if(CACHEINF_SANITIZE)
  set(cacheinf_no_python "sanitizers watch programs, not modules")
elseif(CACHEINF_PYTHON)
  # Debian's, which has Debian's numpy, even if another one comes first in $PATH.
  set(Python3_FIND_STRATEGY LOCATION)
  if(NOT DEFINED Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python3_EXECUTABLE /usr/bin/python3)
  endif()
  find_package(Python3 3.9 QUIET COMPONENTS Interpreter Development.Module NumPy)
  find_package(pybind11 2.10 QUIET CONFIG)
  if(Python3_FOUND AND pybind11_FOUND)
    set(CACHEINF_HAS_PYTHON ON)
  else()
    set(cacheinf_no_python "Debian: apt-get install pybind11-dev python3-dev python3-numpy")
    if(NOT CACHEINF_PYTHON STREQUAL "AUTO")
      message(FATAL_ERROR "pybind11 2.10, Python's headers or numpy were not found (${cacheinf_no_python}).")
    endif()
  endif()
endif()
if(NOT CACHEINF_HAS_PYTHON)
  message(STATUS "The Python module is left out (${cacheinf_no_python}).")
endif()
