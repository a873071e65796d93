/* readall DIR THREADS [stat|walk]: the floor under a scan. It opens, reads and
 * closes every file below DIR, walks its bytes for objects and lists too, or only asks for
 * its status, and prints how many files, bytes, and objects and lists there were. Folders are
 * listed once, and the threads share them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char **folders;
static size_t count, space;
static atomic_size_t next_folder, files, bytes, values;
static int only_stat, walk_bytes;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void add(char *path)
{
	if (count == space)
		folders = realloc(folders, (space = space ? 2 * space : 1024) * sizeof *folders);
	folders[count++] = path;
}

/* collect finds the folders: those with a folder in them are at most two levels
 * below DIR, as the agent's are. */
static void collect(const char *path, int depth)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char *child;
	if (!d)
		die(path);
	while ((e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (asprintf(&child, "%s/%s", path, e->d_name) < 0)
			die("asprintf");
		add(child);
		if (depth > 1)
			collect(child, depth - 1);
	}
	closedir(d);
}

static size_t walk(const char *at, const char *end)
{
	size_t found = 0;
	int in_string = 0;
	for (; at < end; at++) {
		if (in_string) {
			if (*at == '\\')
				at++;
			else if (*at == '"')
				in_string = 0;
		} else if (*at == '"') {
			in_string = 1;
		} else if (*at == '{' || *at == '[') {
			found++;
		}
	}
	return found;
}

static void look(const char *buffer, size_t size)
{
	bytes += size;
	if (walk_bytes)
		values += walk(buffer, buffer + size);
}

static void visit(int folder, const char *name, char *buffer, size_t size)
{
	struct stat st;
	ssize_t n;
	int fd;
	if (only_stat) {
		if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
			die(name);
		bytes += st.st_size;
		files++;
		return;
	}
	if ((fd = openat(folder, name, O_RDONLY | O_NOFOLLOW)) < 0)
		die(name);
	while ((n = read(fd, buffer, size)) == (ssize_t)size)
		look(buffer, n);
	if (n < 0)
		die(name);
	look(buffer, n);
	files++;
	close(fd);
}

static void *work(void *unused)
{
	const size_t size = 1 << 20;
	char *buffer = malloc(size);
	size_t i;
	(void)unused;
	while ((i = next_folder++) < count) {
		DIR *d = opendir(folders[i]);
		struct dirent *e;
		if (!d)
			die(folders[i]);
		while ((e = readdir(d)))
			if (e->d_type == DT_REG)
				visit(dirfd(d), e->d_name, buffer, size);
		closedir(d);
	}
	free(buffer);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[64];
	int threads = argc > 2 ? atoi(argv[2]) : 0, i;
	if (threads < 1 || threads > 64) {
		fprintf(stderr, "usage: readall DIR THREADS [stat|walk]\n");
		return 2;
	}
	only_stat = argc > 3 && !strcmp(argv[3], "stat");
	walk_bytes = argc > 3 && !strcmp(argv[3], "walk");
	collect(argv[1], 2);
	for (i = 0; i < threads; i++)
		if ((errno = pthread_create(&thread[i], NULL, work, NULL)))
			die("pthread_create");
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%zu files, %zu bytes, %zu objects and lists\n", (size_t)files, (size_t)bytes, (size_t)values);
	return 0;
}
