/* SPDX-License-Identifier: MIT */
#include "sandbox/view.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

const char *const sbx_view_top[] = {
    "/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", NULL,
};

const char *const sbx_view_etc[] = {
    /* what the C library and the shells read */
    "bash.bashrc",
    "bash_completion.d",
    "csh.cshrc",
    "csh.login",
    "debian_version",
    "environment",
    "ethertypes",
    "fish",
    "gai.conf",
    "host.conf",
    "inputrc",
    "issue",
    "issue.net",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "locale.gen",
    "login.defs",
    "lsb-release",
    "magic",
    "magic.mime",
    "mailcap",
    "manpath.config",
    "mime.types",
    "motd",
    "nanorc",
    "networks",
    "os-release",
    "profile.d",
    "protocols",
    "rpc",
    "screenrc",
    "services",
    "shells",
    "terminfo",
    "timezone",
    "tmux.conf",
    "vim",
    "wgetrc",
    "xattr.conf",
    "zsh",
    "zshrc",
    "zshenv",
    "zprofile",
    /* tools whose programs under /usr have their other half here */
    "alternatives",
    "ca-certificates.conf",
    "dictionaries-common",
    "emacs",
    "fonts",
    "gitconfig",
    "ImageMagick-*",
    "java-*",
    "jvm-*",
    "nix",
    "OpenCL",
    "perl",
    "php",
    "python*",
    "R",
    "ruby*",
    "texmf",
    "vulkan",
    "X11",
    "xdg",
    NULL,
};

const char *const sbx_view_etc_nested[] = {
    /* certificates but not the keys beside them */
    "ssl/certs",
    "ssl/openssl.cnf",
    "ssl/cert.pem",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
    "pki/ca-trust/extracted",
    "ca-certificates/extracted",
    /* the client's half of ssh: never host keys, never sshd's settings */
    "ssh/ssh_config",
    "ssh/ssh_config.d",
    "ssh/ssh_known_hosts",
    /* pam_limits and pam_env of a session that is already inside read these */
    "security/limits.conf",
    "security/limits.d",
    "security/pam_env.conf",
    "security/group.conf",
    "security/namespace.conf",
    "security/time.conf",
    "default/locale",
    NULL,
};

const char *const sbx_view_etc_host[] = {
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/localtime",
    NULL,
};

const char *const sbx_view_sys[] = {
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage",
    NULL,
};

const char *const sbx_view_dev[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", NULL,
};

const char *const sbx_view_host[] = {
    "/dev/log", "/run/dbus", "/run/systemd/journal", "/run/utmp", "/var/log", NULL,
};

const char sbx_view_profile[] =
    "# Made by sbx in place of the host's, which would set PATH again.\n"
    "if [ -n \"${PS1-}\" ]; then\n"
    "	if [ -n \"${BASH-}\" ] && [ \"$BASH\" != /bin/sh ]; then\n"
    "		[ ! -r /etc/bash.bashrc ] || . /etc/bash.bashrc\n"
    "	else\n"
    "		PS1='$ '\n"
    "	fi\n"
    "fi\n"
    "for script in /etc/profile.d/*.sh; do\n"
    "	[ ! -r \"$script\" ] || . \"$script\"\n"
    "done\n"
    "unset script\n";

bool sbx_view_etc_allows(const char *path)
{
	const char *name = path + strlen("/etc/");

	if (strncmp(path, "/etc/", strlen("/etc/")) != 0)
		return false;
	for (size_t i = 0; sbx_view_etc[i] != NULL; i++) {
		if (fnmatch(sbx_view_etc[i], name, FNM_PATHNAME | FNM_PERIOD | FNM_NOESCAPE) == 0)
			return true;
	}
	for (size_t i = 0; sbx_view_etc_nested[i] != NULL; i++) {
		if (strcmp(sbx_view_etc_nested[i], name) == 0)
			return true;
	}
	return false;
}
