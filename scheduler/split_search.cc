#include "scheduler/split_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <pagmo/algorithms/sade.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <pagmo/types.hpp>
#include <random>
#include <utility>
#include <vector>

namespace cacheinf {
namespace {

using Cuts = std::vector<Cut>;

// Up to this many places for cuts have a gene each; with more, a plan has up to kMostCuts cuts
// anywhere.
constexpr size_t kFewPlaces = 12;
constexpr size_t kMostCuts = 6;
constexpr int kEvolutions = 3;

// Genes. The tenths at either end of a share's range are 0 and 1, since these are special; anything
// above is no cut.
constexpr double kShareMargin = 100;
constexpr double kNoCutFrom = Cut::kAll + 2 * kShareMargin;
constexpr double kMostShare = kNoCutFrom + 200;

class SplitSearch {
 public:
  SplitSearch(const CostModel& model, bool keeps, uint64_t seed, int trials)
      : model_(model), places_(model.cut_places()), random_(seed), trials_left_(trials) {
    tried_.kind = Plan::Kind::kSplit;
    tried_.keeps = keeps;
  }

  bool has_few_places() const { return places_.size() <= kFewPlaces; }

  size_t gene_count() const { return has_few_places() ? places_.size() : 2 * kMostCuts; }
  double LargestGene(size_t gene) const {
    return has_few_places() || gene % 2 == 1 ? kMostShare : static_cast<double>(places_.size());
  }

  Cuts Decode(const std::vector<double>& genes) const {
    Cuts cuts;
    for (size_t i = 0; i < (has_few_places() ? places_.size() : kMostCuts); ++i) {
      const double share = genes[has_few_places() ? i : 2 * i + 1];
      if (share >= kNoCutFrom) continue;
      const size_t place = has_few_places() ? i : static_cast<size_t>(genes[2 * i]);
      cuts.push_back({places_[std::min(place, places_.size() - 1)],
                      static_cast<int>(std::clamp(std::round(share - kShareMargin), 0.0,
                                                  static_cast<double>(Cut::kAll)))});
    }
    std::ranges::stable_sort(cuts, {}, &Cut::after);
    const auto is_same = [](const Cut& a, const Cut& b) { return a.after == b.after; };
    cuts.erase(std::unique(cuts.begin(), cuts.end(), is_same), cuts.end());
    return cuts;
  }

  std::vector<double> Encode(const Cuts& cuts) const {
    std::vector<double> genes(gene_count());
    for (size_t gene = 0; gene < genes.size(); ++gene) {
      genes[gene] = LargestGene(gene) == kMostShare ? (kNoCutFrom + kMostShare) / 2 : 0.0;
    }
    size_t count = 0;
    for (const Cut& cut : cuts) {
      const auto place = std::ranges::lower_bound(places_, cut.after);
      if (place == places_.end() || *place != cut.after) continue;
      const auto index = static_cast<size_t>(place - places_.begin());
      const double share = cut.robot_thousandths == 0 ? kShareMargin / 2
                           : cut.robot_thousandths == Cut::kAll
                               ? Cut::kAll + 1.5 * kShareMargin
                               : kShareMargin + cut.robot_thousandths;
      if (has_few_places()) {
        genes[index] = share;
      } else if (count < kMostCuts) {
        genes[2 * count] = static_cast<double>(index) + 0.5;
        genes[2 * count + 1] = share;
        ++count;
      }
    }
    return genes;
  }

  double Try(const Cuts& cuts) {
    --trials_left_;
    tried_.cuts = cuts;
    return model_.Ms(tried_);
  }

  // The best of a few shares at every place, if there are few places.
  Cuts BestOfCoarse(int trials) {
    static constexpr std::array<int, 4> kShares = {-1, 0, Cut::kAll / 2, Cut::kAll};
    Cuts best;
    const size_t bits = 2 * places_.size();
    if (bits > 16 || 1 << bits > trials) return best;
    double best_ms = std::numeric_limits<double>::infinity();
    for (size_t choice = 0; choice < size_t{1} << bits; ++choice) {
      Cuts cuts;
      for (size_t i = 0; i < places_.size(); ++i) {
        const int share = kShares[choice >> (2 * i) & 3];
        if (share >= 0) cuts.push_back({places_[i], share});
      }
      const double ms = Try(cuts);
      if (ms >= best_ms) continue;
      best = std::move(cuts);
      best_ms = ms;
    }
    return best;
  }

  // Runs differential evolution from these and random plans.
  Cuts Evolve(const std::vector<Cuts>& hints, int trials) {
    constexpr int kPopulation = 24;
    if (trials < 2 * kPopulation) return {};
    struct Problem {
      SplitSearch* search = nullptr;

      pagmo::vector_double fitness(const pagmo::vector_double& genes) const {
        // One cannot compute with an infinite latency.
        return {std::min(1e12, search->Try(search->Decode(genes)))};
      }
      std::pair<pagmo::vector_double, pagmo::vector_double> get_bounds() const {
        pagmo::vector_double most;
        for (size_t i = 0; i < search->gene_count(); ++i) most.push_back(search->LargestGene(i));
        return {pagmo::vector_double(most.size(), 0.0), most};
      }
    };
    pagmo::population population{pagmo::problem(Problem{this}), 0,
                                 static_cast<unsigned>(random_())};
    for (const Cuts& cuts : hints) {
      if (population.size() < kPopulation / 2) population.push_back(Encode(cuts));
    }
    while (population.size() < kPopulation) {
      pagmo::vector_double genes;
      for (size_t i = 0; i < gene_count(); ++i) {
        genes.push_back(std::uniform_real_distribution<double>(0.0, LargestGene(i))(random_));
        // Few cuts are more likely to be good than many.
        if (LargestGene(i) == kMostShare && random_() % 2 == 0) genes.back() = kMostShare;
      }
      population.push_back(genes);
    }
    const auto generations = static_cast<unsigned>(trials / kPopulation - 1);
    const pagmo::sade algorithm(generations, 2, 1, 1e-9, 1e-9, false,
                                static_cast<unsigned>(random_()));
    return Decode(algorithm.evolve(population).champion_x());
  }

  // Steps from there while a step is better.
  void Polish(Cuts cuts, int trials) {
    best_ = std::move(cuts);
    best_ms_ = Try(best_);
    const int end = trials_left_ - trials;
    for (bool is_better = true; is_better && trials_left_ > end;) {
      is_better = false;
      for (const auto step :
           {&SplitSearch::StepShares, &SplitSearch::StepPlaces, &SplitSearch::Remove,
            &SplitSearch::Insert, &SplitSearch::StepPairs}) {
        if (trials_left_ <= end) break;
        is_better |= (this->*step)();
      }
    }
  }

  const Cuts& best() const { return best_; }
  double best_ms() const { return best_ms_; }

 private:
  bool Accept(const Cuts& cuts) {
    const double ms = Try(cuts);
    if (ms >= best_ms_ * (1 - 1e-9)) return false;
    best_ = cuts;
    best_ms_ = ms;
    return true;
  }

  bool StepShares() {
    bool is_better = false;
    for (size_t i = 0; i < best_.size(); ++i) {
      for (const int share : {0, Cut::kAll}) {
        Cuts cuts = best_;
        cuts[i].robot_thousandths = share;
        is_better |= Accept(cuts);
      }
      for (const int step : {300, 100, 30, 10, 3}) {
        for (const int signed_step : {step, -step}) {
          while (true) {
            Cuts cuts = best_;
            cuts[i].robot_thousandths =
                std::clamp(cuts[i].robot_thousandths + signed_step, 0, Cut::kAll);
            if (cuts == best_ || !Accept(cuts)) break;
            is_better = true;
          }
        }
      }
    }
    return is_better;
  }

  // Moves a cut by this many places, staying between its neighbours.
  bool Move(Cuts& cuts, size_t i, int places) const {
    const auto place = std::ranges::lower_bound(places_, cuts[i].after) - places_.begin();
    const auto moved = place + places;
    if (moved < 0 || moved >= static_cast<std::ptrdiff_t>(places_.size())) return false;
    cuts[i].after = places_[moved];
    return (i == 0 || cuts[i - 1].after < cuts[i].after) &&
           (i + 1 == cuts.size() || cuts[i].after < cuts[i + 1].after);
  }

  bool StepPlaces() {
    bool is_better = false;
    for (size_t i = 0; i < best_.size(); ++i) {
      for (const int step : {1, -1, 2, -2, 3, -3, 5, -5, 8, -8, 20, -20, 50, -50}) {
        Cuts cuts = best_;
        if (Move(cuts, i, step)) is_better |= Accept(cuts);
      }
    }
    return is_better;
  }

  bool Remove() {
    for (size_t i = 0; i < best_.size(); ++i) {
      Cuts cuts = best_;
      cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(i));
      if (Accept(cuts)) return true;
    }
    return false;
  }

  // Sets the share of the cut there, adding it if needed; below 0 removes it.
  static void Set(Cuts& cuts, int after, int share) {
    const auto at = std::ranges::lower_bound(cuts, after, {}, &Cut::after);
    const bool stands = at != cuts.end() && at->after == after;
    if (share < 0) {
      if (stands) cuts.erase(at);
    } else if (stands) {
      at->robot_thousandths = share;
    } else {
      cuts.insert(at, {after, share});
    }
  }

  bool Insert() {
    constexpr size_t kPlaces = 20;
    bool is_better = false;
    for (size_t i = 0; i < std::min(kPlaces, places_.size()); ++i) {
      const int after = places_[has_few_places() ? i : random_() % places_.size()];
      const auto next = std::ranges::upper_bound(best_, after, {}, &Cut::after);
      const int before = next == best_.begin() ? Cut::kAll : (next - 1)->robot_thousandths;
      for (const int share : {0, Cut::kAll, before, (before + Cut::kAll) / 2, before / 2}) {
        Cuts cuts = best_;
        Set(cuts, after, share);
        is_better |= Accept(cuts);
      }
    }
    return is_better;
  }

  bool StepPairs() {
    if (has_few_places()) return SetPairs();
    bool is_better = false;
    for (size_t i = 0; i + 1 < best_.size(); ++i) {
      for (const int step : {100, -100, 20, -20}) {
        for (const int sign : {1, -1}) {
          Cuts cuts = best_;
          int& first = cuts[i].robot_thousandths;
          int& second = cuts[i + 1].robot_thousandths;
          first = std::clamp(first + step, 0, Cut::kAll);
          second = std::clamp(second + sign * step, 0, Cut::kAll);
          is_better |= Accept(cuts);
        }
      }
      for (const int step : {1, -1, 4, -4, 16, -16}) {
        Cuts cuts = best_;
        const size_t first = step > 0 ? i + 1 : i;
        if (Move(cuts, first, step) && Move(cuts, first == i ? i + 1 : i, step)) {
          is_better |= Accept(cuts);
        }
      }
    }
    return is_better;
  }

  bool SetPairs() {
    bool is_better = false;
    for (size_t a = 0; a < places_.size(); ++a) {
      for (size_t b = a + 1; b < places_.size(); ++b) {
        for (int first = -100; first <= Cut::kAll; first += 100) {
          for (int second = -100; second <= Cut::kAll; second += 100) {
            Cuts cuts = best_;
            Set(cuts, places_[a], first);
            Set(cuts, places_[b], second);
            is_better |= Accept(cuts);
          }
        }
      }
    }
    return is_better;
  }

  const CostModel& model_;
  const std::vector<int>& places_;
  std::mt19937_64 random_;
  int trials_left_;
  Plan tried_;
  Cuts best_;
  double best_ms_ = 0;
};

}  // namespace

Plan SearchSplits(const CostModel& model, bool keeps, const SolveOptions& options) {
  Plan best;
  best.keeps = keeps;
  if (!model.is_linked()) return best;
  // Takes some tens of milliseconds, at 30 ns per operator.
  const auto operators = static_cast<double>(model.robot().operators.size());
  const auto trials = static_cast<int>(std::clamp(1.6e6 / operators, 2500.0, 6e4));
  SplitSearch search(model, keeps, options.seed, trials);
  std::vector<Cuts> starts = {{}};
  for (const Plan& hint : options.hints) {
    if (hint.kind == Plan::Kind::kSplit && std::ranges::find(starts, hint.cuts) == starts.end()) {
      starts.push_back(hint.cuts);
    }
  }
  std::vector<std::pair<double, Cuts>> ranked;
  for (const Cuts& cuts : starts) ranked.emplace_back(search.Try(cuts), cuts);
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  // Several short evolutions reach more places than a long one, especially evolutions without
  // hints.
  std::vector<Cuts> polished = {ranked.front().second, search.BestOfCoarse(trials / 8)};
  for (int i = 0; i < kEvolutions; ++i) {
    polished.push_back(
        search.Evolve(i == 0 ? starts : std::vector<Cuts>(), trials / (2 * kEvolutions)));
  }
  double best_ms = model.Ms(best);
  for (const Cuts& cuts : polished) {
    search.Polish(cuts, trials / static_cast<int>(2 * polished.size()));
    if (search.best_ms() >= best_ms) continue;
    best_ms = search.best_ms();
    best.kind = Plan::Kind::kSplit;
    best.cuts = search.best();
  }
  if (best.cuts.empty()) best.kind = Plan::Kind::kLocal;
  return best;
}

}  // namespace cacheinf
