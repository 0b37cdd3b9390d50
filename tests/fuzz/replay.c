/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over files, without libFuzzer: those given as arguments, or, when
 * there are none, all of tests/fuzz/corpus/NAME/ for a program called
 * fuzz_NAME-replay. Prints TAP; a target that finds something ends the program.
 */
#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS "tests/fuzz/corpus/"
#define INPUT_BYTES_MAX ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const char *path, unsigned int number)
{
	struct sbx_err err = {0};
	char *text = NULL;
	size_t length = 0;

	if (sbx_file_read(AT_FDCWD, path, 0, INPUT_BYTES_MAX, &text, &length, NULL, &err) < 0) {
		printf("not ok %u - %s\n", number, err.msg);
		return;
	}
	/* Should it die, this line says on what. */
	printf("# %s\n", path);
	(void)fflush(stdout);
	(void)LLVMFuzzerTestOneInput((const uint8_t *)text, length); /* always 0 */
	printf("ok %u - %s\n", number, path);
	free(text);
}

static int is_input(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* "…/fuzz_NAME-replay" -> "tests/fuzz/corpus/NAME" */
static char *corpus_of(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash == NULL ? program : slash + 1;
	struct sbx_str path = {0};
	char *text = NULL;

	if (strncmp(name, "fuzz_", 5) != 0)
		return NULL;
	name += 5;
	sbx_str_add(&path, CORPUS);
	sbx_str_addn(&path, name, strcspn(name, "-"));
	return sbx_str_take(&path, &text) < 0 ? NULL : text;
}

static int run_corpus(const char *directory)
{
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_input, alphasort);

	if (n <= 0) {
		printf("Bail out! no files in '%s' (run from the top of the source tree)\n",
		       directory);
		return EXIT_FAILURE;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		struct sbx_str path = {0};

		sbx_str_addf(&path, "%s/%s", directory, entries[i]->d_name);
		if (path.rc < 0)
			printf("not ok %d - %s\n", i + 1, strerror(-path.rc));
		else
			run(path.text, (unsigned int)i + 1);
		sbx_str_done(&path);
		free(entries[i]);
	}
	free(entries);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	char *directory;
	int status;

	if (argc > 1) {
		printf("1..%d\n", argc - 1);
		for (int i = 1; i < argc; i++)
			run(argv[i], (unsigned int)i);
		return EXIT_SUCCESS;
	}
	directory = corpus_of(argv[0]);
	if (directory == NULL) {
		printf("Bail out! not called fuzz_NAME-replay, and no files given\n");
		return EXIT_FAILURE;
	}
	status = run_corpus(directory);
	free(directory);
	return status;
}
