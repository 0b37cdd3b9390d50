/* SPDX-License-Identifier: MIT */
/*
 * StartTransientUnit of org.freedesktop.systemd1(5), by sd-bus.
 *
 * libsystemd is loaded by dlopen(3) and not linked: only a login that starts a sandbox needs
 * it, in a fork, and neither the module in every sshd and su nor a machine without systemd
 * shall pay for it.
 */
#include "sandbox/scope.h"

#include "base/str.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#define LIBRARY "libsystemd.so.0"
#define BUS_ADDRESS "unix:path=" SBX_SCOPE_BUS
#define MANAGER "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"

/* Less than a login waits for its sandbox, so that this reason is the one that is shown. */
#define TIMEOUT_US UINT64_C(20000000)
/* At shutdown, and for "systemctl stop": the keeper ends its sandbox sooner. */
#define STOP_TIMEOUT_US UINT64_C(10000000)
#define US_PER_S UINT64_C(1000000)
#define CPU_PERCENT_US (US_PER_S / 100)

#define BUS_FUNCTIONS(X)                                                                           \
	X(sd_bus_new)                                                                              \
	X(sd_bus_set_address)                                                                      \
	X(sd_bus_set_bus_client)                                                                   \
	X(sd_bus_start)                                                                            \
	X(sd_bus_flush_close_unref)                                                                \
	X(sd_bus_match_signal)                                                                     \
	X(sd_bus_message_new_method_call)                                                          \
	X(sd_bus_message_append)                                                                   \
	X(sd_bus_message_open_container)                                                           \
	X(sd_bus_message_close_container)                                                          \
	X(sd_bus_message_read)                                                                     \
	X(sd_bus_message_unref)                                                                    \
	X(sd_bus_call)                                                                             \
	X(sd_bus_process)                                                                          \
	X(sd_bus_wait)                                                                             \
	X(sd_bus_error_free)

struct bus {
#define X(function) __typeof__(function) *(function);
	BUS_FUNCTIONS(X)
#undef X
	sd_bus *connection;
};

/* What is waited for: the end of the job that starts the scope. */
struct job {
	const struct bus *bus;
	char path[128];
	char result[32]; /* empty until it has ended */
};

/* The library stays loaded: the calling process is about to become another program. */
static int load(struct bus *bus, struct sbx_err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool complete = library != NULL;

#define X(function)                                                                                \
	bus->function = complete ? (__typeof__(function) *)dlsym(library, #function) : NULL;       \
	complete = bus->function != NULL;
	BUS_FUNCTIONS(X)
#undef X
	if (!complete)
		return sbx_fail(err, ENOTSUP, "load %s, needed to speak to systemd: %s", LIBRARY,
				dlerror());
	return 0;
}

static int connect_bus(struct bus *bus, struct sbx_err *err)
{
	int rc = bus->sd_bus_new(&bus->connection);

	if (rc >= 0)
		rc = bus->sd_bus_set_address(bus->connection, BUS_ADDRESS);
	if (rc >= 0)
		rc = bus->sd_bus_set_bus_client(bus->connection, 1);
	if (rc >= 0)
		rc = bus->sd_bus_start(bus->connection);
	return rc < 0 ? sbx_fail(err, -rc, "connect to the system bus (%s): %s", SBX_SCOPE_BUS,
				 strerror(-rc))
		      : 0;
}

static int on_job_removed(sd_bus_message *message, void *data, sd_bus_error *error)
{
	struct job *job = data;
	uint32_t number;
	const char *path;
	const char *unit;
	const char *result;

	(void)error;
	if (job->bus->sd_bus_message_read(message, "uoss", &number, &path, &unit, &result) >= 0 &&
	    strcmp(path, job->path) == 0)
		(void)snprintf(job->result, sizeof(job->result), "%s", result); /* a known word */
	return 0;
}

/*
 * The scope's properties. Every limit is named, infinity too, or systemd would put its own
 * defaults. PIDs: 0 is who sends this, as the kernel tells the bus: a number might mean
 * another process in another PID namespace.
 */
static int add_properties(const struct bus *bus, sd_bus_message *message,
			  const struct sbx_plan *plan)
{
	sbx_autostr struct sbx_str description = {0};
	const uint64_t cpu = plan->cpu_max_percent == SBX_UNLIMITED
				 ? SBX_UNLIMITED
				 : plan->cpu_max_percent * CPU_PERCENT_US;
	const struct {
		const char *name;
		uint64_t value;
	} limits[] = {
	    {"MemoryMax", plan->memory_max_bytes},
	    {"MemoryHigh", plan->memory_high_bytes},
	    {"MemorySwapMax", plan->swap_max_bytes},
	    {"TasksMax", plan->tasks_max},
	    {"CPUQuotaPerSecUSec", cpu},
	    {"TimeoutStopUSec", STOP_TIMEOUT_US},
	};
	int rc;

	sbx_str_addf(&description, "Sandbox of %s", plan->user);
	if (description.rc < 0)
		return description.rc;
	/* SendSIGHUP: interactive shells ignore TERM. CollectMode: one that failed goes, too. */
	rc = bus->sd_bus_message_append(message, "(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
					description.text, "Slice", "s", SBX_SCOPE_SLICE, "Delegate",
					"b", 1, "SendSIGHUP", "b", 1, "CollectMode", "s",
					"inactive-or-failed", "PIDs", "au", 1, (uint32_t)0);
	for (size_t i = 0; rc >= 0 && i < sizeof(limits) / sizeof(limits[0]); i++)
		rc = bus->sd_bus_message_append(message, "(sv)", limits[i].name, "t",
						limits[i].value);
	return rc;
}

static int fill_call(const struct bus *bus, sd_bus_message *message, const char *unit,
		     const struct sbx_plan *plan)
{
	int rc = bus->sd_bus_message_append(message, "ss", unit, "fail");

	if (rc >= 0)
		rc = bus->sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "(sv)");
	if (rc >= 0)
		rc = add_properties(bus, message, plan);
	if (rc >= 0)
		rc = bus->sd_bus_message_close_container(message);
	if (rc >= 0)
		rc = bus->sd_bus_message_append(message, "a(sa(sv))", 0); /* no further units */
	return rc;
}

static int read_job(const struct bus *bus, sd_bus_message *reply, struct job *job)
{
	const char *path;
	int rc = bus->sd_bus_message_read(reply, "o", &path);

	if (rc >= 0 && strlen(path) >= sizeof(job->path))
		rc = -EPROTO;
	if (rc >= 0)
		memcpy(job->path, path, strlen(path) + 1);
	return rc;
}

static int call(const struct bus *bus, const char *unit, const struct sbx_plan *plan,
		struct job *job, struct sbx_err *err)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *message = NULL;
	sd_bus_message *reply = NULL;
	int rc =
	    bus->sd_bus_message_new_method_call(bus->connection, &message, MANAGER, MANAGER_PATH,
						MANAGER_INTERFACE, "StartTransientUnit");

	if (rc >= 0)
		rc = fill_call(bus, message, unit, plan);
	if (rc >= 0)
		rc = bus->sd_bus_call(bus->connection, message, TIMEOUT_US, &error, &reply);
	if (rc >= 0)
		rc = read_job(bus, reply, job);
	if (rc < 0)
		(void)sbx_fail(err, -rc, "ask for it: %s",
			       error.message != NULL ? error.message : strerror(-rc));
	bus->sd_bus_message_unref(message);
	bus->sd_bus_message_unref(reply);
	bus->sd_bus_error_free(&error);
	return rc < 0 ? rc : 0;
}

static uint64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (uint64_t)now.tv_sec * US_PER_S + (uint64_t)now.tv_nsec / 1000;
}

static int wait_for(const struct bus *bus, const struct job *job, struct sbx_err *err)
{
	const uint64_t until = now_us() + TIMEOUT_US;

	while (job->result[0] == '\0') {
		uint64_t now = now_us();
		int rc = bus->sd_bus_process(bus->connection, NULL);

		if (rc == 0 && now >= until)
			return sbx_fail(err, ETIMEDOUT, "not done after %" PRIu64 " s",
					TIMEOUT_US / US_PER_S);
		if (rc == 0)
			rc = bus->sd_bus_wait(bus->connection, until - now);
		if (rc < 0 && rc != -EINTR)
			return sbx_fail(err, -rc, "wait for it: %s", strerror(-rc));
	}
	if (strcmp(job->result, "done") != 0)
		return sbx_fail(err, EIO, "the job's result is '%s'", job->result);
	return 0;
}

int sbx_scope_start(const char *unit, const struct sbx_plan *plan, struct sbx_err *err)
{
	struct bus bus = {0};
	struct job job = {.bus = &bus};
	int rc = load(&bus, err);

	if (rc < 0)
		return rc;
	rc = connect_bus(&bus, err);
	/* Before the call: the job may be done at once. */
	if (rc == 0) {
		rc = bus.sd_bus_match_signal(bus.connection, NULL, MANAGER, MANAGER_PATH,
					     MANAGER_INTERFACE, "JobRemoved", on_job_removed, &job);
		rc = rc < 0 ? sbx_fail(err, -rc, "listen to systemd: %s", strerror(-rc)) : 0;
	}
	if (rc == 0)
		rc = call(&bus, unit, plan, &job, err);
	if (rc == 0)
		rc = wait_for(&bus, &job, err);
	bus.sd_bus_flush_close_unref(bus.connection);
	return rc < 0 ? sbx_wrap(err, rc, "have systemd start '%s'", unit) : 0;
}
