// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfs-micro-read is in a library: see bench/CMakeLists.txt. */
int canfs_micro_read(int argc, char **argv);

int main(int argc, char **argv)
{
	return canfs_micro_read(argc, argv);
}
