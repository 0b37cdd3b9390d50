# SPDX-License-Identifier: MIT
#
# sbx: `make help` lists what can be done here.
#
# Every directory with C sources is found by wildcard; a new file needs no change here.

VERSION := 0.1.0
BUILD ?= build

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
LIBEXECDIR ?= $(PREFIX)/libexec
LOCALSTATEDIR ?= /var
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
DOCDIR ?= $(DATADIR)/doc/sbx
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
# Debian's pam-auth-update looks nowhere else, whatever PREFIX is.
PAMCONFIGSDIR ?= /usr/share/pam-configs

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-print-directory

include mk/flags.mk

# --- Sources -------------------------------------------------------------------------------------

# V=1 shows whole commands.
say = $(if $(V),,@printf '  %-5s %s\n' $(1) '$(2)';)

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

# These make a program that runs while building; they are no part of the library.
FILTER_GENERATOR := sandbox/filter_gen.c sandbox/filter_rules.c
# Linked into the static programs only.
STATIC_SOURCES := base/no_nss.c sandbox/no_scope.c
LIBRARY_SOURCES := $(filter-out $(FILTER_GENERATOR) $(STATIC_SOURCES),$(wildcard base/*.c sandbox/*.c config/*.c))
MODULE_SOURCES := $(wildcard pam_module/*.c)
KEEPER_SOURCES := $(wildcard keeper/*.c)
SHELL_SOURCES := $(wildcard shell/*.c)
CONTROL_SOURCES := $(wildcard control/*.c)

LIBRARY := $(BUILD)/libsbx.a
MODULE := $(BUILD)/pam_sbx.so
KEEPER := $(BUILD)/sbx-keeper
SBXSH := $(BUILD)/sbxsh
SBXCTL := $(BUILD)/sbxctl

# A product whose directory is still empty is left out.
PRODUCTS := $(if $(MODULE_SOURCES),$(MODULE)) $(if $(KEEPER_SOURCES),$(KEEPER)) \
	$(if $(SHELL_SOURCES),$(SBXSH)) $(if $(CONTROL_SOURCES),$(SBXCTL))
ifdef SANITIZE
# The sanitizers' run time can be linked neither into a static program nor into a
# module of somebody else's process.
PRODUCTS := $(if $(CONTROL_SOURCES),$(SBXCTL))
endif

.PHONY: all
all: $(PRODUCTS) ##- Build everything into BUILD (default: build)

# --- Compiling -----------------------------------------------------------------------------------

# Other flags, another build: objects depend on the flags they were made with. -Werror makes no
# other code, so `make install` after `make DEV=1` has nothing to compile.
quoted = '$(subst ','\'',$(1))'
FLAGS_USED := $(CC) $(CPPFLAGS_ALL) $(filter-out -Werror,$(CFLAGS_ALL)) $(LDFLAGS_ALL)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call quoted,$(FLAGS_USED)) | cmp -s - $@ || \
		printf '%s\n' $(call quoted,$(FLAGS_USED)) >$@
.PHONY: FORCE
FORCE:

ifneq ($(wildcard $(FILTER_GENERATOR)),)
GENERATED := $(BUILD)/gen/filter_bytes.h

$(BUILD)/gen/filter_gen: $(FILTER_GENERATOR) sandbox/filter.h $(BUILD)/flags | deps-hint
	@mkdir -p $(@D)
	$(call say,CC,$<)$(HOSTCC) $(CPPFLAGS_ALL) $(HOST_CFLAGS) -o $@ $(FILTER_GENERATOR) $(SECCOMP_LIBS)

$(BUILD)/gen/filter_bytes.h: $(BUILD)/gen/filter_gen
	$(call say,GEN,$@)$< >$@
endif

# The library is compiled once, position independent, for the module and the programs alike.
$(BUILD)/obj/base/%.o $(BUILD)/obj/sandbox/%.o $(BUILD)/obj/config/%.o: PIC := -fPIC
# libpam's headers do not mark the entry points as visible; the map hides all else.
$(BUILD)/obj/pam_module/%.o: PIC := -fPIC -fvisibility=default
PIC := -fPIE

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(GENERATED) deps-hint
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(PIC) -MMD -MP -c -o $@ $<

$(LIBRARY): $(call objects,$(LIBRARY_SOURCES))
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

$(MODULE): $(call objects,$(MODULE_SOURCES)) $(LIBRARY) pam_module/pam_sbx.map
	$(call say,LD,$@)$(CC) $(CFLAGS_ALL) -shared $(LDFLAGS_ALL) -Wl,--version-script=pam_module/pam_sbx.map \
		-o $@ $(filter %.o %.a,$^) $(PAM_LIBS) $(CORE_LIBS)

# Static: it is started by root, and no loader, preload file or library of anybody's
# choice shall have a say in it. It stays in memory for the life of each sandbox.
$(KEEPER): $(call objects,$(KEEPER_SOURCES) $(STATIC_SOURCES)) $(LIBRARY)
	$(call say,LD,$@)$(CC) $(CFLAGS_ALL) -static-pie $(LDFLAGS_ALL) -o $@ $^ $(CORE_LIBS_STATIC)

# Static: as a login shell it may be started with an LD_PRELOAD that the sandboxed user chose.
$(SBXSH): $(call objects,$(SHELL_SOURCES) $(STATIC_SOURCES)) $(LIBRARY)
	$(call say,LD,$@)$(CC) $(CFLAGS_ALL) -static-pie $(LDFLAGS_ALL) -o $@ $^ $(CORE_LIBS_STATIC)

$(SBXCTL): $(call objects,$(CONTROL_SOURCES)) $(LIBRARY)
	$(call say,LD,$@)$(CC) $(CFLAGS_ALL) -pie $(LDFLAGS_ALL) -o $@ $^ $(CORE_LIBS) $(JSON_LIBS) $(ACL_LIBS)

$(call objects,$(CONTROL_SOURCES)): CPPFLAGS_ALL += $(JSON_CFLAGS)

include mk/test.mk
include mk/install.mk

# --- The rest ------------------------------------------------------------------------------------

.PHONY: deps
deps: ##- Install the Debian packages that building and testing need, if any is missing (root)
	@packaging/install-deps $(or $(DEPS),build test)

# Says what is missing before the compiler says it in its own words.
.PHONY: deps-hint
deps-hint:
	@$(PKG_CONFIG) --exists $(PKGS_NEEDED) || { \
		echo "sbx: $(PKG_CONFIG) does not find all of: $(PKGS_NEEDED)" >&2; \
		echo "sbx: on Debian, run 'make deps' as root" >&2; exit 1; }

.PHONY: clean
clean: ##- Remove BUILD
	rm -rf $(BUILD)

.PHONY: help
help: ##- This list
	@echo "sbx $(VERSION): make TARGET [NAME=VALUE ...]"
	@echo
	@sed -n 's/^\([a-z-]*\):.*##- /\1\t/p' $(MAKEFILE_LIST) | sort | \
		awk -F '\t' '{ printf "  make %-14s %s\n", $$1, $$2 }'
	@echo
	@echo "Names worth knowing (now):"
	@echo "  PREFIX=$(PREFIX)  SYSCONFDIR=$(SYSCONFDIR)  DESTDIR=$(DESTDIR)"
	@echo "  SECURITYDIR=$(SECURITYDIR)  where libpam looks for modules"
	@echo "  BUILD=$(BUILD)  CC=$(CC) (clang works too)  DEV=1 turns warnings into errors  V=1 shows commands"

# For scripts: make -s print-SECURITYDIR
print-%:
	@echo '$($*)'

-include $(wildcard $(BUILD)/obj/*/*.d $(BUILD)/obj/*/*/*.d $(BUILD)/gen/*.d)
