# SPDX-License-Identifier: MIT
#
# Tests print TAP; tests/run starts them, reads it and adds it up.
#
#   tests/unit/test_*.c    one cmocka program each; needs no root
#   tests/unit/*.c         (any other) helpers, linked into all of those
#   tests/unit/*.test      scripts; need no root
#   tests/login/*.test     scripts; need root, real sshd, su, cron
#   tests/shell/*.test     the same, for sbxsh without the PAM module
#   tests/tools/*.test     the same, about what an agent works with
#   tests/probe/*.c        small programs that the scripts start inside a sandbox
#   tests/fuzz/fuzz_*.c    libFuzzer entry points; replay.c runs them over tests/fuzz/corpus/*/

UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_HELPERS := $(filter-out $(wildcard tests/unit/test_*.c),$(wildcard tests/unit/*.c))
UNIT_PROGRAMS = $(patsubst %.c,$(BUILD)/%,$(UNIT_SOURCES))
UNIT_SCRIPTS := $(sort $(wildcard tests/unit/*.test))
ifdef SANITIZE
# These run no C code of ours, or a static program.
UNIT_SCRIPTS := $(filter-out %/install.test %/run.test %/documents.test,$(UNIT_SCRIPTS))
# A sanitizer's run time makes system calls that these filters forbid.
UNIT_SOURCES := $(filter-out %/test_confine.c,$(UNIT_SOURCES))
endif
LOGIN_SCRIPTS := $(foreach dir,login shell tools,$(sort $(wildcard tests/$(dir)/*.test)))
PROBE_SOURCES := $(wildcard tests/probe/*.c)
PROBES := $(patsubst %.c,$(BUILD)/%,$(PROBE_SOURCES))
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_REPLAYS := $(patsubst %.c,$(BUILD)/%-replay,$(FUZZ_SOURCES))
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(FUZZ_SOURCES))

# What unit tests may use besides the library: all of the front ends but their entry points.
FRONT_ENDS := $(BUILD)/libfrontends.a
$(FRONT_ENDS): $(call objects,$(filter-out pam_module/pam_sbx.c control/sbxctl.c shell/sbxsh.c keeper/sbx_keeper.c, \
		$(MODULE_SOURCES) $(CONTROL_SOURCES) $(SHELL_SOURCES) $(KEEPER_SOURCES)))
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

$(UNIT_PROGRAMS): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o \
		$(call objects,$(UNIT_HELPERS)) $(FRONT_ENDS) $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CFLAGS_ALL) -pie $(LDFLAGS_ALL) -o $@ $^ \
		$(CMOCKA_LIBS) $(PAM_LIBS) $(JSON_LIBS) $(ACL_LIBS) $(SECCOMP_LIBS) $(CORE_LIBS)

# Static: they have to run in any root file system.
$(PROBES): $(BUILD)/tests/probe/%: $(BUILD)/obj/tests/probe/%.o
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CFLAGS_ALL) -static-pie $(LDFLAGS_ALL) -o $@ $^

$(FUZZ_REPLAYS): $(BUILD)/tests/fuzz/%-replay: $(BUILD)/obj/tests/fuzz/%.o \
		$(BUILD)/obj/tests/fuzz/replay.o $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CFLAGS_ALL) -pie $(LDFLAGS_ALL) -o $@ $^ $(CORE_LIBS)

UNIT_TESTS := $(UNIT_PROGRAMS) $(UNIT_SCRIPTS)
TEST_ENV := SBX_BUILD='$(abspath $(BUILD))' CMOCKA_MESSAGE_OUTPUT=TAP

.PHONY: test test-unit test-login test-programs
test: ##- Everything: unit tests and, as root, real logins in a throw-away overlay
	@$(MAKE) deps DEPS='build test'
	@$(MAKE) test-programs
	@$(TEST_ENV) tests/run $(UNIT_TESTS) $(FUZZ_REPLAYS) $(LOGIN_SCRIPTS)

test-unit: $(PRODUCTS) $(UNIT_PROGRAMS) $(FUZZ_REPLAYS) ##- Only what needs no root
	@$(TEST_ENV) tests/run $(UNIT_TESTS) $(FUZZ_REPLAYS)

test-login: all $(PROBES) ##- Only the real logins (root); T='tests/login/10*' picks some
	@$(TEST_ENV) tests/run $(or $(wildcard $(T)),$(LOGIN_SCRIPTS))

test-programs: all $(UNIT_PROGRAMS) $(FUZZ_REPLAYS) $(PROBES)

.PHONY: sanitize
sanitize: ##- Unit tests and fuzz corpus again under AddressSanitizer and UBSan
	@$(MAKE) BUILD=$(BUILD)/sanitize SANITIZE=1 test-unit

.PHONY: fuzz
fuzz: ##- Build the fuzzers (clang): build/fuzz/tests/fuzz/fuzz_*; run one with its corpus folder
	@$(MAKE) BUILD=$(BUILD)/fuzz CC=clang SANITIZE=1 CFLAGS='-fsanitize=fuzzer-no-link' fuzzers

.PHONY: fuzzers
fuzzers: $(FUZZERS)
$(FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer -pie $(LDFLAGS_ALL) -o $@ $^ $(CORE_LIBS)

# --- Demo ----------------------------------------------------------------------------------------

.PHONY: demo
demo: ##- Log a throw-away agent in by su and ssh, in an overlay of this machine; nothing is left
	@$(MAKE) deps DEPS='build demo'
	@$(MAKE) all
	@SBX_BUILD='$(abspath $(BUILD))' tests/demo

# --- Lint ----------------------------------------------------------------------------------------

C_DIRS := base sandbox config pam_module shell control keeper tests/unit tests/probe tests/fuzz bench
LINT_FILES ?= $(wildcard $(addsuffix /*.c,$(C_DIRS)))
FORMAT_FILES ?= $(LINT_FILES) $(wildcard $(addsuffix /*.h,$(C_DIRS)))
SHELL_SCRIPTS := $(wildcard .ci/run packaging/install-deps tests/run tests/demo tests/*/*.test \
	tests/*/*.sh tests/lib/facts)
LINT_JOBS ?= 2

.PHONY: lint lint-format lint-tidy lint-cppcheck lint-shell
lint: lint-format lint-cppcheck lint-shell lint-tidy ##- clang-format, clang-tidy, cppcheck, shellcheck; LINT_FILES='a.c b.c' narrows

lint-format:
	clang-format --dry-run -Werror $(FORMAT_FILES)

.PHONY: format
format: ##- Rewrite all C files as clang-format wants them
	clang-format -i $(FORMAT_FILES)

# What clang-tidy reads by -p: one flag a line.
$(BUILD)/compile_flags.txt: mk/test.mk $(BUILD)/flags
	@printf '%s\n' -std=gnu11 -I$(CURDIR) -I$(abspath $(BUILD)/gen) \
		$(filter-out -I% -D_FORTIFY_SOURCE=%,$(CPPFLAGS_ALL)) $(JSON_CFLAGS) >$@

# One file a run: in a run over many, one file's findings hide those of the next. The exit
# status counts; "N warnings generated" counts what system headers would have caused.
lint-tidy: SHELL := /bin/bash
lint-tidy: $(BUILD)/compile_flags.txt $(GENERATED)
	@set -o pipefail; printf '%s\n' $(LINT_FILES) | \
		xargs -P $(LINT_JOBS) -n 1 clang-tidy --quiet -p $(BUILD) 2>&1 | \
		{ grep -vE '^[0-9]+ warnings? generated\.$$' || true; }

lint-cppcheck: $(GENERATED)
	cppcheck --quiet -j $(LINT_JOBS) --enable=warning,performance,portability --error-exitcode=1 \
		--std=c11 --library=posix --library=gnu --inline-suppr \
		--suppressions-list=.cppcheck-suppressions -I. -I$(BUILD)/gen -D_GNU_SOURCE $(LINT_FILES)

# Not asked for: variables of sourced files (SC2154, SC2034), modes of the parents that
# mkdir -p makes (SC2174), tildes in test names (SC2088).
lint-shell:
	shellcheck -S warning -e SC2154,SC2034,SC2174,SC2088 $(SHELL_SCRIPTS)
