# SPDX-License-Identifier: MIT
#
# make install, make uninstall. Nothing here enrols a user or edits /etc/pam.d.

# The module has to be where libpam looks, which PREFIX does not change: beside pam_unix.so if
# that is here, else in the multiarch directory.
MULTIARCH := $(shell dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || \
	$(CC) -print-multiarch 2>/dev/null)
SECURITYDIR ?= $(or $(patsubst %/pam_unix.so,%,$(firstword $(wildcard \
	$(if $(MULTIARCH),/usr/lib/$(MULTIARCH)/security/pam_unix.so \
		/lib/$(MULTIARCH)/security/pam_unix.so) \
	/usr/lib64/security/pam_unix.so /lib64/security/pam_unix.so \
	/usr/lib/security/pam_unix.so /lib/security/pam_unix.so))),\
	$(if $(filter /usr/lib,$(realpath /lib)),/usr)/lib/$(MULTIARCH)/security)
# A login while this runs must find the old file or the new one, never half of it.
install-atomic = install -m $(1) $(2) $(3).new && mv -f $(3).new $(3)

CONF := $(DESTDIR)$(SYSCONFDIR)/sbx
MAN_PAGES := $(wildcard docs/man/*.[1-8])
EXAMPLES := $(wildcard packaging/sshd_config.d/*.conf packaging/apparmor/*)
BASH_COMPLETIONS := $(wildcard packaging/completions/bash/*)
ZSH_COMPLETIONS := $(wildcard packaging/completions/zsh/_*)
FISH_COMPLETIONS := $(wildcard packaging/completions/fish/*.fish)
SKEL_FILES := $(shell test -d config/skel && cd config/skel && find . -type f)

# Changing the running system: only a real installation by root does.
LIVE := $(if $(DESTDIR),,$(filter 0,$(shell id -u)))

.PHONY: install install-programs install-files install-live
install: all ##- Install; DESTDIR= and PREFIX= as usual
	@umask 022; $(MAKE) install-programs install-files install-live
ifneq ($(LIVE),)
	@echo
	@echo "sbx $(VERSION) is installed; nobody is sandboxed yet. Next, as root:"
	@echo "  pam-auth-update --enable sbx    (or add 'session required pam_sbx.so' as the last"
	@echo "                                   session line of /etc/pam.d/sshd, su, cron, ...)"
	@echo "  usermod -aG sbx USER            from the next login on, USER lives in a sandbox"
	@echo "  sbxctl check; sbxctl explain USER"
endif

install-programs:
	install -d $(DESTDIR)$(SECURITYDIR) $(DESTDIR)$(LIBEXECDIR)/sbx \
		$(DESTDIR)$(BINDIR) $(DESTDIR)$(SBINDIR)
	$(if $(MODULE_SOURCES),$(call install-atomic,644,$(MODULE),$(DESTDIR)$(SECURITYDIR)/pam_sbx.so))
	$(if $(KEEPER_SOURCES),$(call install-atomic,755,$(KEEPER),$(DESTDIR)$(LIBEXECDIR)/sbx/sbx-keeper))
	$(if $(SHELL_SOURCES),$(call install-atomic,755,$(SBXSH),$(DESTDIR)$(BINDIR)/sbxsh))
	$(if $(CONTROL_SOURCES),$(call install-atomic,755,$(SBXCTL),$(DESTDIR)$(SBINDIR)/sbxctl))

# What an admin edits is installed only where it is absent; DOCDIR always has the shipped one.
install-files:
	install -d $(DESTDIR)$(SYSUSERSDIR) $(DESTDIR)$(PAMCONFIGSDIR) $(DESTDIR)$(DOCDIR)
	install -m 644 packaging/sysusers.d/sbx.conf $(DESTDIR)$(SYSUSERSDIR)/sbx.conf
	install -m 644 packaging/pam-configs/sbx $(DESTDIR)$(PAMCONFIGSDIR)/sbx
	install -m 644 config/policy.ini $(EXAMPLES) $(DESTDIR)$(DOCDIR)
	install -d -m 755 $(CONF) $(CONF)/skel
	install -d -m 711 $(CONF)/env.d $(DESTDIR)$(LOCALSTATEDIR)/lib/sbx
	@if [ ! -e $(CONF)/policy.ini ]; then \
		echo "install $(CONF)/policy.ini"; \
		install -m 644 config/policy.ini $(CONF)/policy.ini; \
	elif ! cmp -s config/policy.ini $(CONF)/policy.ini; then \
		echo "sbx: kept your $(CONF)/policy.ini; the shipped one is in $(DOCDIR)"; \
	fi
	@for file in $(SKEL_FILES); do \
		[ -e "$(CONF)/skel/$$file" ] || \
			install -D -m 644 "config/skel/$$file" "$(CONF)/skel/$$file" || exit 1; \
	done
	@for page in $(MAN_PAGES); do \
		install -D -m 644 -t "$(DESTDIR)$(MANDIR)/man$${page##*.}" "$$page" || exit 1; \
	done
	$(if $(BASH_COMPLETIONS),install -D -m 644 -t $(DESTDIR)$(DATADIR)/bash-completion/completions $(BASH_COMPLETIONS))
	$(if $(ZSH_COMPLETIONS),install -D -m 644 -t $(DESTDIR)$(DATADIR)/zsh/site-functions $(ZSH_COMPLETIONS))
	$(if $(FISH_COMPLETIONS),install -D -m 644 -t $(DESTDIR)$(DATADIR)/fish/vendor_completions.d $(FISH_COMPLETIONS))

install-live:
ifneq ($(LIVE),)
	@getent group sbx >/dev/null || groupadd -r sbx 2>/dev/null || addgroup -S sbx || \
		{ echo "sbx: cannot make the group 'sbx'" >&2; exit 1; }
ifneq ($(SHELL_SOURCES),)
	@grep -qxF $(BINDIR)/sbxsh /etc/shells 2>/dev/null || \
		if command -v add-shell >/dev/null; then add-shell $(BINDIR)/sbxsh; \
		else echo $(BINDIR)/sbxsh >>/etc/shells; fi
endif
endif

# A stack that requires a module that is gone lets nobody in, root included: therefore the
# stacks first, and no further while one still names it.
.PHONY: uninstall
uninstall: ##- Remove it again; keeps policy, secrets and workspaces unless PURGE=1
ifneq ($(LIVE),)
	@! command -v pam-auth-update >/dev/null || [ ! -e $(PAMCONFIGSDIR)/sbx ] || \
		pam-auth-update --package --remove sbx
	@if grep -lE '^[^#]*pam_sbx\.so' /etc/pam.d/* 2>/dev/null; then \
		echo "sbx: these files still use pam_sbx.so; without the module nobody could log in." >&2; \
		echo "sbx: remove those lines, then run this again. No file of sbx was removed." >&2; exit 1; fi
	@if grep -qxF $(BINDIR)/sbxsh /etc/shells 2>/dev/null; then \
		if command -v remove-shell >/dev/null; then remove-shell $(BINDIR)/sbxsh; \
		else sed -i '\|^$(BINDIR)/sbxsh$$|d' /etc/shells; fi; fi
	@getent passwd | awk -F: '$$7 == "$(BINDIR)/sbxsh" \
		{ print "sbx: " $$1 " still has $(BINDIR)/sbxsh as its shell and cannot log in" }' >&2
endif
	rm -f $(DESTDIR)$(SECURITYDIR)/pam_sbx.so $(DESTDIR)$(LIBEXECDIR)/sbx/sbx-keeper \
		$(DESTDIR)$(BINDIR)/sbxsh $(DESTDIR)$(SBINDIR)/sbxctl \
		$(DESTDIR)$(SYSUSERSDIR)/sbx.conf $(DESTDIR)$(PAMCONFIGSDIR)/sbx
	rm -f $(addprefix $(DESTDIR)$(DOCDIR)/,policy.ini $(notdir $(EXAMPLES)))
	rm -f $(foreach page,$(MAN_PAGES),$(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))
	rm -f $(addprefix $(DESTDIR)$(DATADIR)/bash-completion/completions/,$(notdir $(BASH_COMPLETIONS))) \
		$(addprefix $(DESTDIR)$(DATADIR)/zsh/site-functions/,$(notdir $(ZSH_COMPLETIONS))) \
		$(addprefix $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/,$(notdir $(FISH_COMPLETIONS)))
	-@rmdir $(DESTDIR)$(LIBEXECDIR)/sbx $(DESTDIR)$(DOCDIR) 2>/dev/null
ifeq ($(PURGE),1)
	rm -rf $(CONF) $(DESTDIR)$(LOCALSTATEDIR)/lib/sbx
else
	@echo "sbx: kept $(CONF), $(DESTDIR)$(LOCALSTATEDIR)/lib/sbx (PURGE=1 removes them) and the group 'sbx'"
endif
