# SPDX-License-Identifier: LGPL-3.0-or-later
"""What is on a terminal, as a picture.

    python3 -m bench.lab.picture COLUMNS ROWS SECONDS COMMAND...

runs a command on a terminal for so long and prints the screen as JSON, so that a guest can do it, where there may be no library for pictures."""

import json
import sys
import time

from bench.lab.terminal import Terminal

SIZE = 16  # of a character, pixels
MARGIN = 8
BLOCKS = {chr(0x2580 + eighths): eighths for eighths in range(1, 9)}  # from below
BACKGROUND, FOREGROUND = (24, 24, 27), (212, 212, 216)
COLOURS = {"red": (248, 113, 113), "green": (74, 222, 128), "brown": (250, 204, 21)}  # as pyte names them: brown is yellow


def screen_of(terminal):
    """A row is a list of [character, colour, bold, reverse]."""
    return [[[cell.data, cell.fg, cell.bold, cell.reverse] for cell in (line[column] for column in range(terminal.screen.columns))]
            for line in (terminal.screen.buffer[row] for row in range(terminal.screen.lines))]


def watch(columns, rows, seconds, *command):
    with Terminal(*command, columns=columns, rows=rows) as terminal:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not terminal.read(0.2):
                break
        return screen_of(terminal)


def draw(screen, path):
    """As PNG."""
    from matplotlib import font_manager
    from PIL import Image, ImageDraw, ImageFont

    def font(weight):
        return ImageFont.truetype(font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans Mono", weight=weight)), SIZE)

    fonts = {False: font("normal"), True: font("bold")}
    width, height = round(fonts[False].getlength("M")), round(SIZE * 1.25)
    image = Image.new("RGB", (len(screen[0]) * width + 2 * MARGIN, len(screen) * height + 2 * MARGIN), BACKGROUND)
    canvas = ImageDraw.Draw(image)
    for row, cells in enumerate(screen):
        for column, (character, colour, bold, reverse) in enumerate(cells):
            x, y = MARGIN + column * width, MARGIN + row * height
            ink, paper = COLOURS.get(colour, FOREGROUND), BACKGROUND
            if reverse:
                ink, paper = paper, ink
                canvas.rectangle((x, y, x + width - 1, y + height - 1), paper)
            if character in BLOCKS:  # of a whole cell, which a font's are not
                canvas.rectangle((x, y + height - 1 - round((height - 2) * BLOCKS[character] / 8), x + width - 1, y + height - 1), ink)
            elif character != " ":
                canvas.text((x, y + 1), character, ink, fonts[bold])
    image.quantize(256).save(path, optimize=True)


def main():
    columns, rows, seconds = (int(word) for word in sys.argv[1:4])
    json.dump(watch(columns, rows, seconds, *sys.argv[4:]), sys.stdout)


if __name__ == "__main__":
    main()
