// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/stack/parse_tree.h"

#include <strings.h>

/*
 * As in Ganesha's config_parsing/analyse.h, which is not a public header. config_file_t is a
 * pointer to the root.
 */
struct node {
	struct glist_head link, blocks;
	char *file;
	int line;
	bool found;
	enum { ROOT = 1, BLOCK } type;
	/* For a root and a block. */
	char *name;
	struct node *parent;
	struct glist_head children;
};

static _Atomic bool is_expected;

static struct node *find(struct node *root, const char *name)
{
	struct glist_head *link;
	struct node *node;

	glist_for_each(link, &root->children)
	{
		node = glist_entry(link, struct node, link);
		if (node->type == BLOCK && strcasecmp(node->name, name) == 0)
			return node;
	}
	return NULL;
}

bool canfs_parse_tree_check(config_file_t file, const char *name)
{
	struct node *root = (struct node *)file;

	is_expected = root->type == ROOT && !root->parent &&
		      find(root, name) == config_GetBlockNode(name);
	return is_expected;
}

void *canfs_parse_tree_find(void *node, const char *name)
{
	struct node *root = node;

	if (!is_expected)
		return NULL;
	while (root->parent)
		root = root->parent;
	return find(root, name);
}
