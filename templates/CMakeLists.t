# A library target `${name}`:
#     add_subdirectory(path/to/${name})
#     target_link_libraries(your_program PRIVATE ${name})
# -D${NAME}_SELFTEST=ON also builds its selftest, as a test for ctest: the top project must call
# enable_testing() before add_subdirectory.
cmake_minimum_required(VERSION 3.15)
project(${name} LANGUAGES C)

$ if single_file then
add_library(${name} INTERFACE)
target_include_directories(${name} INTERFACE .)
$ else
add_library(${name} STATIC
  ${name}_dispatch.c
$   for _, isa in ipairs(isas) do
  ${name}_${isa.symbol}.c
$   end
)
target_include_directories(${name} PUBLIC .)
set_target_properties(${name} PROPERTIES
  C_STANDARD 99
  C_STANDARD_REQUIRED ON
  POSITION_INDEPENDENT_CODE ON
)
# Without a build type CMake does not optimise, and kernels live on that.
target_compile_options(${name} PRIVATE
  "$<$<AND:$<CONFIG:>,$<C_COMPILER_ID:GNU,Clang,AppleClang>>:-O2>"
)
$ end

option(${NAME}_SELFTEST "Build the selftest of ${name}" OFF)
if(${NAME}_SELFTEST)
  enable_testing()
  add_executable(${name}_selftest ${name}_selftest.c)
  target_link_libraries(${name}_selftest PRIVATE ${name})
  add_test(NAME ${name}_selftest COMMAND ${name}_selftest)
endif()
