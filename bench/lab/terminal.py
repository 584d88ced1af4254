# SPDX-License-Identifier: LGPL-3.0-or-later
"""A program on a terminal of its own: what is on its screen, and keys to press."""

import fcntl
import os
import pty
import select
import struct
import termios
import time

import pyte

TERM = "linux"  # what pyte knows: of xterm it lacks scrolling and repetition


class Terminal:
    """To be used as a context: the program is killed at its end."""

    def __init__(self, *command, columns=80, rows=24, enter=lambda: None, **environment):
        """enter() is called in the program's process, before it starts."""
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.status = None
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                enter()
                self._set_size(0, columns, rows)
                os.execvpe(str(command[0]), [str(word) for word in command],
                           {**os.environ, "TERM": TERM, "LC_ALL": "C.UTF-8", **environment})
            finally:
                os._exit(127)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, 9)
            self.wait()
        os.close(self._fd)

    @staticmethod
    def _set_size(fd, columns, rows):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        self._set_size(self._fd, columns, rows)

    def press(self, keys):
        os.write(self._fd, keys.encode())

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines())

    def read(self, seconds):
        """What comes in this time, until nothing more does. False: the program has closed the terminal."""
        if select.select([self._fd], [], [], seconds)[0]:
            try:
                self._stream.feed(os.read(self._fd, 1 << 16))
            except OSError:  # EIO: nobody is there any more
                return False
        return True

    def until(self, wanted, seconds=30):
        """Is wanted (a text, or a function of the screen's text) there in time?"""
        is_there = wanted if callable(wanted) else lambda text: wanted in text
        deadline = time.monotonic() + seconds
        while not is_there(self.text()):
            if time.monotonic() > deadline or not self.read(0.1):
                return is_there(self.text())
        return True

    def modes(self):
        """Of its input: does a line discipline work for the next program?"""
        flags = termios.tcgetattr(self._fd)[3]
        return bool(flags & termios.ECHO), bool(flags & termios.ICANON)

    def end(self, seconds=20):
        """The exit status, when it has ended; None: it has not."""
        deadline = time.monotonic() + seconds
        while self.status is None and time.monotonic() < deadline:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
        while select.select([self._fd], [], [], 0)[0] and self.read(0):
            pass
        return self.status

    def wait(self):
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
