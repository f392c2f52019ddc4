#ifndef CACHEINF_COMMON_PLAN_PLAN_EVIDENCE_H_
#define CACHEINF_COMMON_PLAN_PLAN_EVIDENCE_H_

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "common/plan/plan.h"

namespace cacheinf {

// What a robot's own frames have shown about its plans: how far their times are from what was
// predicted, and how well their answers agree with dense ones to the same frames. Agreements are
// from 0 to 1.
//
// Times are kept by kind of plan, as the last hundred ratios of what a frame took to what was
// predicted, so that a plan that was never followed has them, too. A kind without frames, or
// without one for 300 frames, begins with ten ratios from .8 to 2.5; each frame replaces one.
//
// Agreement is kept by way of computing: local with a cache; each smaller model, and each codec and
// its server, with a cache and without; split likewise. Alone and dense it is 1. Others begin at
// .95, a codec from .88 to .97 by its quality, a smaller model at .75, 1 for a dense server that
// gets all bits, or what a clip or trials have shown; the cache of a smaller model, or a server's
// behind a codec or split, begins with the losses of the robot's own cache and of the same way
// without one. The beginning counts as one sample or, where a clip or trials have shown more, as up
// to four, as one frame alone may err by as much. Later samples count more, and a way that is not
// followed returns to its beginning: two thirds of the way in 300 frames. The agreement of a plan
// that computes every k-th frame is the mean over its answers, moved by 0 to k-1 frames.
//
// Losses, which are logarithms of agreements, are assumed to be independent: the squares of a
// codec's loss, a cache's, and that of every frame by which an answer is moved add up. So an answer
// loses twice as much by four frames as by one, until answers of that age are known: where motion
// repeats, old answers may agree better than young ones.
class PlanEvidence {
 public:
  // Notes what a frame of such a plan took, over what was predicted: before the frame, and with
  // what is now known about how much it changed.
  void NoteTaken(Plan::Kind kind, double ratio, double ratio_of_known_work);

  // Notes how well an answer by this plan agreed with a dense one to the same frame. The weight is
  // 1 for a frame's whole answer, and less for part of it or where there was little to compare.
  void NoteAgreement(const Plan& plan, double agreement, double weight);

  // Begins the plan at the agreement that a clip has shown, by samples of this weight.
  void Assume(const Plan& plan, double agreement, double weight);

  // Notes how well the plan would have agreed on one of the robot's pictures; from now on it begins
  // there. The last trials count, however old they are.
  void NoteTrial(const Plan& plan, double agreement, double weight);

  // Notes how well an answer moved by so many frames agreed with the one computed for the same
  // frame: it is in hand when the computed one is late. Until this is known, one sample of .75 for
  // one frame stands in. Means count, both of agreements and of how far answers were moved: where a
  // frame has a box or two, its answer agrees fully or not at all.
  void NoteMoved(double agreement, double weight, int frames);

  // So many of the camera's frames followed this plan: knowledge of all other plans ages by as
  // many.
  void NoteFollowed(const Plan& plan, double frames = 1);

  // Takes over what was noted before; where nothing is noted here, also what was assumed.
  void GoOnFrom(const PlanEvidence& before);

  // All plans compute a dense run's bits.
  void TakeAsExact() { is_exact_ = true; }

  double Agreement(const Plan& plan) const { return Agreement(plan, /*hopes=*/false); }
  // The same, if everything unknown is as good as it can be.
  double HopedAgreement(const Plan& plan) const { return Agreement(plan, /*hopes=*/true); }
  // Whether little of its agreement is still assumed.
  bool IsAgreementKnown(const Plan& plan) const;
  double moved() const;  // by a frame
  // The agreement of an answer that agrees so well before it is moved by so many frames. REQUIRES:
  // frames >= 0.
  double Moved(double agreement, double frames) const;
  // The mean of that over 0, 1, … every - 1 frames.
  double MeanMoved(double agreement, int every) const;

  // A camera delivers a frame every period (above 0); each has a deadline (above 0). If a frame
  // keeps the robot busy for longer than the period, between_ms after its answer included, the
  // robot begins the next one at any time within a period: the hundred frames have waited 1/8, 3/8,
  // 5/8 and 7/8 of the period in turn. A robot that tracks moves an answer to each frame that waits
  // and is not yet due, in moving_ms each, and computes the next one, as soon as it comes if the
  // robot is free by then. If a frame's own answer is late, it has the newest answer, moved, that
  // was there lead_ms before the deadline.
  struct Pace {
    double deadline_ms = 0;
    double period_ms = 0;
    double moving_ms = 0;
    double lead_ms = 0;
    double between_ms = 0;
  };
  // The share that is late of computed frames that are predicted to take so long once begun.
  double Late(const Plan& plan, double predicted_ms, const Pace& pace) const;
  // REQUIRES: percent <= 100.
  double PercentileMs(const Plan& plan, double predicted_ms, size_t percent) const;
  // The expected agreement of what is in hand at a frame's deadline: the plan's answer or, if that
  // is late or the robot was busy with an older frame, an older answer, moved.
  double InHand(const Plan& plan, double predicted_ms, const Pace& pace) const;

 private:
  static constexpr double kUnknownMoved = 0.75;

  struct Ratio {
    double any_work = 1;  // of plans that keep results
    double known_work = 1;
  };
  struct Times {
    std::deque<Ratio> ratios = Unknown();
    size_t unknown = ratios.size();  // the first of them
    double unused = 0;               // frames

    static std::deque<Ratio> Unknown();
  };
  struct Assumed {
    double agreement = 0;
    double weight = 0;
  };
  struct Samples {
    double sum = 0;
    double weight = 0;
    double unknown = 1;  // a share of the beginning's weight

    void Add(double agreement, double more);
    void GetOlder(double frames);
    double Mean(double beginning, double its_weight = 1) const {
      const double of_beginning = unknown * its_weight;
      return (of_beginning * beginning + sum) / (of_beginning + weight);
    }
  };

  // For answers that were moved.
  struct MovedSamples {
    Samples agreement;
    Samples root;  // of frames

    void Add(double value, double weight, int frames);
  };
  static constexpr size_t kAges = 6;  // 1, 2 to 3, 4 to 7, … and 32 frames or more
  static size_t AgeOf(double frames);

  static std::string WayOf(const Plan& plan);
  double Agreement(const Plan& plan, bool hopes) const;
  double Beginning(const Plan& plan, bool hopes) const;
  double WeightOfBeginning(const Plan& plan) const;
  std::vector<double> RatiosOf(const Plan& plan) const;

  std::array<Times, 3> times_;              // by Plan::Kind
  std::map<std::string, Assumed> assumed_;  // by WayOf
  std::map<std::string, Assumed> tried_;    // likewise
  std::map<std::string, Samples> samples_;  // likewise
  MovedSamples moved_;
  std::array<MovedSamples, kAges> moved_at_;
  bool is_exact_ = false;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_PLAN_PLAN_EVIDENCE_H_
