#include "common/link/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/printable.h"
#include "common/link/descriptor.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestKeyFile = 4096;
constexpr uint64_t kLargestList = 1 << 20;
constexpr size_t kZ85Length = 40;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::string_view kSecretWord = "secret ";
constexpr size_t kLongestRobotName = 64;

using Key = std::array<uint8_t, 32>;
using Z85 = std::array<char, kZ85Length + 1>;

std::optional<Key> KeyIn(std::string_view text) {
  Key key;
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (size_t i = 0; i < key.size(); ++i) {
    const size_t high = kDigits.find(text[2 * i]);
    const size_t low = kDigits.find(text[2 * i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
    key[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return key;
}

// Throws InputError if somebody else has one of these rights to the file.
void CheckRights(const fs::path& file, mode_t forbidden, const char* problem) {
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0) return;  // reading the file will say why
  if ((status.st_mode & forbidden) != 0) throw InputError(file.string(), problem);
}

void WriteNewFile(const fs::path& file, mode_t rights, std::string_view bytes) {
  const Descriptor descriptor(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rights));
  if (!descriptor && errno == EEXIST) {
    throw InputError(file.string(), " is there already: give the key another name");
  }
  if (!descriptor ||
      write(descriptor.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      fsync(descriptor.get()) != 0) {
    throw InputError(file.string(), " cannot be written: ", std::strerror(errno));
  }
}

std::string PrintableName(std::string name) {
  std::erase(name, ' ');  // the next word would be a right
  return Printable(name, kLongestRobotName);
}

}  // namespace

std::string ToText(const PublicKey& key) {
  std::string text;
  for (const uint8_t byte : key) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

KeyPair MakeKeyPair() {
  Z85 open;
  Z85 secret;
  KeyPair pair;
  if (zmq_curve_keypair(open.data(), secret.data()) != 0) {
    throw InputError("this build of ZeroMQ has no CURVE: install libzmq3-dev of Debian");
  }
  zmq_z85_decode(pair.open.data(), open.data());
  zmq_z85_decode(pair.secret.data(), secret.data());
  return pair;
}

void WriteKeyPair(const KeyPair& pair, const fs::path& name) {
  const bool is_folder = name.filename() == "." || name.filename() == "..";
  if (!name.has_filename() || is_folder)
    throw InputError("keygen: \"", name.string(), "\" names no file");
  const fs::path secret = name.string() + ".key";
  const fs::path open = name.string() + ".pub";
  if (fs::exists(open)) WriteNewFile(open, 0644, "");  // throws
  WriteNewFile(secret, 0600, std::string(kSecretWord) + ToText(pair.secret) + "\n");
  WriteNewFile(open, 0644, ToText(pair.open) + " " + PrintableName(name.filename()) + "\n");
}

KeyPair ReadKeyPair(const fs::path& file) {
  if (file.extension() == ".pub") {
    throw InputError(file.string(), " is a public key: give the secret one, NAME.key, here");
  }
  CheckRights(file, 077,
              " is a secret key that others than its owner have rights to: chmod 600 it, and make "
              "a new one if somebody may have read it");
  std::string text = ReadFile(file, kLargestKeyFile);
  while (text.ends_with('\n')) text.pop_back();
  std::optional<Key> secret;
  if (text.starts_with(kSecretWord))
    secret = KeyIn(std::string_view(text).substr(kSecretWord.size()));
  if (!secret) {
    throw InputError(file.string(),
                     " is not a secret key; cacheinf-server keygen NAME writes one to NAME.key");
  }
  KeyPair pair;
  pair.secret = *secret;
  Z85 secret_text;
  Z85 open;
  zmq_z85_encode(secret_text.data(), pair.secret.data(), pair.secret.size());
  if (zmq_curve_public(open.data(), secret_text.data()) != 0) {
    throw InputError("this build of ZeroMQ has no CURVE: install libzmq3-dev of Debian");
  }
  zmq_z85_decode(pair.open.data(), open.data());
  return pair;
}

PublicKey ReadPublicKey(const std::string& key_or_file) {
  if (const auto key = KeyIn(key_or_file)) return *key;
  const std::string text = ReadFile(key_or_file, kLargestKeyFile);
  const auto key = KeyIn(std::string_view(text).substr(0, text.find_first_of(" \n")));
  if (!key) {
    throw InputError(key_or_file,
                     " is not a public key; cacheinf-server keygen NAME writes one to NAME.pub");
  }
  return *key;
}

RobotKeys ReadRobotKeys(const fs::path& file) {
  CheckRights(file, S_IWOTH, " lists who may come in, and anybody can change it: chmod o-w it");
  RobotKeys robots;
  std::istringstream lines(ReadFile(file, kLargestList));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string key_text;
    std::string name;
    std::string right;
    words >> key_text >> name >> right;
    if (key_text.empty() || key_text.starts_with('#')) continue;
    if (!KeyIn(key_text)) {
      throw InputError(file.string(), ":", number,
                       " does not begin with a robot's public key, which stands in its NAME.pub");
    }
    robots[key_text] = {PrintableName(name), right == "trusted"};
  }
  return robots;
}

}  // namespace cacheinf
