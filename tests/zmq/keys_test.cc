#include "common/link/keys.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/base/file.h"
#include "tests/testing/folder_test.h"
#include "tests/testing/refusal.h"

namespace cacheinf {
namespace {

namespace fs = std::filesystem;

class KeysTest : public FolderTest {
 protected:
  std::string RefusalOfKey() const {
    return RefusalOf([this] { ReadKeyPair(Path("arm.key")); });
  }
  std::string RefusalOfList(const std::string& text) const {
    WriteText("robots", text);
    return RefusalOf([this] { ReadRobotKeys(Path("robots")); });
  }

  const KeyPair pair_ = MakeKeyPair();
  const std::string text_ = ToText(pair_.open);
};

TEST_F(KeysTest, ArePairsThatComeBackFromTheirFiles) {
  EXPECT_NE(MakeKeyPair().secret, pair_.secret);
  WriteKeyPair(pair_, Path("arm"));
  EXPECT_EQ(ReadKeyPair(Path("arm.key")).secret, pair_.secret);
  EXPECT_EQ(ReadKeyPair(Path("arm.key")).open, pair_.open);
  EXPECT_EQ(ReadPublicKey(Path("arm.pub")), pair_.open);
  EXPECT_EQ(ReadPublicKey(text_), pair_.open);
  EXPECT_EQ(ReadRobotKeys(Path("arm.pub")), (RobotKeys{{text_, {"arm"}}}));
}

TEST_F(KeysTest, AreNeverReplaced) {
  WriteKeyPair(pair_, Path("arm"));
  const std::string refusal = RefusalOf([this] { WriteKeyPair(MakeKeyPair(), Path("arm")); });
  EXPECT_NE(refusal.find("is there already: give the key another name"), std::string::npos);
  fs::remove(Path("arm.pub"));
  EXPECT_NE(RefusalOf([this] { WriteKeyPair(MakeKeyPair(), Path("arm")); }), "");
  EXPECT_EQ(ReadKeyPair(Path("arm.key")).secret, pair_.secret);
  EXPECT_NE(RefusalOf([this] { WriteKeyPair(pair_, ""); }).find("names no file"),
            std::string::npos);
}

TEST_F(KeysTest, AreTheirOwnersAlone) {
  WriteKeyPair(pair_, Path("arm"));
  EXPECT_EQ(fs::status(Path("arm.key")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  for (const fs::perms other : {fs::perms::group_read, fs::perms::others_read,
                                fs::perms::group_write, fs::perms::others_exec}) {
    fs::permissions(Path("arm.key"), fs::perms::owner_read | other);
    EXPECT_NE(RefusalOfKey().find("chmod 600"), std::string::npos) << RefusalOfKey();
  }
  fs::permissions(Path("arm.key"), fs::perms::owner_read);
  EXPECT_EQ(RefusalOfKey(), "");
}

TEST_F(KeysTest, AreRefusedIfTheyAreNone) {
  for (const std::string& text :
       {std::string(), std::string("secret "), "secret " + text_ + "00",
        "secret " + std::string(64, 'g'), text_, std::string(5000, '0')}) {
    WriteText("arm.key", text);
    fs::permissions(Path("arm.key"), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_NE(RefusalOfKey().find("arm.key"), std::string::npos) << text;
    WriteText("arm.pub", text.substr(0, 40));
    EXPECT_NE(RefusalOf([this] { ReadPublicKey(Path("arm.pub")); }).find("arm.pub"),
              std::string::npos)
        << text;
  }
}

TEST_F(KeysTest, OfTwoTheWrongOneIsNamed) {
  EXPECT_EQ(RefusalOf([this] { ReadKeyPair(Path("arm.pub")); }),
            Path("arm.pub") + " is a public key: give the secret one, NAME.key, here");
}

TEST_F(KeysTest, OfRobotsStandInAList) {
  const std::string other = ToText(MakeKeyPair().open);
  EXPECT_EQ(RefusalOfList("# both\n\n" + text_ + " left arm\n  " + other), "");
  EXPECT_EQ(ReadRobotKeys(Path("robots")), (RobotKeys{{text_, {"left"}}, {other, {}}}));
  EXPECT_EQ(RefusalOfList(""), "");
  EXPECT_NE(RefusalOfList(text_ + "\n" + text_.substr(1)).find("robots:2 does not begin with"),
            std::string::npos);
  EXPECT_NE(RefusalOfList("secret " + text_), "");
  // Escape codes stay out of the log.
  EXPECT_EQ(RefusalOfList(text_ + " a\x1b[2Jb"), "");
  EXPECT_EQ(ReadRobotKeys(Path("robots")).at(text_).name, "a\\x1b[2Jb");
}

TEST_F(KeysTest, AreTrustedOnlyIfTheListSaysSoBehindTheName) {
  const auto is_trusted = [this](const std::string& line) {
    EXPECT_EQ(RefusalOfList(text_ + line), "");
    return ReadRobotKeys(Path("robots")).at(text_).is_trusted;
  };
  EXPECT_TRUE(is_trusted(" arm trusted"));
  EXPECT_TRUE(is_trusted(" arm  trusted\tsince May"));
  for (const char* const line : {"", " arm", " trusted", " arm Trusted", " arm trusted,",
                                 " arm left trusted", " arm # trusted", " arm\n# x arm trusted"}) {
    EXPECT_FALSE(is_trusted(line)) << line;
  }
}

TEST_F(KeysTest, OfRobotsAreNotForEverybodyToChange) {
  WriteText("robots", text_);
  fs::permissions(Path("robots"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(RefusalOf([this] { ReadRobotKeys(Path("robots")); }).find("chmod o-w"),
            std::string::npos);
}

}  // namespace
}  // namespace cacheinf
