/* strip STORAGE SESSION JOURNAL: the floor under a repair that takes the thinking
 * out of a session. It reads the session, writes the parts that are reasoning to
 * the journal and flushes that, removes them, and flushes the file system. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buffer[1 << 22];
static char **doomed;
static size_t count, space;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* read_file fills the buffer with a file and returns its size. */
static size_t read_file(int folder, const char *name)
{
	size_t size = 0;
	ssize_t n;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW);
	if (fd < 0)
		die(name);
	while ((n = read(fd, buffer + size, sizeof buffer - 1 - size)) > 0)
		size += n;
	if (n < 0)
		die(name);
	close(fd);
	buffer[size] = 0;
	return size;
}

static void put(int fd, const char *data, size_t size)
{
	if (write(fd, data, size) != (ssize_t)size)
		die("writing the journal");
}

/* parts journals the reasoning of a message. */
static void parts(const char *path, int journal)
{
	DIR *d = opendir(path);
	struct dirent *e;
	size_t size;
	char *part;
	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_type != DT_REG)
			continue;
		size = read_file(dirfd(d), e->d_name);
		if (!strstr(buffer, "\"type\": \"reasoning\""))
			continue;
		if (asprintf(&part, "%s/%s", path, e->d_name) < 0)
			die("asprintf");
		put(journal, part, strlen(part) + 1);
		put(journal, buffer, size);
		if (count == space)
			doomed = realloc(doomed, (space = space ? 2 * space : 1024) * sizeof *doomed);
		doomed[count++] = part;
	}
	closedir(d);
}

int main(int argc, char **argv)
{
	char *path;
	struct dirent *e;
	DIR *messages;
	size_t i;
	int journal;
	if (argc != 4) {
		fprintf(stderr, "usage: strip STORAGE SESSION JOURNAL\n");
		return 2;
	}
	if ((journal = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0600)) < 0)
		die(argv[3]);
	if (asprintf(&path, "%s/message/%s", argv[1], argv[2]) < 0 || !(messages = opendir(path)))
		die("the session");
	while ((e = readdir(messages))) {
		if (e->d_type != DT_REG)
			continue;
		read_file(dirfd(messages), e->d_name);
		if (asprintf(&path, "%s/part/%.*s", argv[1], (int)(strlen(e->d_name) - strlen(".json")), e->d_name) < 0)
			die("asprintf");
		parts(path, journal);
		free(path);
	}
	if (fsync(journal))
		die("flushing the journal");
	for (i = 0; i < count; i++)
		if (unlink(doomed[i]))
			die(doomed[i]);
	if (syncfs(dirfd(messages)))
		die("flushing the file system");
	printf("%zu parts\n", count);
	return 0;
}
