#include "scheduler/commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/command_line.h"
#include "common/base/error.h"
#include "common/base/file.h"
#include "common/base/output_files.h"
#include "common/base/program.h"
#include "common/base/status_line.h"
#include "common/plan/schedule.h"
#include "scheduler/link_trace.h"
#include "scheduler/planner.h"
#include "scheduler/schedule_solver.h"
#include "scheduler/schedule_text.h"

namespace cacheinf {
namespace {

// Solved buckets are written this often, for --resume after a crash.
constexpr std::chrono::seconds kKeepEvery(2);

struct ProfileOptions {
  std::filesystem::path robot;
  std::filesystem::path server;
  double robot_slowdown = 1;
  double server_slowdown = 1;

  void AddTo(CLI::App& command, const char* robot_help, const char* server_help) {
    command.add_option("--robot-profile", robot, robot_help);
    command.add_option("--server-profile", server, server_help);
    AddNumber(command, "--robot-slowdown", robot_slowdown,
              "the robot takes this many times as long as measured, as --emulate makes it", 1e-3,
              1e6);
    AddNumber(command, "--server-slowdown", server_slowdown, "the same for the server", 1e-3, 1e6);
  }
  void AddRequiredTo(CLI::App& command) {
    AddTo(command, "file from cacheinf-profile measure", "file from cacheinf-profile measure");
    for (const char* const option : {"--robot-profile", "--server-profile"}) {
      command.get_option(option)->required();
    }
  }

  Profile Robot() const { return SlowedDown(LoadProfile(robot), robot_slowdown); }
  Profile Server() const { return SlowedDown(LoadProfile(server), server_slowdown); }
};

// A schedule, and perhaps the profiles that it should be of.
struct ScheduleOptions {
  std::filesystem::path schedule;
  ProfileOptions profiles;

  void AddTo(CLI::App& command) {
    command.add_option("SCHEDULE", schedule, "file from cacheinf-schedule solve")->required();
    profiles.AddTo(command, "check that the schedule was solved from this profile",
                   "the same for the server");
    CLI::Option* const of_robot = command.get_option("--robot-profile");
    CLI::Option* const of_server = command.get_option("--server-profile");
    of_robot->needs(of_server);
    of_server->needs(of_robot);
    for (const char* const slowdown : {"--robot-slowdown", "--server-slowdown"}) {
      command.get_option(slowdown)->needs(of_robot);
    }
  }

  Schedule Load(bool may_lack = false) const {
    Schedule loaded = LoadSchedule(schedule, may_lack);
    if (!profiles.robot.empty()) {
      CheckIsOf(loaded, schedule.string(), profiles.Robot(), profiles.Server());
    }
    return loaded;
  }
};

// The situation for which a plan is asked.
struct SituationOptions {
  std::optional<double> mbit;
  double robot_work = 0.2;
  std::optional<double> server_work;

  void AddTo(CLI::App& command) {
    command.add_option("--mbit", mbit, "bandwidth both ways, Mbit/s")->check(FiniteRange(0.0, 1e9));
    AddNumber(command, "--robot-work", robot_work, "share of a dense frame's work, 0 to 1", 0.0,
              1.0);
    command
        .add_option("--server-work", server_work,
                    "the same on the server (default: as on the robot)")
        ->check(FiniteRange(0.0, 1.0));
  }

  Situation In(const Schedule& schedule) const {
    Situation situation = schedule.SituationOf(0);
    situation.mbit_up = situation.mbit_down = mbit.value_or(50);
    situation.robot_work = robot_work;
    situation.server_work = server_work.value_or(robot_work);
    return situation;
  }
};

// A device, say, keeps nothing.
bool IsKeptIn(const std::filesystem::path& path) {
  return !std::filesystem::exists(path) || std::filesystem::is_regular_file(path);
}

// After a crash the file is as it was before, or whole.
void Replace(const std::filesystem::path& path, const std::string& text) {
  if (!IsKeptIn(path)) return WriteFile(path, text);
  const std::string_view all = text;
  ReplaceFile(path, {&all, 1});
}

unsigned CoreCount() { return std::max(1U, std::thread::hardware_concurrency()); }

struct SolveCommand {
  CLI::App* command = nullptr;
  ProfileOptions profiles;
  std::filesystem::path out;
  std::string planner = kCacheInfPlanner;
  uint64_t seed = 1;
  int threads = static_cast<int>(CoreCount());
  size_t bandwidths = 10;
  size_t shares = 10;
  double least_mbit = 1;
  double most_mbit = 300;
  double round_trip_ms = 4;
  double server_queue_ms = 0;
  double time_limit_s = 0;
  bool resume = false;

  void AddTo(CLI::App& app) {
    command = app.add_subcommand("solve", "Find the best plan for every situation.");
    command->footer(PlannerHelp());
    profiles.AddRequiredTo(*command);
    command->add_option("--out", out, "file for the schedule")->required();
    const std::vector<std::string>& names = PlannerNames();
    command->add_option("--planner", planner, "planner that makes the plans")
        ->check(CLI::IsMember(std::set<std::string>(names.begin(), names.end())))
        ->capture_default_str();
    command->add_option("--seed", seed, "equal seeds give equal schedules")->capture_default_str();
    command->add_option("--threads", threads, "by default one per core")
        ->check(CLI::Range(1, 1024));
    command->add_option("--bandwidths", bandwidths, "steps of bandwidth, including no link")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    command->add_option("--shares", shares, "steps of the share of work, on each side")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    AddNumber(*command, "--least-mbit", least_mbit, "the slowest link", 1e-3, 1e6);
    AddNumber(*command, "--most-mbit", most_mbit, "the fastest link", 1e-3, 1e6);
    AddNumber(*command, "--round-trip-ms", round_trip_ms, "round trip of the link", 0.0, 1e5);
    command
        ->add_option("--server-queue-ms", server_queue_ms, "how long a frame waits for the server")
        ->check(FiniteRange(0.0, 1e5))
        ->capture_default_str();
    command
        ->add_option("--time-limit", time_limit_s,
                     "seconds, after which what is solved is written; 0: no limit")
        ->check(FiniteRange(0.0, 1e7));
    command->add_flag("--resume", resume, "continue the schedule in --out, if it is there");
    command->callback([this] { Run(); });
  }

  Schedule Begin(const Profile& robot, const Profile& server) const {
    if (most_mbit < least_mbit) throw InputError("--most-mbit must be at least --least-mbit");
    if (most_mbit == least_mbit && bandwidths > 2) {
      throw InputError("--least-mbit and --most-mbit are equal: set --bandwidths to 2 at most");
    }
    CheckOverwriting({{"--robot-profile", profiles.robot}, {"--server-profile", profiles.server}},
                     {{"--out", out}});
    CheckWritable({{"--out", out}});
    Schedule schedule = MakeSchedule(robot, server, bandwidths, shares, least_mbit, most_mbit);
    schedule.planner = planner;
    schedule.seed = seed;
    schedule.round_trip_ms = round_trip_ms;
    schedule.server_queue_ms = server_queue_ms;
    if (resume && std::filesystem::exists(out)) {
      Schedule begun = LoadSchedule(out, /*may_lack=*/true);
      CheckIsOf(begun, out.string(), robot, server);
      CheckGoesOn(begun, schedule);
      return begun;
    }
    return schedule;
  }

  // Options that are given must be those that it was begun with; the others are.
  void CheckGoesOn(const Schedule& begun, const Schedule& asked) const {
    const auto check = [&](const char* option, bool is_same) {
      if (is_same || command->count(option) == 0) return;
      throw InputError(fmt::format("{} was begun with another {}; leave that or --resume out",
                                   out.string(), option));
    };
    check("--planner", begun.planner == asked.planner);
    check("--seed", begun.seed == asked.seed);
    check("--round-trip-ms", begun.round_trip_ms == asked.round_trip_ms);
    check("--server-queue-ms", begun.server_queue_ms == asked.server_queue_ms);
    check("--bandwidths", begun.mbit.size() == asked.mbit.size());
    // With two bandwidths the second is the most; one is no link.
    check("--least-mbit", begun.mbit.size() < 3 || begun.mbit[1] == asked.mbit[1]);
    check("--most-mbit", begun.mbit.size() < 2 || begun.mbit.back() == asked.mbit.back());
    check("--shares", begun.robot_work == asked.robot_work);
  }

  void Run() const {
    const Profile robot = profiles.Robot();
    const Profile server = profiles.Server();
    Schedule schedule = Begin(robot, server);
    const size_t count = schedule.buckets.size();
    const auto begun = static_cast<size_t>(
        std::ranges::count(schedule.buckets, true, &Schedule::Bucket::is_solved));
    const SteadyClock clock;
    StatusLine status(clock);
    const auto begin = clock.Now();
    SolverOptions options;
    options.threads = threads;
    options.time_limit_s = time_limit_s;
    options.stop = &StopOnSignals();
    auto kept = begin;
    const bool may_keep = IsKeptIn(out);
    options.progress = [&](size_t solved) {
      if (may_keep && solved < count && clock.Now() - kept > kKeepEvery) {
        Replace(out, ToJsonText(schedule));
        kept = clock.Now();
      }
      status.Show([&] {
        const std::chrono::duration<double> spent = clock.Now() - begin;
        return fmt::format("{} of {} situations solved, {:.0f} s left", solved, count,
                           spent.count() * static_cast<double>(count - solved) /
                               static_cast<double>(std::max<size_t>(1, solved - begun)));
      });
    };
    const bool is_done = SolveSchedule(robot, server, options, schedule);
    Replace(out, ToJsonText(schedule));
    const std::chrono::duration<double> spent = clock.Now() - begin;
    if (is_done) {
      std::cout << fmt::format("{}: {} situations solved in {:.1f} s\n", out.string(), count,
                               spent.count());
    } else {
      std::cout << fmt::format("{}: not all of {} situations solved; continue with --resume\n",
                               out.string(), count);
    }
  }
};

struct ShowCommand {
  ScheduleOptions of;
  std::filesystem::path trace;
  SituationOptions at;

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("show", "Print a schedule, or how a frame runs at one bandwidth.");
    of.AddTo(*command);
    at.AddTo(*command);
    command->add_option("--trace", trace, "write the frame's lanes for Perfetto")
        ->needs(command->get_option("--mbit"));
    command->callback([this] { Run(); });
  }

  void Run() const {
    CheckOverwriting({{"SCHEDULE", of.schedule}}, {{"--trace", trace}});
    CheckWritable({{"--trace", trace}});
    const Schedule schedule = of.Load(/*may_lack=*/!at.mbit);
    if (!at.mbit) {
      std::cout << TableOf(schedule);
      return;
    }
    const Situation situation = at.In(schedule);
    const CostModel model(schedule.robot, schedule.server, situation);
    const Schedule::Found found = schedule.Lookup(situation);
    const Plan& plan = BestOf(model, found.plans);
    const Prediction prediction = model.Predict(plan);
    const Timeline timeline = model.PredictTimeline(plan);
    std::cout << fmt::format(
                     "{}: {:.2f} ms, {:.3f} J; {:.2f} ms between the nearest of the schedule\n",
                     ToText(plan), prediction.latency_ms, prediction.energy_j, found.latency_ms)
              << ToText(timeline) << HowToFollow({plan}, schedule.robot);
    if (!trace.empty()) WriteFile(trace, ToTraceJson(timeline));
  }
};

struct ExplainCommand {
  ScheduleOptions of;
  SituationOptions at;

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("explain", "Compare a situation's plan with the best of every planner.");
    command->footer(PlannerHelp());
    of.AddTo(*command);
    at.AddTo(*command);
    command->callback([this] { Run(); });
  }

  void Run() const {
    const Schedule schedule = of.Load();
    const Situation situation = at.In(schedule);
    const CostModel model(schedule.robot, schedule.server, situation);
    std::vector<PlannedBy> plans = {{"schedule", BestOf(model, schedule.Lookup(situation).plans)}};
    SolveOptions options;
    options.seed = schedule.seed;
    for (const std::string& name : PlannerNames()) {
      if (name == "exhaustive") continue;
      plans.push_back({name, MakePlanner(name)->Solve(model, options)});
    }
    std::cout << Explain(model, std::move(plans));
  }
};

struct CompareCommand {
  ScheduleOptions of;
  std::filesystem::path csv;
  std::filesystem::path svg;
  int threads = static_cast<int>(CoreCount());

  void AddTo(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("compare", "Compare all planners in a schedule's situations.");
    command->footer(PlannerHelp());
    of.AddTo(*command);
    command->add_option("--csv", csv, "write every plan and its cost");
    command->add_option("--svg", svg, "draw latency over bandwidth");
    command->add_option("--threads", threads, "by default one per core")
        ->check(CLI::Range(1, 1024));
    command->callback([this] { Run(); });
  }

  void Run() const {
    CheckOverwriting({{"SCHEDULE", of.schedule}}, {{"--csv", csv}, {"--svg", svg}});
    CheckWritable({{"--csv", csv}, {"--svg", svg}});
    const Schedule schedule = of.Load();
    std::vector<PlannerTimes> planners;
    for (const std::string& name : PlannerNames()) {
      if (name == "exhaustive" || name == schedule.planner) continue;
      Schedule solved = schedule;
      solved.planner = name;
      for (Schedule::Bucket& bucket : solved.buckets) bucket = {};
      SolverOptions options;
      options.threads = threads;
      SolveSchedule(schedule.robot, schedule.server, options, solved);
      planners.push_back(TimesOf(solved));
    }
    planners.push_back(TimesOf(schedule));
    std::cout << SummaryOf(planners);
    if (!csv.empty()) WriteFile(csv, ToCsv(schedule, planners));
    if (!svg.empty()) WriteFile(svg, ToSvg(schedule, planners));
  }

  static PlannerTimes TimesOf(const Schedule& schedule) {
    PlannerTimes times;
    times.planner = schedule.planner;
    for (const Schedule::Bucket& bucket : schedule.buckets) {
      times.plans.push_back(bucket.plan);
      times.latency_ms.push_back(bucket.latency_ms);
      times.energy_j.push_back(bucket.energy_j);
    }
    return times;
  }
};

struct FollowCommand {
  std::filesystem::path trace;
  ProfileOptions profiles;
  double mean_mbit = 0;
  double robot_work = 0.2;
  std::optional<double> server_work;
  double round_trip_ms = 4;
  std::filesystem::path json;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "follow", "Predict what every planner's frames take as a link's bandwidth changes.");
    command->add_option("TRACE", trace, "CSV: seconds,megabits_per_second")->required();
    command->footer(PlannerHelp());
    profiles.AddRequiredTo(*command);
    AddNumber(*command, "--mean-mbit", mean_mbit, "scale the trace to this mean; 0: leave it", 0.0,
              1e6);
    AddNumber(*command, "--robot-work", robot_work, "share of a dense frame's work, 0 to 1", 0.0,
              1.0);
    command
        ->add_option("--server-work", server_work,
                     "the same on the server (default: as on the robot)")
        ->check(FiniteRange(0.0, 1.0));
    AddNumber(*command, "--round-trip-ms", round_trip_ms, "round trip of the link", 0.0, 1e5);
    command->add_option("--json", json, "also write the table as JSON");
    command->callback([this] { Run(); });
  }

  void Run() const {
    CheckOverwriting({{"TRACE", trace},
                      {"--robot-profile", profiles.robot},
                      {"--server-profile", profiles.server}},
                     {{"--json", json}});
    Situation situation;
    situation.round_trip_ms = round_trip_ms;
    situation.robot_work = robot_work;
    situation.server_work = server_work.value_or(robot_work);
    const CostModel model(profiles.Robot(), profiles.Server(), situation);
    const std::vector<FollowedLink> followed = FollowLink(model, LoadLinkTrace(trace, mean_mbit));
    std::cout << ToText(followed);
    if (!json.empty()) WriteFile(json, ToJsonText(followed));
  }
};

struct ValidateCommand {
  ScheduleOptions of;

  void AddTo(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "validate",
        "Check that a schedule is sound, fits its profiles, and says what they predict.");
    of.AddTo(*command);
    command->callback([this] { Run(); });
  }

  void Run() const {
    const Schedule schedule = of.Load();
    const CostModel first(schedule.robot, schedule.server, schedule.SituationOf(0));
    for (size_t i = 0; i < schedule.buckets.size(); ++i) {
      const Schedule::Bucket& bucket = schedule.buckets[i];
      const Prediction prediction = first.At(schedule.SituationOf(i)).Predict(bucket.plan);
      if (!std::isfinite(prediction.latency_ms)) {
        throw InputError(fmt::format(
            "{}: bucket {}: {} cannot be followed at {:.6g} Mbit/s; solve it again "
            "(cacheinf-schedule solve)",
            of.schedule.string(), i, ToText(bucket.plan), schedule.SituationOf(i).mbit_up));
      }
      const auto check = [&](double predicted, double found, const char* unit) {
        if (std::abs(predicted - found) <= 1e-6 * (1 + predicted)) return;
        throw InputError(fmt::format(
            "{}: bucket {}: {} takes {:.6g} {} by the profiles, not {:.6g}; solve it again "
            "(cacheinf-schedule solve)",
            of.schedule.string(), i, ToText(bucket.plan), predicted, unit, found));
      };
      check(prediction.latency_ms, bucket.latency_ms, "ms");
      check(prediction.energy_j, bucket.energy_j, "J");
    }
    std::cout << fmt::format("{}: {} situations, sound\n", of.schedule.string(),
                             schedule.buckets.size());
  }
};

}  // namespace

void AddSchedulerCommands(CLI::App& app) {
  // Callbacks use them until the program ends.
  static auto& commands = *new std::tuple<SolveCommand, ShowCommand, ExplainCommand, CompareCommand,
                                          FollowCommand, ValidateCommand>();
  std::apply([&app](auto&... command) { (command.AddTo(app), ...); }, commands);
}

}  // namespace cacheinf
