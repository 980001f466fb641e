# SPDX-License-Identifier: GPL-2.0-or-later
"""A service that does not reach its database, three times, and another that answers: for the source tcp."""
import socket

with socket.create_server(("127.0.0.1", 8098)) as server, socket.create_connection(("127.0.0.1", 8098)), server.accept()[0]:
    for _ in range(3):
        try:
            socket.create_connection(("127.0.0.1", 5433))
        except ConnectionRefusedError as refused:
            print(refused)
