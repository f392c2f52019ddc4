#ifndef CACHEINF_COMMON_LINK_KEYS_H_
#define CACHEINF_COMMON_LINK_KEYS_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace cacheinf {

// Keys of Curve25519, by which robots and servers know each other (CURVE of ZeroMQ). Their text is
// 64 hexadecimal digits.
using PublicKey = std::array<uint8_t, 32>;

struct KeyPair {
  PublicKey open{};
  std::array<uint8_t, 32> secret{};
};

std::string ToText(const PublicKey& key);

// From the system's random numbers.
KeyPair MakeKeyPair();

// Writes NAME.key, which only its owner can read, and NAME.pub, the public key as a line of a list
// of robots. Throws InputError if either is there: a key is never replaced.
void WriteKeyPair(const KeyPair& pair, const std::filesystem::path& name);

// Reads a NAME.key. Throws InputError if it is not a key, or if anybody but its owner can read or
// change it.
KeyPair ReadKeyPair(const std::filesystem::path& file);

// The public key in the text itself, or at the beginning of the file of this name. Throws
// InputError.
PublicKey ReadPublicKey(const std::string& key_or_file);

struct ListedRobot {
  std::string name;         // for people
  bool is_trusted = false;  // code that its models bring may run on the server

  bool operator==(const ListedRobot&) const = default;
};

// Robots by the texts of their public keys.
using RobotKeys = std::map<std::string, ListedRobot>;

// Reads a list of robots. A line is a public key, a name of one word, the word "trusted" if the
// robot is, and any note; or it is empty, or begins with #. Throws InputError naming the line that
// is something else, or if others may change the file.
RobotKeys ReadRobotKeys(const std::filesystem::path& file);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_KEYS_H_
