"""Starts what runs in a fresh process as a fork of one that has imported TensorFlow already.

    python -I warm_process.py serve SOCKET         imports tensorflow and tensorflow_text, no more
    python -I warm_process.py ask SOCKET ARGUMENT… runs `fresh_process.main` in a fork of it

The import is most of what such a process takes. A fork knows no more of the project than a process
that was started anew, which `fresh_process.main` checks.
"""

import json
import os
import socket
import sys
import traceback

FOLDER = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "export")


def serve(path):
    import tensorflow
    import tensorflow_text

    assert tensorflow and tensorflow_text
    sys.path.append(FOLDER)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{path}.new")
        server.listen()
        os.rename(f"{path}.new", path)  # Who sees the name can connect.
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile("rw", encoding="utf-8") as file:
                file.write(json.dumps(_forked(json.loads(file.readline()))))


def _forked(arguments):
    """Exit status and standard error of `fresh_process.main` with these arguments."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 2)
        status = 1
        try:
            import fresh_process

            fresh_process.main(*arguments)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as file:
        errors = file.read()
    _, status = os.waitpid(child, 0)
    return [os.waitstatus_to_exitcode(status), errors]


def ask(path, *arguments):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        with client.makefile("rw", encoding="utf-8") as file:
            file.write(json.dumps(arguments) + "\n")
            file.flush()
            status, errors = json.loads(file.readline())
    sys.stderr.write(errors)
    sys.exit(status)


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
