// A node that sends every image on the topic "image" back on "image_back" until it is told to stop.
// It is written to rcl, the C library under every ROS client: no rclcpp is needed to build it.
#include <rcl/rcl.h>
#include <rcutils/error_handling.h>
#include <rmw/qos_profiles.h>
#include <sensor_msgs/msg/image.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

namespace {

volatile std::sig_atomic_t stopped = 0;

void Require(rcl_ret_t result) {
  if (result != RCL_RET_OK) throw std::runtime_error(rcutils_get_error_string().str);
}

class ImageEcho {
 public:
  ImageEcho() {
    Require(rcl_init_options_init(&options_, rcl_get_default_allocator()));
    Require(rcl_init(0, nullptr, &options_, &context_));
    const rcl_node_options_t node_options = rcl_node_get_default_options();
    Require(rcl_node_init(&node_, "image_echo", "", &context_, &node_options));

    const rosidl_message_type_support_t* type =
        ROSIDL_GET_MSG_TYPE_SUPPORT(sensor_msgs, msg, Image);
    rcl_subscription_options_t in_options = rcl_subscription_get_default_options();
    in_options.qos = rmw_qos_profile_sensor_data;
    Require(rcl_subscription_init(&in_, &node_, type, "image", &in_options));
    const rcl_publisher_options_t out_options = rcl_publisher_get_default_options();
    Require(rcl_publisher_init(&out_, &node_, type, "image_back", &out_options));
    Require(
        rcl_wait_set_init(&arrivals_, 1, 0, 0, 0, 0, 0, &context_, rcl_get_default_allocator()));
    if (!sensor_msgs__msg__Image__init(&image_)) throw std::bad_alloc();
  }
  ImageEcho(const ImageEcho&) = delete;
  ImageEcho& operator=(const ImageEcho&) = delete;

  // Waits a tenth of a second for an image, and sends it back.
  void Spin() {
    Require(rcl_wait_set_clear(&arrivals_));
    Require(rcl_wait_set_add_subscription(&arrivals_, &in_, nullptr));
    const rcl_ret_t waited = rcl_wait(&arrivals_, RCL_MS_TO_NS(100));
    if (waited == RCL_RET_TIMEOUT) return;
    Require(waited);
    const rcl_ret_t taken = rcl_take(&in_, &image_, nullptr, nullptr);
    if (taken == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return;
    Require(taken);
    Require(rcl_publish(&out_, &image_, nullptr));
  }

  void Close() {
    sensor_msgs__msg__Image__fini(&image_);
    Require(rcl_wait_set_fini(&arrivals_));
    Require(rcl_publisher_fini(&out_, &node_));
    Require(rcl_subscription_fini(&in_, &node_));
    Require(rcl_node_fini(&node_));
    Require(rcl_shutdown(&context_));
    Require(rcl_context_fini(&context_));
    Require(rcl_init_options_fini(&options_));
  }

 private:
  rcl_init_options_t options_ = rcl_get_zero_initialized_init_options();
  rcl_context_t context_ = rcl_get_zero_initialized_context();
  rcl_node_t node_ = rcl_get_zero_initialized_node();
  rcl_subscription_t in_ = rcl_get_zero_initialized_subscription();
  rcl_publisher_t out_ = rcl_get_zero_initialized_publisher();
  rcl_wait_set_t arrivals_ = rcl_get_zero_initialized_wait_set();
  sensor_msgs__msg__Image image_ = {};
};

}  // namespace

int main() {
  std::signal(SIGTERM, [](int) { stopped = 1; });
  try {
    ImageEcho echo;
    while (stopped == 0) echo.Spin();
    echo.Close();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
