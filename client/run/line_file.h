#ifndef CACHEINF_CLIENT_RUN_LINE_FILE_H_
#define CACHEINF_CLIENT_RUN_LINE_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "common/link/descriptor.h"

namespace cacheinf {

// A file of lines, or standard output. Throws InputError if it cannot be written. But once a file
// has taken lines, it only drops later ones that it cannot take, each as a whole: its disk may have
// room again. A pipe that nobody reads any more takes none (IgnoreClosedPipes).
class LineFile {
 public:
  using IsOver = std::function<bool()>;
  explicit LineFile(IsOver is_over = {});  // standard output
  explicit LineFile(const std::string& path, IsOver is_over = {});

  // Leaves `line` in the file whole or not at all. `line` has no end of its own. Waits for a slow
  // reader, but hardly longer once `is_over` returns true: then the reader of a pipe may get a part
  // of the last line.
  void Write(const std::string& line);

  // Whether whoever read it has left, or was slow at the end.
  bool is_left() const { return is_left_; }

  // What is missing, in one sentence; empty: nothing.
  std::string Gap() const;

 private:
  [[noreturn]] void Refuse() const;
  bool HasRoom() const;
  bool Put();
  void Lose();

  const std::string name_;
  const IsOver is_over_;
  const Descriptor own_;
  const int number_;
  std::string rest_;  // of a line, still to be written
  off_t size_ = 0;    // of whole lines
  int64_t lost_ = 0;
  bool is_full_ = false;
  bool is_left_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_RUN_LINE_FILE_H_
