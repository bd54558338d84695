/* A test is a function whose name is a sentence; it fails if one of its checks does. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "undercroft.h"

void check_fail(const char *file, int line, const char *what);
void check_run(const char *name, void (*test)(void));
int check_report(void);
/* 1 if `status` is `expected`; prints the error's text if not. Frees the error. */
int check_status(const char *file, int line, const char *call, uc_status_t expected, uc_status_t status,
                 uc_error_t *error);

#define RUN(test) check_run(#test, test)
#define CHECK(condition) \
  do { \
    if (!(condition)) { check_fail(__FILE__, __LINE__, #condition); } \
  } while (0)
/* Ends the test: what follows needs it. */
#define REQUIRE(condition) \
  do { \
    if (!(condition)) { \
      check_fail(__FILE__, __LINE__, #condition); \
      return; \
    } \
  } while (0)
/* `call` ends with `&error`; the variable is declared here. */
#define EXPECT(expected, call) \
  do { \
    uc_error_t *error = NULL; \
    uc_status_t status_ = (call); \
    check_status(__FILE__, __LINE__, #call, (expected), status_, error); \
  } while (0)

#define TEXT(literal) (literal), (sizeof(literal) - 1)
#define NO_BOUND UINT32_MAX

/* One for each noun. */
void test_version(void);
void test_error(void);
void test_config(void);
void test_handle(void);
void test_log(void);
void test_cq(void);
void test_metrics(void);
void test_storage(void);
void test_reader(void);
void test_metadata(void);
void test_joint(void);
void test_tiering(void);
void test_close(void);

#endif
