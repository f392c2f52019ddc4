#ifndef CACHEINF_CLIENT_RUN_LINE_FILE_H_
#define CACHEINF_CLIENT_RUN_LINE_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/link/descriptor.h"

namespace cacheinf {

// A file of lines, or standard output. Throws InputError if it cannot be written. But once a file
// has taken lines, it only drops later ones that it cannot take, each as a whole: its disk may have
// room again.
class LineFile {
 public:
  LineFile();  // standard output
  explicit LineFile(const std::string& path);

  // Leaves `line` in the file whole or not at all. `line` has no end of its own.
  void Write(const std::string& line);

  // How many lines are missing, in one sentence; empty: none.
  std::string Gap() const;

 private:
  [[noreturn]] void Refuse() const;
  bool Put();
  void Lose();

  const std::string name_;
  const Descriptor own_;
  const int number_;
  std::string rest_;  // of a line, still to be written
  off_t size_ = 0;    // of whole lines
  int64_t lost_ = 0;
  bool is_full_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_LINE_FILE_H_
