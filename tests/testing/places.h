#ifndef CACHEINF_TESTS_TESTING_PLACES_H_
#define CACHEINF_TESTS_TESTING_PLACES_H_

#include <filesystem>
#include <string>

// Where this build finds its sources and programs. Only places.cc is compiled with these paths, so
// that a compiler cache serves the objects of all other tests to every checkout.

namespace cacheinf {

// The root of the repository.
std::filesystem::path SourceFolder();

// The program of this name in the build: "cacheinf-robot".
std::string ProgramPath(const std::string& name);

// A file of the data outside the repository, which is not available everywhere: under
// $CACHEINF_SHARED, else under "shared" beside the repository.
std::filesystem::path SharedData(const std::string& file);

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_PLACES_H_
