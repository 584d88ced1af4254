# SPDX-License-Identifier: LGPL-3.0-or-later
"""Is what a program printed what a document shows? In shape: any number, with its unit, is one like another, and so is the width of
a column; an address stays what it is, and that nothing is held is not the same as that something is. A line `...` stands for any lines."""

import re

SHAPE = re.compile(r"(\b(?:\d+\.){3}\d+\b|\bhold(?:s|ing) +0\b)|\d+(?:[.:,-]\d+)*(?:[kKMGT]?i?B?(?:/s)?|[mu]?s(?:ec)?)\b")
ANY = "..."


def shape(line):
    return re.sub(r"\s+", "", SHAPE.sub(lambda match: match[1] or "#", line))


def match(expected, output):
    """expected, a list of lines, with the lines of the output that came instead; None: they did not come."""
    actual = output.rstrip().splitlines()
    segments = [[]]
    for line in expected:
        if line == ANY:
            segments.append([])
        else:
            segments[-1].append(line)
    shapes, matched, done = [shape(line) for line in actual], [], 0
    for number, segment in enumerate(segments):
        wanted = [shape(line) for line in segment]
        starts = range(done, len(actual) - len(segment) + 1) if number else [done]
        if number and number == len(segments) - 1 and segment:
            starts = [at for at in starts if at + len(segment) == len(actual)]
        at = next((at for at in starts if shapes[at:at + len(segment)] == wanted), None)
        if at is None:
            return None
        matched += ([ANY] if number else []) + actual[at:at + len(segment)]
        done = at + len(segment)
    return matched if done == len(actual) or len(segments) > 1 else None
