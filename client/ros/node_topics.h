#ifndef CACHEINF_CLIENT_ROS_NODE_TOPICS_H_
#define CACHEINF_CLIENT_ROS_NODE_TOPICS_H_

#include <string>
#include <variant>

#include "client/answer/answer.h"
#include "client/ros/node_messages.h"
#include "client/ros/robot_node.h"
#include "common/answer/answers.h"

namespace cacheinf {

// The topics of a camera's answers. `Ros` names the messages and Publisher<Message>, which is made
// of a node, a topic and a `How`, and has HasListeners and Publish(message).
template <typename Ros>
class NodeTopics {
 public:
  template <typename Node, typename How>
  NodeTopics(Node& node, const std::string& prefix, const How& how)
      : info_(node, prefix + "answer", how),
        json_(node, prefix + "json", how),
        detections_(node, prefix + "detections", how),
        keypoints_(node, prefix + "keypoints", how),
        classification_(node, prefix + "classification", how),
        segmentation_(node, prefix + "segmentation", how),
        overlay_(node, prefix + "overlay", how),
        recomputed_(node, prefix + "recomputed", how) {}

  NodeWants Wants() const {
    return {info_.HasListeners() || json_.HasListeners() || detections_.HasListeners() ||
                keypoints_.HasListeners() || classification_.HasListeners() ||
                segmentation_.HasListeners(),
            overlay_.HasListeners(), recomputed_.HasListeners()};
  }

  // Names a subscriber whose quality of service does not fit, in words; empty: all fit. Only for
  // publishers that know.
  std::string Misfit() const {
    std::string first;
    const auto look = [&first](const auto&... publishers) {
      ((first = first.empty() ? publishers.Misfit() : first), ...);
    };
    look(info_, json_, detections_, keypoints_, classification_, segmentation_, overlay_,
         recomputed_);
    return first;
  }

  void Publish(const NodeAnswer& answer) {
    typename Ros::AnswerInfo info;
    SetInfo(answer, info);
    info_.Publish(info);
    if (json_.HasListeners()) {
      typename Ros::String line;
      line.data = ToJsonLine(*answer.answer, *answer.reader);
      json_.Publish(line);
    }
    std::visit([&](const auto& content) { Publish(answer, content); }, answer.answer->content);
    using Image = typename Ros::Image;
    if (!answer.overlay.empty()) overlay_.Publish(ImageOf<Image>(answer, answer.overlay));
    if (!answer.recomputed.empty()) recomputed_.Publish(ImageOf<Image>(answer, answer.recomputed));
  }

 private:
  template <typename Message>
  using Publisher = typename Ros::template Publisher<Message>;

  // A model can be changed for one that finds other things, so all topics are there.
  void Publish(const NodeAnswer& answer, const Detections& /*boxes*/) {
    detections_.Publish(DetectionsOf<typename Ros::Detections>(answer));
  }
  void Publish(const NodeAnswer& answer, const Keypoints& /*points*/) {
    keypoints_.Publish(KeypointsOf<typename Ros::Keypoints>(answer));
  }
  void Publish(const NodeAnswer& answer, const Classification& /*classes*/) {
    classification_.Publish(ClassificationOf<typename Ros::Classification>(answer));
  }
  void Publish(const NodeAnswer& answer, const ClassMap& /*map*/) {
    // There are none for a listener that came only after the answer was computed.
    if (answer.classes.empty()) return;
    segmentation_.Publish(SegmentationOf<typename Ros::Image>(answer));
  }
  void Publish(const NodeAnswer& /*answer*/, const RawOutputs& /*outputs*/) {}
  void Publish(const NodeAnswer& /*answer*/, const Embedding& /*numbers*/) {}

  Publisher<typename Ros::AnswerInfo> info_;
  Publisher<typename Ros::String> json_;
  Publisher<typename Ros::Detections> detections_;
  Publisher<typename Ros::Keypoints> keypoints_;
  Publisher<typename Ros::Classification> classification_;
  Publisher<typename Ros::Image> segmentation_;
  Publisher<typename Ros::Image> overlay_;
  Publisher<typename Ros::Image> recomputed_;
};

}  // namespace cacheinf

#endif  // CACHEINF_CLIENT_ROS_NODE_TOPICS_H_
