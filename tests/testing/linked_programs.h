#ifndef CACHEINF_TESTS_TESTING_LINKED_PROGRAMS_H_
#define CACHEINF_TESTS_TESTING_LINKED_PROGRAMS_H_

// The main functions of the programs, under names of their own, for RunLinked. A test has those
// that its CMake target asks for by cacheinf_link_program.
int robot_main(int argc, char** argv);
int schedule_main(int argc, char** argv);

#endif  // CACHEINF_TESTS_TESTING_LINKED_PROGRAMS_H_
