# Contraction is off everywhere: a * b + c is fused only where the code asks for it, so that every
# build computes the same bits.
add_compile_options(-Wall -Wextra -Wpedantic -ffp-contract=off)
option(CACHEINF_WERROR "Treat warnings as errors" OFF)
if(CACHEINF_WERROR)
  add_compile_options(-Werror)
endif()
