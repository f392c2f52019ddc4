#include "tests/bench/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace cacheinf {

namespace fs = std::filesystem;

void PinToCores(int count) {
  static const cpu_set_t kUsable = [] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof(cores), &cores);
    return cores;
  }();
  cpu_set_t cores = kUsable;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores) && count-- <= 0) CPU_CLR(core, &cores);
  }
  sched_setaffinity(0, sizeof(cores), &cores);
}

std::string EngineWorker() {
  return (fs::read_symlink("/proc/self/exe").parent_path() / "cacheinf-bench-engine").string();
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "cacheinf_bench_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Worker::Worker(const std::vector<std::string>& command) {
  std::array<int, 2> to_worker;
  std::array<int, 2> from_worker;
  if (pipe2(to_worker.data(), O_CLOEXEC) != 0 || pipe2(from_worker.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  const std::string log = (folder_.path() / "stderr").string();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, to_worker[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, from_worker[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const int failure =
      posix_spawn(&process_, arguments.front(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(to_worker[0]);
  close(from_worker[1]);
  requests_ = fdopen(to_worker[1], "w");
  answers_ = fdopen(from_worker[0], "r");
  if (failure != 0) throw std::runtime_error(command.front() + " cannot be started");
}

Worker::~Worker() {
  std::fclose(requests_);  // it ends when its input does
  std::fclose(answers_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

std::string Worker::LastWords() const {
  std::ifstream log(folder_.path() / "stderr");
  std::string last = "it ended without a word";
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

nlohmann::json Worker::ReadAnswer() {
  constexpr int kPatienceMs = 15 * 60 * 1000;  // conversions of large networks take minutes
  pollfd answer_file{fileno(answers_), POLLIN, 0};
  if (poll(&answer_file, 1, kPatienceMs) == 0) {
    kill(process_, SIGKILL);
    throw std::runtime_error("it gave no answer within 15 minutes");
  }
  char* line = nullptr;
  size_t room = 0;
  const ssize_t length = getline(&line, &room, answers_);
  const std::string text(line, length > 0 ? static_cast<size_t>(length) : 0);
  free(line);
  if (text.empty()) throw std::runtime_error(LastWords());
  nlohmann::json answer = nlohmann::json::parse(text);
  if (answer.contains("error")) throw std::runtime_error(answer["error"].get<std::string>());
  return answer;
}

nlohmann::json Worker::FirstAnswer() { return ReadAnswer(); }

nlohmann::json Worker::Ask(const std::string& request) {
  // Reading its answer notices if a worker is gone.
  std::signal(SIGPIPE, SIG_IGN);
  std::fprintf(requests_, "%s\n", request.c_str());
  std::fflush(requests_);
  return ReadAnswer();
}

std::vector<double> Worker::Time(int count) {
  auto times = Ask("time " + std::to_string(count)).at("ms").get<std::vector<double>>();
  WaitUntilIdle();
  return times;
}

void Worker::WaitUntilIdle() const {
  constexpr int kPolls = 5000;
  constexpr auto kPause = std::chrono::microseconds(200);
  const fs::path threads = fs::path("/proc") / std::to_string(process_) / "task";
  for (int poll = 0; poll < kPolls; ++poll) {
    bool idle = true;
    for (const fs::directory_entry& thread : fs::directory_iterator(threads)) {
      std::ifstream stat(thread.path() / "stat");
      std::string text;
      std::getline(stat, text);
      // The state follows the name, which stands in parentheses and may hold anything.
      const size_t name_end = text.rfind(')');
      if (name_end != std::string::npos && text.compare(name_end + 2, 1, "R") == 0) idle = false;
    }
    if (idle) return;
    std::this_thread::sleep_for(kPause);
  }
  throw std::runtime_error("its threads stay awake while others are timed");
}

}  // namespace cacheinf
