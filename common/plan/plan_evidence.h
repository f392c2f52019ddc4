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

// What a robot's own frames have shown of its plans: how far the time that they take is from what
// was predicted, and how well their answers agree with dense ones to the same frames. Agreements
// are from 0 to 1.
//
// Times are known by kind of plan, as the last hundred ratios of what a frame took to what was
// predicted, so that a plan that was never followed has them, too. A kind without frames, or
// without one for 300 frames, begins with ten ratios from .8 to 2.5, of which each frame replaces
// one.
//
// Agreement is known by way of computing: local with a cache; each smaller model, and each codec
// and its server, with a cache and without; split likewise. Alone and dense it is 1. Others begin
// at .95, a codec from .88 to .97 by its quality, a smaller model at .75, 1 for a dense server that
// gets all bits, or what a clip or trials have shown; the cache of a smaller model, or a server's
// behind a codec or split, begins as the robot's own with what is lost without it. The beginning
// counts as one sample or, where a clip or trials have shown more, as up to four, as one frame
// alone may err by as much. Of two samples the later one counts more, and while a way is not
// followed it gets back to its beginning: two thirds of the way in 300 frames. The agreement of a
// plan that computes every k-th frame is the mean over its answers, moved by 0 to k-1 frames.
//
// Losses, which are logarithms of agreements, are taken for independent: the squares add of a
// codec's, a cache's, and that of every frame by which an answer is moved. So an answer loses twice
// as much by four frames as by one, as long as nothing is known of answers of that age: where what
// moves comes back, old ones may agree better than young ones.
class PlanEvidence {
 public:
  // What a frame that followed such a plan took over what was predicted of it: before the frame,
  // and with what is known now of how much it changed.
  void NoteTaken(Plan::Kind kind, double ratio, double ratio_of_known_work);

  // How well an answer by this plan agreed with a dense one to the same frame. The weight is 1 for
  // a frame's whole answer, and less for a part of it or where little was to be compared.
  void NoteAgreement(const Plan& plan, double agreement, double weight);

  // How well a clip has shown the plan to agree, by samples of this weight: where it begins.
  void Assume(const Plan& plan, double agreement, double weight);

  // How well the plan would have agreed on a picture of the robot's: where it begins from now on.
  // The last trials count, however old they are.
  void NoteTrial(const Plan& plan, double agreement, double weight);

  // How well the answer to so many frames before, moved with the scene, agreed with the one then
  // computed: what is in hand when that is late. Until it is known, one sample of .75 by a frame.
  // The mean counts, of agreements as of how far they were moved: where a frame has a box or two,
  // its answer agrees by all or nothing.
  void NoteMoved(double agreement, double weight, int frames);

  // So many of the camera's frames followed this plan: what is known of all others is older by
  // them.
  void NoteFollowed(const Plan& plan, double frames = 1);

  // Takes over what was noted before; where nothing is noted here, also what was assumed.
  void GoOnFrom(const PlanEvidence& before);

  // All plans compute a dense run's bits.
  void TakeAsExact() { is_exact_ = true; }

  double Agreement(const Plan& plan) const { return Agreement(plan, /*hopes=*/false); }
  // The same if what is not known is as good as it can be.
  double HopedAgreement(const Plan& plan) const { return Agreement(plan, /*hopes=*/true); }
  // Whether more was seen of it than is assumed.
  bool IsAgreementKnown(const Plan& plan) const;
  double moved() const;  // by a frame
  // Of an answer that agrees so well before it is moved by so many frames. REQUIRES: frames >= 0.
  double Moved(double agreement, double frames) const;
  // The same of the mean of 0, 1, … every - 1 frames.
  double MeanMoved(double agreement, int every) const;

  // A camera's frames come every period, above 0. Each is to be answered within a deadline, above
  // 0. A robot that is busy with a frame for longer than the period, with between_ms after its
  // answer, begins a frame at any time until the next one comes: the hundred frames have waited
  // 1/8, 3/8, 5/8 and 7/8 of the period in turn. One that tracks moves an answer to the frames that
  // wait and were not due yet, in moving_ms each, and computes the next one: if the robot is free
  // by then, as it comes. A frame whose own answer is late has the newest one, moved, that was
  // there lead_ms before its deadline.
  struct Pace {
    double deadline_ms = 0;
    double period_ms = 0;
    double moving_ms = 0;
    double lead_ms = 0;
    double between_ms = 0;
  };
  // Of frames that are computed, and predicted to take so long from then on.
  double Late(const Plan& plan, double predicted_ms, const Pace& pace) const;
  // REQUIRES: percent <= 100.
  double PercentileMs(const Plan& plan, double predicted_ms, size_t percent) const;
  // The expected agreement of what is in hand at a frame's deadline: the plan's answer or, if that
  // is late or the robot was busy with an older frame, one moved from that, or from one before.
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

  // Of answers that were moved.
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
