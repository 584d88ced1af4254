/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Stands in for the config.h that Ganesha's own build generates and no package carries: the
 * switches of Debian's build that change what the FSAL API's headers declare. It serves 4.3 to
 * 9.14. The ABI test (tests/integration/test_fsal_abi) shows whether it is right: Ganesha's FSAL_NULL,
 * compiled with it, must give the packaged libfsalnull.so.
 */
#ifndef CONFIG_H
#define CONFIG_H

#define GSH_CHECK_VERSION(major, minor, micro, libmajor, libminor, libmicro)                       \
	((libmajor) > (major) || ((libmajor) == (major) && (libminor) > (minor)) ||                \
		((libmajor) == (major) && (libminor) == (minor) && (libmicro) >= (micro)))

#define _MSPAC_SUPPORT                1
#define USE_NFSIDMAP                  1
#define USE_DBUS                      1
#define USE_CAPS                      1
#define USE_BLKID                     1
#define _USE_9P                       1
#define _USE_NFS3                     1
#define _USE_NLM                      1
#define _USE_RQUOTA                   1
#define USE_NFSACL3                   1
#define RPCBIND                       1
#define HAVE_KRB5                     1
#define _HAVE_GSSAPI                  1
#define LINUX                         1
#define HAVE_STRING_H                 1
#define HAVE_STRNLEN                  1
#define LITTLEEND                     1
#define HAVE_DAEMON                   1
#define ENABLE_VFS_POSIX_ACL          1
#define ENABLE_VFS_ACL                1
#define CEPHFS_POSIX_ACL              1
#define GSH_CAN_HOST_LOCAL_FS         1
#define HAVE_URCU_REF_GET_UNLESS_ZERO 1
#define NFS_GANESHA                   1
#define _LGPL_SOURCE                  1

#endif
