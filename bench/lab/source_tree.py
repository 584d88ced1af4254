# SPDX-License-Identifier: LGPL-3.0-or-later
"""A source tree, always the same: many small files, some of them C that compiles; its tarball and its Git repository.

Sizes are log-normal, as in a kernel tree: half of the files below 5 KB, few above 50. 16 files a directory, of which in some the first is C that
includes the eight headers beside it; the Makefile compiles these, the rest just lies there."""

import math
import random
import tarfile
from dataclasses import dataclass

from bench.lab.host import run

MEDIAN_BYTES, SIGMA, LARGEST_BYTES = 5000, 1.1, 200_000
FILES_EACH, SUBDIRECTORIES_EACH, HEADERS = 16, 12, 8
WORDS = ("page", "inode", "lock", "queue", "struct", "return", "buffer", "count", "error", "device", "state", "index", "offset", "list")
MAKEFILE = """CFLAGS = -O1 -pipe
SOURCES := $(wildcard */*/unit.c)
all: $(SOURCES:.c=.o)
"""
IDENTITY = ("-c", "user.name=lab", "-c", "user.email=lab@localhost", "-c", "gc.auto=0")
SECONDS = 300


@dataclass(frozen=True)
class Size:
    files: int
    compiled: int  # of them


def sizes(count, seed):
    chance = random.Random(seed)
    return [min(LARGEST_BYTES, int(chance.lognormvariate(math.log(MEDIAN_BYTES), SIGMA))) for _ in range(count)]


def files(size, seed):
    """(name, contents) of each, the Makefile included."""
    chance = random.Random(seed)
    text = " ".join(chance.choices(WORDS, k=100_000))
    step = max(1, math.ceil(size.files / FILES_EACH) // max(1, size.compiled))
    yield "Makefile", MAKEFILE
    for number, length in enumerate(sizes(size.files - 1, seed)):
        directory, place = divmod(number, FILES_EACH)
        compiles = directory % step == 0 and directory // step < size.compiled
        begin = chance.randrange(len(text) - LARGEST_BYTES)
        body = f"/* {number} {text[begin:begin + length]} */\n"
        if compiles and place == 0:
            body += "".join(f'#include "{other}.h"\n' for other in range(1, HEADERS + 1))
            body += f"int function_{number}(int a)\n{{\n\treturn a * CONSTANT_1 + {number};\n}}\n"
        elif 1 <= place <= HEADERS:
            body += f"#ifndef CONSTANT_{place}\n#define CONSTANT_{place} {number}\n#endif\n"
        name = "unit.c" if compiles and place == 0 else f"{place}.h" if 1 <= place <= HEADERS else f"{place}.txt"
        yield f"{directory // SUBDIRECTORIES_EACH}/{directory % SUBDIRECTORIES_EACH}/{name}", body


def make(directory, size, seed):
    """In DIRECTORY: source, source.tar.gz, source.git."""
    source = directory / "source"
    for name, body in files(size, seed):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="ascii")
    with tarfile.open(directory / "source.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(source, "source")
    run("git", *IDENTITY, "init", "--quiet", source, timeout=SECONDS)
    run("git", *IDENTITY, "-C", source, "add", ".", timeout=SECONDS)
    run("git", *IDENTITY, "-C", source, "commit", "--quiet", "--message=all", timeout=SECONDS)
    run("git", "clone", "--quiet", "--bare", source, directory / "source.git", timeout=SECONDS)
    run("git", "-C", directory / "source.git", "repack", "-adq", timeout=SECONDS)
