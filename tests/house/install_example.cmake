# Installs the build into an empty folder, builds docs/example against what is there, and runs it on
# the demo's network; then runs the scripts that came along. Variables: SOURCE, BUILD, PLACE (a folder
# that may be emptied), CXX.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what}: ${result}\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${PLACE})
run("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PLACE}/prefix)
# Away from the sources, so that no header of theirs is found.
file(COPY ${SOURCE}/docs/example DESTINATION ${PLACE})
run("configure" ${CMAKE_COMMAND} -S ${PLACE}/example -B ${PLACE}/build -G Ninja
    -DCMAKE_PREFIX_PATH=${PLACE}/prefix -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
run("build" ${CMAKE_COMMAND} --build ${PLACE}/build)
file(READ ${PLACE}/build/compile_commands.json commands)
if(commands MATCHES "torch")
  message(FATAL_ERROR "compiling the example takes LibTorch's headers:\n${commands}")
endif()
run("run" ${PLACE}/build/example ${PLACE}/prefix/share/cacheinf/demo.json
    ${PLACE}/prefix/share/cacheinf/models/demo_segmentation.onnx
    generated:frames=3,width=320,height=240)
string(REGEX MATCHALL "\"frame\":[0-2]," frames "${text}")
list(LENGTH frames count)
if(NOT count EQUAL 3)
  message(FATAL_ERROR "the example gave no three answers:\n${text}")
endif()
# What LibTorch reads is read by a module of its own, which must be found.
file(WRITE ${PLACE}/text "no network")
run("archive" ${CMAKE_COMMAND} -E chdir ${PLACE} ${CMAKE_COMMAND} -E tar cf network.pt --format=zip text)
foreach(command "build/example;prefix/share/cacheinf/demo.json;network.pt;generated:frames=1"
                "prefix/bin/cacheinf-profile;inspect;network.pt")
  execute_process(COMMAND ./${command} WORKING_DIRECTORY ${PLACE} OUTPUT_QUIET ERROR_VARIABLE text)
  if(NOT text MATCHES "LibTorch cannot read it")
    message(FATAL_ERROR "LibTorch was not asked by ${command}:\n${text}")
  endif()
endforeach()
run("version" ${PLACE}/prefix/bin/cacheinf-robot --version)
set(scripts ${PLACE}/prefix/share/cacheinf/scripts)
run("setup" ${scripts}/setup --help)
find_program(NAME_SERVER ompi-server)
if(NAME_SERVER)
  run("name-server start" ${scripts}/name-server start --file ${PLACE}/name-server)
  run("name-server stop" ${scripts}/name-server stop --file ${PLACE}/name-server)
else()
  run("name-server" ${scripts}/name-server --help)
endif()
file(REMOVE_RECURSE ${PLACE})
