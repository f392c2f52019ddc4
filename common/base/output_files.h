#ifndef CACHEINF_COMMON_BASE_OUTPUT_FILES_H_
#define CACHEINF_COMMON_BASE_OUTPUT_FILES_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cacheinf {

struct NamedPath {
  std::string option;  // for messages
  std::filesystem::path path;
};

// Throws InputError, naming both options, if one of the outputs would overwrite an input or another
// output. Compares files, not spellings: links to one file are that file. Ignores empty
// paths.
void CheckOverwriting(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

// Throws InputError, naming the option, if one of the files cannot be written, as far as one can
// tell without opening it. Ignores empty paths.
void CheckWritable(const std::vector<NamedPath>& files);

// Throws InputError, naming the option, if the path is not a folder that can be written to, and
// cannot become one. Ignores an empty path.
void CheckFolder(const NamedPath& folder);

// Throws InputError, naming the option, if the file's extension is not that of its format. Ignores
// an empty path.
void CheckExtension(const NamedPath& file, std::string_view extension);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_OUTPUT_FILES_H_
