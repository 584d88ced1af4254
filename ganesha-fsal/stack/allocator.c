// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The server's allocator, for the plugin and the libraries that are loaded with it.
 *
 * Ganesha loads plugins with RTLD_DEEPBIND, which binds malloc() and free() to those of the C
 * library. The server may use another allocator: jemalloc is NFS-Ganesha's default, and an
 * administrator may preload one. Memory is passed in both directions. Ganesha frees what the plugin
 * allocates. The plugin frees what Ganesha allocated, and what strdup() of the C library took from
 * the server's allocator.
 *
 * The plugin therefore defines these functions: in its own scope, the plugin precedes the C
 * library. Each function calls the one that the main program uses.
 */
#include "ganesha-fsal/stack/allocator.h"

#include <dlfcn.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *malloc(size_t bytes);
EXPORTED void *calloc(size_t count, size_t bytes);
EXPORTED void *realloc(void *at, size_t bytes);
EXPORTED void *aligned_alloc(size_t alignment, size_t bytes);
EXPORTED int posix_memalign(void **at, size_t alignment, size_t bytes);
EXPORTED void free(void *at);

static struct {
	void *(*malloc)(size_t bytes);
	void *(*calloc)(size_t count, size_t bytes);
	void *(*realloc)(void *at, size_t bytes);
	void *(*aligned_alloc)(size_t alignment, size_t bytes);
	int (*posix_memalign)(void **at, size_t alignment, size_t bytes);
	void (*free)(void *at);
} server;

/*
 * Runs in the thread that loads the plugin, before any other thread can allocate. A constructor of
 * a library may allocate earlier, so the functions below check.
 */
__attribute__((constructor)) static void find_allocator(void)
{
	void *program = dlopen(NULL, RTLD_LAZY);

	server.malloc = (void *(*)(size_t))dlsym(program, "malloc");
	server.calloc = (void *(*)(size_t, size_t))dlsym(program, "calloc");
	server.realloc = (void *(*)(void *, size_t))dlsym(program, "realloc");
	server.aligned_alloc = (void *(*)(size_t, size_t))dlsym(program, "aligned_alloc");
	server.posix_memalign = (int (*)(void **, size_t, size_t))dlsym(program, "posix_memalign");
	server.free = (void (*)(void *))dlsym(program, "free");
}

void *malloc(size_t bytes)
{
	if (!server.malloc)
		find_allocator();
	return server.malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	if (!server.calloc)
		find_allocator();
	return server.calloc(count, bytes);
}

void *realloc(void *at, size_t bytes)
{
	if (!server.realloc)
		find_allocator();
	return server.realloc(at, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	if (!server.aligned_alloc)
		find_allocator();
	return server.aligned_alloc(alignment, bytes);
}

int posix_memalign(void **at, size_t alignment, size_t bytes)
{
	if (!server.posix_memalign)
		find_allocator();
	return server.posix_memalign(at, alignment, bytes);
}

void free(void *at)
{
	if (!server.free)
		find_allocator();
	server.free(at);
}

bool canfs_library_has_server_allocator(const char *library)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	bool same = !handle || dlsym(handle, "free") == (void *)server.free;

	if (handle)
		dlclose(handle);
	return same;
}
