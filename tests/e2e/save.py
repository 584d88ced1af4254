# SPDX-License-Identifier: LGPL-3.0-or-later
"""save.py DIRECTORY DOCUMENTS ROUNDS STOP: saves documents as an editor does (write, close, rename over the old one) and appends to a log of each,
until there is a file STOP, for ROUNDS rounds at most. Prints as JSON the files for which close(2) returned 0:
{name of the document: [its round, the number of lines in its log]}.

document(), log(): the expected contents; a log may have more lines, for which there was an error."""

import json
import os
import sys

DOCUMENT_BYTES = 60000  # below the limit up to which a client with a delegation does not wait at close(2)
LINE_BYTES = 4000
FIRST_ROUND = 1


def document(name, number):
    return (f"{name} {number}\n" * DOCUMENT_BYTES)[:DOCUMENT_BYTES].encode("ascii")


def line(name, number):
    return f"{name} {number} ".encode("ascii").ljust(LINE_BYTES - 1, b".") + b"\n"


def log(name, lines):
    return b"".join(line(name, number) for number in range(1, lines + 1))


def write(path, flags, data):
    """An error of close(2) counts, too."""
    fd = os.open(path, os.O_WRONLY | flags, 0o644)
    try:
        while data:
            data = data[os.write(fd, data):]
    except OSError:
        try:
            os.close(fd)
        except OSError:
            pass
        raise
    os.close(fd)


def save(path, name, number):
    new = f"{path}.new"
    try:
        write(new, os.O_CREAT | os.O_TRUNC, document(name, number))
        os.rename(new, path)
    except OSError:
        return False
    return True


def append(path, name, lines):
    try:
        write(path, os.O_CREAT | os.O_APPEND, line(name, lines + 1))
    except OSError:
        return False
    return True


def main(directory, documents, rounds, stop):
    done = {f"document-{number}": [0, 0] for number in range(int(documents))}
    ended = set()  # logs: nothing is written after a line that failed
    for number in range(FIRST_ROUND, int(rounds) + FIRST_ROUND):
        for name, count in done.items():
            path = f"{directory}/{name}"
            if save(path, name, number):
                count[0] = number
            if name not in ended and append(f"{path}.log", name, count[1]):
                count[1] += 1
            else:
                ended.add(name)
        if os.path.exists(stop):
            break
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
