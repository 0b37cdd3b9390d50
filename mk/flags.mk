# SPDX-License-Identifier: MIT
#
# Compilers, flags, libraries. CFLAGS, CPPFLAGS and LDFLAGS are the caller's and come last.

ifeq ($(origin CC),default)
CC := gcc
endif
HOSTCC ?= $(CC)
PKG_CONFIG ?= pkg-config

# Warnings are errors for those who change sbx and in CI, not for those who build it with a
# compiler that did not exist when it was written.
ifeq ($(CI),true)
DEV ?= 1
endif

cc-option = $(shell $(CC) -Werror $(1) -c -x c /dev/null -o /dev/null 2>/dev/null && echo '$(1)')
ld-option = $(shell echo 'int main(void){return 0;}' | \
	$(CC) -Werror $(1) -x c - -o /dev/null 2>/dev/null && echo '$(1)')

WARNINGS := -Wall -Wextra $(if $(DEV),-Werror) -Wshadow -Wformat=2 -Wconversion -Wcast-qual \
	-Wwrite-strings -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla -Wswitch-enum \
	-Wimplicit-fallthrough $(call cc-option,-Wlogical-op)

HARDENING := -fstack-protector-strong -fno-strict-aliasing -fvisibility=hidden \
	$(call cc-option,-fstack-clash-protection) \
	$(call cc-option,-fcf-protection=full) \
	$(call cc-option,-ftrivial-auto-var-init=zero) \
	$(call cc-option,-fzero-call-used-regs=used-gpr)

CPPFLAGS_ALL = -I. -I$(BUILD)/gen -D_GNU_SOURCE $(FORTIFY) \
	-DSBX_SYSCONFDIR='"$(SYSCONFDIR)"' -DSBX_BINDIR='"$(BINDIR)"' \
	-DSBX_LIBEXECDIR='"$(LIBEXECDIR)"' -DSBX_VERSION='"$(VERSION)"' $(CPPFLAGS)
CFLAGS_ALL = -std=gnu11 -O2 -g $(WARNINGS) $(HARDENING) -ffunction-sections -fdata-sections \
	$(SANITIZER) $(CFLAGS)
LDFLAGS_ALL = -Wl,-z,relro,-z,now,-z,noexecstack$(if $(SANITIZE),,$(comma)-z$(comma)defs) \
	-Wl,--as-needed,--gc-sections $(SANITIZER) $(LDFLAGS)
HOST_CFLAGS := -std=gnu11 -O2 $(WARNINGS)
comma := ,

ifdef SANITIZE
FORTIFY := -U_FORTIFY_SOURCE
SANITIZER := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else
FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
SANITIZER :=
endif

# --- Libraries -----------------------------------------------------------------------------------

PKGS_NEEDED := libseccomp libcap-ng jansson libcurl libacl libsystemd

pkg-libs = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null || echo '$(2)')
# libpam and libiniparser have a .pc file only in newer releases.
PAM_LIBS ?= $(call pkg-libs,pam,-lpam)
INIPARSER_LIBS ?= $(call pkg-libs,iniparser,-liniparser)
CAPNG_LIBS ?= $(call pkg-libs,libcap-ng,-lcap-ng)
SECCOMP_LIBS ?= $(call pkg-libs,libseccomp,-lseccomp)
JSON_LIBS ?= $(call pkg-libs,jansson,-ljansson)
ACL_LIBS ?= $(call pkg-libs,libacl,-lacl)
JSON_CFLAGS ?= $(shell $(PKG_CONFIG) --cflags jansson 2>/dev/null)
CMOCKA_LIBS ?= $(call pkg-libs,cmocka,-lcmocka)

CORE_LIBS := $(CAPNG_LIBS) $(INIPARSER_LIBS)
CORE_LIBS_STATIC := $(CAPNG_LIBS) $(INIPARSER_LIBS)
