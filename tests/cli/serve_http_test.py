"""`serve --listen` under load, and with slow, broken or hostile clients.

usage: serve_http_test.py PROGRAM [sanitized]
"""

import base64
import http.client
import json
import os
import re
import resource
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = sys.argv.pop(1)
SANITIZED = "sanitized" in sys.argv
sys.argv = [word for word in sys.argv if word != "sanitized"]
PATIENCE = 120  # seconds, for busy machines
TOKEN = "a.token-of/these+tests~"
BEARER = f"Authorization: Bearer {TOKEN}"


def array(*values):
    return {"dtype": "float32", "base64": base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()}


def kernel(text):
    return json.loads(subprocess.run([PROGRAM, "kernel", text], stdout=subprocess.PIPE, check=True).stdout)


TWICE = kernel("x[2] + x")
RIGHT = {"id": 1, "kernel": TWICE, "inputs": [array(1, 2)], "output": array(2, 4)}
WRONG = {"id": 2, "kernel": TWICE, "inputs": [array(1, 2)], "output": array(2, 5)}
SIDE = 8192
LONG = {"id": 3, "kernel": kernel(f"sum(x[{SIDE},1] * y[1,{SIDE}])"), "output": array(1),
        "inputs": [array(*[1.5] * SIDE), array(*[1.25] * SIDE)]}
# Less than the long one needs, but enough that it is not refused beforehand.
SHORT_TIME = 0.1 + 0.6 / os.cpu_count()


def lines_of(*questions):
    return b"".join(q if isinstance(q, bytes) else json.dumps(q).encode() + b"\n" for q in questions)


def post(body, *fields, path="/", version="1.1"):
    head = [f"POST {path} HTTP/{version}", "Host: localhost", BEARER, f"Content-Length: {len(body)}", *fields, "", ""]
    return "\r\n".join(head).encode() + body


def get(path="/health", host="localhost", version="1.1"):
    return f"GET {path} HTTP/{version}\r\n{BEARER}\r\n{f'Host: {host}' if host else 'X: 1'}\r\n\r\n".encode()


class Service:
    """The running command, as a context manager."""

    def __init__(self, listen="127.0.0.1", *words, token=TOKEN):
        environment = {name: value for name, value in os.environ.items() if name != "TOUCHSTONE_TOKEN"}
        if token is not None:
            environment["TOUCHSTONE_TOKEN"] = token
        self.process = subprocess.Popen([PROGRAM, "serve", "--listen", listen, *words], env=environment,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.told = self.process.stderr.readline()
        self.where = self.told.removeprefix("listening on ").strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGKILL)

    def end(self, how):
        """The exit status as a shell reports it."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(PATIENCE)
        self.process.stderr.close()
        return 128 - self.process.returncode if self.process.returncode < 0 else self.process.returncode

    def connect(self):
        if self.where.startswith("unix:"):
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(PATIENCE)
            client.connect(self.where.removeprefix("unix:"))
            return client
        host, port = re.fullmatch(r"http://\[?([^]]*?)\]?:(\d+)", self.where).groups()
        return socket.create_connection((host, int(port)), PATIENCE)

    def talk(self, bytes_, then=lambda client: None):
        """The whole response until the connection ends."""
        with self.connect() as client:
            client.sendall(bytes_)
            then(client)
            return all_of(client)

    def ask(self, method="GET", path="/", body=None, **fields):
        """Sends a single request; returns status, body and header fields."""
        with self.connect() as client:
            head = {"Host": "localhost", "Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): value for name, value in fields.items()}}
            if body is not None and "Transfer-Encoding" not in head:
                head["Content-Length"] = str(len(body))
            text = "".join(f"{name}: {value}\r\n" for name, value in head.items() if value is not None)
            client.sendall(f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode() + (body or b""))
            return answer_of(client, method)

    def works(self):
        """Whether it answers, once a place is free."""
        end = time.monotonic() + PATIENCE
        while (status := self.ask("POST", "/", lines_of(RIGHT))[0]) == 503 and time.monotonic() < end:
            time.sleep(0.01)
        return status == 200

    def workers(self):
        return [child for supervisor in children_of(self.process.pid) for child in children_of(supervisor)]

    def judging_worker(self):
        """The first worker, once it is judging."""
        assert soon(self.workers) and soon(lambda: used_seconds(self.workers()[0]) > 0.05)
        return self.workers()[0]


def used_seconds(pid):
    """Processor time."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_of(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except FileNotFoundError:  # it or its thread ended meanwhile
        pass
    return found


def all_of(client):
    text = b""
    try:
        while piece := client.recv(65536):
            text += piece
    except ConnectionResetError:
        text += b"<reset>"
    return text


def answer_of(client, method="GET"):
    answer = http.client.HTTPResponse(client, method=method)
    answer.begin()
    return answer.status, answer.read(), answer.headers


def soon(done):
    end = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < end:
        time.sleep(0.005)
    return done()


def verdicts(text):
    return [json.loads(line).get("verdict", "error") for line in text.splitlines()]


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("localhost")
        cls.addClassCleanup(cls.service.__exit__)

    def ask(self, *words, **more):
        return self.service.ask(*words, **more)

    def test_it_says_where_it_listens_and_what_it_is(self):
        self.assertRegex(self.service.told, r"^listening on http://127\.0\.0\.1:\d+\n$")
        status, text, _ = self.ask()
        self.assertEqual(status, 200)
        self.assertRegex(text.decode(), r"^touchstone .*POST.*\n$")
        self.assertEqual(self.ask(path="/health")[:2], (200, b"ok\n"))
        self.assertEqual(self.ask(path="/health?now")[0], 200)
        status, nothing, fields = self.ask("HEAD", "/health")
        self.assertEqual((status, nothing, fields["Content-Length"]), (200, b"", "3"))

    def test_other_paths_and_methods_are_refused(self):
        self.assertEqual(self.ask(path="/other")[0], 404)
        self.assertEqual(self.ask("POST", "/other", b"{}")[0], 404)
        for method, path, allowed in [("PUT", "/", "GET, HEAD, POST"), ("GET", "/ask", "POST"),
                                      ("POST", "/health", "GET, HEAD"), ("OPTIONS", "/ask", "POST")]:
            status, text, fields = self.ask(method, path)
            self.assertEqual((status, fields["Allow"]), (405, allowed))
            self.assertIn("error", json.loads(text))

    def test_a_question_gets_its_verdict(self):
        for question, verdict in [(RIGHT, "PASS"), (WRONG, "FAIL")]:
            for kind in ["application/json", "application/json; charset=utf-8"]:
                status, text, fields = self.ask("POST", "/ask", json.dumps(question, indent=1).encode(), Content_Type=kind)
                self.assertEqual((status, fields["Content-Type"]), (200, "application/json"))
                self.assertEqual(text.count(b"\n"), 1)
                self.assertEqual((json.loads(text)["id"], json.loads(text)["verdict"]), (question["id"], verdict))

    def test_what_is_no_question_gets_an_error(self):
        for body in [b"", b"{", b"[]", b"\0", b"\xff", lines_of(RIGHT, RIGHT), b'{"kernel":"/dev/zero"}', b"[" * 10000]:
            status, text, _ = self.ask("POST", "/", body, Content_Type="application/json")
            self.assertEqual((status, verdicts(text)), (400, ["error"]), body[:20])

    def test_lines_get_those_of_the_line_mode(self):
        body = lines_of(RIGHT, b"\n", b"garbage\n", b"with\0zero\n", b"\0\n", b"\r\n", WRONG, b'{"id":"\xc3\n', RIGHT)[:-1]
        by_lines = subprocess.run([PROGRAM, "serve"], input=body, stdout=subprocess.PIPE, check=False).stdout
        self.assertEqual(verdicts(by_lines), ["PASS", "error", "error", "error", "FAIL", "error", "PASS"])
        for kind in [None, "application/x-ndjson", "text/plain"]:
            status, text, fields = self.ask("POST", "/", body, Content_Type=kind)
            self.assertEqual((status, fields["Content-Type"], text), (200, "application/x-ndjson", by_lines))
        self.assertEqual(self.ask("POST", "/", b"")[:2], (200, b""))
        self.assertEqual(self.ask("POST", "/", b"\n \n")[:2], (200, b""))

    def test_bodies_come_in_chunks_of_any_size(self):
        body = lines_of(RIGHT, WRONG)
        for size in [7, 1000, len(body)]:
            chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(body[i:i + size]), body[i:i + size])
                              for i in range(0, len(body), size))
            _, text, _ = self.ask("POST", "/", chunks + b"0\r\nTrailer: 1\r\n\r\n", Transfer_Encoding="chunked")
            self.assertEqual(verdicts(text), ["PASS", "FAIL"])

    def test_requests_may_be_pipelined_and_cut_anywhere(self):
        each = [post(lines_of(RIGHT)), get(host="127.0.0.1:1"),
                post(lines_of(WRONG, RIGHT), "Connection: close")]
        whole = b"".join(each)
        with self.service.connect() as client:
            for end in [*range(1, 130), len(each[0]) - 1, len(each[0]) + 3, len(whole)]:
                client.sendall(whole[:end])
                whole = whole[end:]
            text = all_of(client)
        self.assertEqual(text.count(b"HTTP/1.1 200 OK"), 3)
        self.assertEqual(re.findall(rb'"verdict":"(\w+)"|^(ok)$', text, re.M),
                         [(b"PASS", b""), (b"", b"ok"), (b"FAIL", b""), (b"PASS", b"")])
        self.assertTrue(text.endswith(b"0\r\n\r\n"))

    def test_an_older_client_reads_to_the_end(self):
        text = self.service.talk(post(lines_of(RIGHT, WRONG), version="1.0"))
        head, body = text.split(b"\r\n\r\n")
        self.assertEqual(verdicts(body), ["PASS", "FAIL"])
        self.assertNotIn(b"chunked", head)
        self.assertIn(b"Connection: close", head)
        self.assertIn(b" 200 OK\r\n", self.service.talk(get("/", host=None, version="1.0")))  # it has no Host

    def test_a_client_may_wait_until_its_body_is_wanted(self):
        body = lines_of(RIGHT)
        with self.service.connect() as client:
            client.sendall(post(body, "Expect: 100-continue", "Connection: close")[:-len(body)])
            self.assertEqual(client.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.sendall(body)
            self.assertEqual(verdicts(answer_of(client)[1]), ["PASS"])
        refused = post(body, "Expect: 100-continue", path="/no")[:-len(body)]
        self.assertTrue(self.service.talk(refused).startswith(b"HTTP/1.1 404 "))

    def test_a_client_may_close_its_half_first(self):
        text = self.service.talk(post(lines_of(RIGHT, WRONG)), lambda client: client.shutdown(socket.SHUT_WR))
        self.assertTrue(text.endswith(b"0\r\n\r\n"))
        for cut in [b"G", post(b"{}")[:-1], post(b"{}")[:30]]:
            text = self.service.talk(cut, lambda client: client.shutdown(socket.SHUT_WR))
            self.assertTrue(text.startswith(b"HTTP/1.1 400 "), text)
        self.assertEqual(self.service.talk(b"", lambda client: client.shutdown(socket.SHUT_WR)), b"")

    def test_pages_of_other_sites_cannot_ask(self):
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.1.2.3:65535", "[::1]", "[::1]:80"]:
            self.assertEqual(self.ask(Host=host)[0], 200, host)
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0", "[::]",
                     "localhost:", "localhost:99999", "localhost:x", "[::1", "[::1]80", "127.1", "::ffff:127.0.0.1"]:
            self.assertEqual(self.ask(Host=host)[0], 403, host)
        self.assertEqual(self.ask(Host=None)[0], 400)
        self.assertEqual(self.ask(Host="")[0], 400)
        twice = get().replace(b"Host:", b"Host: localhost\r\nHost:")
        self.assertIn(b" 400 ", self.service.talk(twice)[:20])
        for origin, status in [("http://localhost", 200), ("http://evil.example", 403), ("null", 403), ("", 403),
                               ("https://localhost", 403), ("http://localhost:1", 403)]:
            self.assertEqual(self.ask("POST", "/", lines_of(RIGHT), Origin=origin)[0], status, origin)

    def test_garbage_is_no_request(self):
        hostile = [b"\0" * 1000, b"garbage\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200,
                   b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
                   b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\n\x01: 1\r\n\r\n",
                   post(b"").replace(b"Content-Length: 0", b"Content-Length: -1"),
                   post(b"").replace(b"Content-Length: 0", b"Content-Length: 99999999999999999999999"),
                   post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + b"zz\r\n"]
        for bytes_ in hostile:
            text = self.service.talk(bytes_, lambda client: client.shutdown(socket.SHUT_WR))
            self.assertRegex(text, rb"^HTTP/1.1 4\d\d ", bytes_[:40])
            self.assertIn("error", json.loads(text.split(b"\r\n\r\n")[1]))
        self.assertTrue(self.service.works())

    def test_heads_have_a_limit(self):
        head = get("/")[:-2]
        for endless in [b"GET /" + b"x" * 300000, head + b"X: " + b"x" * 300000, head + b"X: 1\r\n" * 100000]:
            self.assertTrue(self.service.talk(endless).startswith(b"HTTP/1.1 431 "), endless[:50])
        chunked = post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        for endless in [b"1;" + b"x" * 300000, b"0\r\n" + b"X: 1\r\n" * 100000]:
            self.assertRegex(self.service.talk(chunked + endless), rb"^HTTP/1.1 4\d\d ", endless[:50])
        self.assertTrue(self.service.works())

    def test_a_transfer_coding_is_chunked_and_nothing_else(self):
        body = b"2\r\n{}\r\n0\r\n\r\n"
        self.assertEqual(self.ask("POST", "/", body, Transfer_Encoding="chunked")[0], 200)
        for coding in ["gzip, chunked", "chunked, gzip", "chunked, chunked", "gzip", "identity", "Chunked", "chunked;q=1",
                       "xchunked", "\x0bchunked", "\"chunked\"", "", ",chunked", "chunked,"]:
            self.assertEqual(self.ask("POST", "/", body, Transfer_Encoding=coding)[0], 400, coding)
        plain = post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + body
        chunked = b"Transfer-Encoding: chunked\r\n"
        twice = plain.replace(chunked, chunked * 2)
        for beside in [twice, plain.replace(chunked, chunked + b"Transfer-Encoding: identity\r\n"),
                       plain.replace(chunked, chunked + b"Content-Length: 12\r\n"),
                       plain.replace(chunked, b"Content-Length: 12\r\n" + chunked), plain.replace(b"/1.1", b"/1.0")]:
            text = self.service.talk(beside + get())  # must not be read as a request
            self.assertRegex(text, rb"^HTTP/1.1 400 ", beside)
            self.assertEqual(text.count(b"HTTP/1.1 "), 1)

    def test_a_coding_is_refused(self):
        self.assertEqual(self.ask("POST", "/", b"x", Content_Encoding="gzip")[0], 415)
        self.assertEqual(self.ask("POST", "/", lines_of(RIGHT), Content_Encoding="identity")[0], 200)


class Secrets(unittest.TestCase):
    """Any user of this machine can connect to an address."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, bytes_):
        path = f"{self.folder.name}/{name}"
        with open(path, "wb") as file:
            file.write(bytes_)
        return path

    def asks_of_files(self):
        """A question for each argument that may be a file, with valid files."""
        header = b"\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".ljust(127) + b"\n"
        output = self.file("y.npy", header + struct.pack("<2f", 2, 4))
        described = subprocess.run([PROGRAM, "kernel", "x[2] + x", "--stage", "profile"], stdout=subprocess.PIPE, check=True)
        return {"the output": {**RIGHT, "output": output},
                "input 1": {**RIGHT, "inputs": [self.file("x.npy", header + struct.pack("<2f", 1, 2))]},
                "the kernel": {**RIGHT, "kernel": self.file("k.json", json.dumps(TWICE).encode())},
                "the profile": {**RIGHT, "profile": self.file("p.json", described.stdout)}}

    def test_every_request_needs_the_token(self):
        with Service("localhost") as service:
            for path in "/", "/health":
                self.assertEqual(service.ask(path=path)[0], 200)
            for field in [None, "", TOKEN, "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x",
                          f"Bearer {TOKEN.upper()}", f"Bearer {TOKEN}{TOKEN}", f"Bearer{TOKEN}", f"Bearer x {TOKEN}"]:
                for method, path, body in ("GET", "/", None), ("GET", "/health", None), ("POST", "/", lines_of(RIGHT)):
                    status, text, fields = service.ask(method, path, body, Authorization=field)
                    self.assertEqual((status, fields["WWW-Authenticate"]), (401, "Bearer"), (field, path))
                    self.assertIn("Authorization: Bearer TOKEN", json.loads(text)["error"])
            for field in f"bearer {TOKEN}", f"BEARER   {TOKEN} ":
                self.assertEqual(service.ask(Authorization=field)[0], 200, field)
            twice = get().replace(b"Host", BEARER.encode() + b"\r\nHost")
            self.assertIn(b" 400 ", service.talk(twice)[:20])

    def test_a_new_token_is_printed(self):
        tokens = set()
        for _ in range(2):
            with Service("localhost", token=None) as service:
                token = re.fullmatch("requests need: Authorization: Bearer ([0-9a-f]{32})\n",
                                     service.process.stderr.readline())[1]
                self.assertEqual(service.ask()[0], 401)
                self.assertEqual(service.ask(Authorization=f"Bearer {token}")[0], 200)
                tokens.add(token)
        self.assertEqual(len(tokens), 2)

    def test_a_token_comes_out_of_a_file(self):
        with Service("localhost", "--token-file", self.file("token", b"0123456789abcdef\r\n")) as service:
            self.assertEqual(service.ask()[0], 401)
            self.assertEqual(service.ask(Authorization="Bearer 0123456789abcdef")[0], 200)

    def test_a_bad_token_is_refused(self):
        socket_path = self.folder.name + "/socket"
        for place, file, why in [("localhost", self.file("short", b"0123456789abcde\n"), "16 or more"),
                                 ("localhost", self.file("spaces", b"0123456789 abcdef\n"), "no spaces"),
                                 ("localhost", self.file("empty", b""), "16 or more"),
                                 ("localhost", self.folder.name + "/none", "No such file"),
                                 (socket_path, self.file("good", b"0123456789abcdef"), "needs no token")]:
            done = subprocess.run([PROGRAM, "serve", "--listen", place, "--token-file", file], stdin=subprocess.DEVNULL,
                                  text=True, capture_output=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 2, file)
            self.assertIn(why, done.stderr)
        with Service("localhost", token="short") as service:
            self.assertIn("TOUCHSTONE_TOKEN: a token must have 16 or more ASCII characters", service.told)
            self.assertEqual(service.process.wait(PATIENCE), 2)

    def test_files_are_read_at_a_socket_and_from_standard_input_alone(self):
        asks = self.asks_of_files()
        with Service(self.folder.name + "/socket") as service:
            self.assertEqual(verdicts(service.ask("POST", "/", lines_of(*asks.values()))[1]), ["PASS"] * 4)
        by_lines = subprocess.run([PROGRAM, "serve"], input=lines_of(*asks.values()), stdout=subprocess.PIPE, check=True)
        self.assertEqual(verdicts(by_lines.stdout), ["PASS"] * 4)
        for place, words in ("localhost", []), ("localhost", ["--no-files"]), (self.folder.name + "/socket", ["--no-files"]):
            with Service(place, *words) as service:
                for line, what in zip(service.ask("POST", "/", lines_of(*asks.values()))[1].splitlines(), asks):
                    self.assertIn(f"{what} names a file; ", json.loads(line)["error"])
                self.assertTrue(service.works())
        done = subprocess.run([PROGRAM, "serve", "--no-files"], input=lines_of(*asks.values()), stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, verdicts(done.stdout)), (2, ["error"] * 4))


class Limits(unittest.TestCase):
    def test_a_worker_ends_when_its_client_goes(self):
        with tempfile.TemporaryDirectory() as folder:
            for place, version, before in [("localhost", "1.1", []), ("localhost", "1.0", []), ("::1", "1.1", [RIGHT]),
                                           (folder + "/socket", "1.1", [])]:
                try:
                    service = Service(place)
                    service.connect().close()
                except ConnectionError:  # no IPv6
                    continue
                with service:
                    client = service.connect()
                    client.sendall(post(lines_of(*before, *[LONG] * 100), version=version))
                    service.judging_worker()
                    client.close()
                    start = time.monotonic()
                    self.assertTrue(soon(lambda: not service.workers()))
                    self.assertLess(time.monotonic() - start, 2)
                    self.assertTrue(service.works())

    def test_a_client_that_only_ends_its_requests_is_not_gone(self):
        with Service("localhost") as service:
            text = service.talk(post(lines_of(LONG, RIGHT)), lambda client: client.shutdown(socket.SHUT_WR))
            self.assertEqual(text.count(b'"verdict"'), 2, text)
            self.assertTrue(text.endswith(b"0\r\n\r\n"))

    def test_the_time_of_a_question_covers_its_reading(self):
        many = ",".join('{"dtype":"float32","base64":""}' for _ in range(150000))
        slow = f'{{"id":4,"kernel":{json.dumps(TWICE)},"inputs":[{many}],"output":{json.dumps(array(2, 4))}}}\n'.encode()
        with Service("localhost", "--timeout", "0.05") as service:
            answer = json.loads(service.ask("POST", "/", slow)[1])
            if "error" in answer:  # on a slow machine the worker is ended instead
                self.assertIn("it takes longer than 0.05 s", answer["error"])
            else:
                self.assertEqual((answer["id"], answer["verdict"]), (4, "UNUSABLE"))
                self.assertIn("the verdict takes longer than 0.05 s", answer["why"])

    def test_a_body_that_is_too_large_is_not_awaited(self):
        with Service("localhost", "--max-body", "1") as service:
            most = 1 << 20
            fits = lines_of(RIGHT) + b" " * (most - len(lines_of(RIGHT)))
            self.assertEqual(verdicts(service.ask("POST", "/", fits)[1]), ["PASS"])
            self.assertEqual(service.ask("POST", "/", fits + b" ")[0], 413)
            announced = post(b"").replace(b"Content-Length: 0", b"Content-Length: 1000000000")
            self.assertIn(b"(--max-body)", service.talk(announced))
            chunked = post(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
            with service.connect() as client:  # endless
                client.sendall(chunked)
                try:
                    while not select.select([client], [], [], 0)[0]:
                        client.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
                except ConnectionError:
                    pass
                self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 413 "))
            self.assertTrue(service.works())

    def test_slow_clients_lose_their_place(self):
        with Service("localhost", "--client-timeout", "0.4", "--connections", "3") as service:
            start = time.monotonic()
            slow, silent, lazy = (service.connect() for _ in range(3))
            with slow, silent, lazy:
                lazy.sendall(post(b"{}" * 100)[:-1])
                self.assertEqual(service.ask()[0], 503)
                slow.settimeout(0.05)
                text = b""
                for byte in post(b"{}" * 1000):
                    try:
                        slow.sendall(bytes([byte]))
                        text += slow.recv(1000)
                    except TimeoutError:
                        continue
                    break
                self.assertTrue(text.startswith(b"HTTP/1.1 408 "), text)
                self.assertEqual(all_of(silent), b"")
                self.assertIn(b"(--client-timeout)", all_of(lazy))
            self.assertLess(time.monotonic() - start, 10)
            self.assertTrue(service.works())

    def test_clients_that_do_not_read_lose_their_place(self):
        many = post(b"7\n" * 30000)
        with tempfile.TemporaryDirectory() as folder:
            with Service(folder + "/socket", "--client-timeout", "0.4", "--connections", "1") as service:
                with service.connect() as client:
                    client.sendall(many)
                    self.assertTrue(client.recv(10).startswith(b"HTTP/1.1"))
                    self.assertTrue(service.works())
                    self.assertFalse(all_of(client).endswith(b"0\r\n\r\n"))  # marked as incomplete
                for _ in range(5):  # some vanish during their answer, some before
                    with service.connect() as client:
                        client.sendall(many)
                        client.recv(10)
                    with service.connect() as client:
                        client.sendall(many[:-1])
                self.assertTrue(service.works())

    def test_too_many_are_turned_away_at_once(self):
        with Service("localhost", "--connections", "2") as service:
            with service.connect() as one, service.connect():
                for client in one, one:
                    client.sendall(get())
                    self.assertIn(b"200 OK", client.recv(1000))
                for _ in range(100):
                    status, text, fields = service.ask(body=b"x" * 100000)
                    self.assertEqual((status, fields["Connection"]), (503, "close"))
                    self.assertIn("(--connections)", json.loads(text)["error"])
            self.assertTrue(service.works())

    def test_two_hundred_clients_at_once(self):
        with Service("localhost", "--connections", "40") as service:
            clients = [service.connect() for _ in range(200)]
            for client in clients:
                try:
                    client.sendall(post(lines_of(RIGHT, WRONG), "Connection: close"))
                except ConnectionError:  # refused already
                    pass
            answers = [answer_of(client)[:2] for client in clients]
            for client in clients:
                client.close()
            served = [text for status, text in answers if status == 200]
            self.assertEqual(len(served) + sum(status == 503 for status, _ in answers), 200)
            self.assertGreaterEqual(len(served), 40)
            for text in served:
                self.assertEqual(verdicts(text), ["PASS", "FAIL"])
            self.assertTrue(soon(lambda: not children_of(service.process.pid)))
            open_files = len(os.listdir(f"/proc/{service.process.pid}/fd"))
            self.assertTrue(soon(lambda: len(os.listdir(f"/proc/{service.process.pid}/fd")) < 12), open_files)

    def test_without_descriptors_it_waits_for_some(self):
        with Service("localhost", "--connections", "50") as service:
            resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (20, 20))
            clients = [service.connect() for _ in range(30)]
            for client in clients:
                client.sendall(get(version="1.0"))
            for client in clients:
                with client:
                    self.assertRegex(all_of(client), b"^HTTP/1.1 (200|503) ")
            self.assertTrue(service.works())

    def test_a_question_that_takes_too_long_is_answered_so(self):
        with Service("localhost", "--timeout", str(SHORT_TIME)) as service:
            _, text, _ = service.ask("POST", "/", lines_of(LONG, RIGHT))
            self.assertEqual(verdicts(text), ["UNUSABLE", "PASS"])
            self.assertIn("the verdict takes longer than ", json.loads(text.splitlines()[0])["why"])

    def test_a_question_that_hangs_is_answered_so(self):
        limit = 5 * SHORT_TIME
        with Service("localhost", "--timeout", str(limit)) as service:
            text = service.talk(post(lines_of(LONG)), lambda _: os.kill(service.judging_worker(), signal.SIGSTOP))
            self.assertTrue(text.startswith(b"HTTP/1.1 504 "), text)
            self.assertIn(f"it takes longer than {limit:g} s (--timeout)".encode(), text)
            self.assertEqual(service.workers(), [])
            self.assertTrue(service.works())

    @unittest.skipIf(SANITIZED, "nothing is limited, whose own memory would count")
    def test_a_question_that_takes_too_much_memory_is_answered_so(self):
        with Service("localhost", "--memory", "50") as service:
            large = b'{"id":7,"a":[1' + b",[]" * 990000 + b"]}"
            status, text, _ = service.ask("POST", "/", large, Content_Type="application/json")
            self.assertEqual((status, verdicts(text)), (507, ["error"]))
            self.assertIn("more than 50 MiB of memory", json.loads(text)["error"])
            self.assertEqual(verdicts(service.ask("POST", "/", lines_of(large + b"\n", RIGHT))[1]), ["error", "PASS"])
            self.assertEqual(service.ask("POST", "/", b" " * (60 << 20))[0], 507)  # the body alone
            self.assertTrue(service.works())

    def test_a_process_that_crashes_takes_nothing_with_it(self):
        def crash(_):
            os.kill(service.judging_worker(), signal.SIGKILL if SANITIZED else signal.SIGSEGV)

        def crash_after_a_verdict(client):
            self.assertTrue(soon(lambda: b'"verdict"' in client.recv(65536, socket.MSG_PEEK)))
            worker = service.judging_worker()
            used = used_seconds(worker)  # a crash before it judges the next question has no message
            self.assertTrue(soon(lambda: used_seconds(worker) > used + 0.05))
            crash(client)

        with Service("localhost") as service:
            for kind in "application/json", "application/x-ndjson":
                text = service.talk(post(lines_of(LONG), "Content-Type: " + kind), crash)
                self.assertTrue(text.startswith(b"HTTP/1.1 500 "), text)
                self.assertIn(b"the process that judged it ended by signal ", text)
            for version, end in ("1.1", b"\r\n"), ("1.0", b""):  # without a last chunk
                text = service.talk(post(lines_of(RIGHT, LONG, RIGHT), version=version), crash_after_a_verdict)
                self.assertEqual(text.count(b'"verdict"'), 1)
                self.assertRegex(text, b'\\n{"error":"the process that judged it ended by signal .*\\n' + end + b"$")
            self.assertTrue(service.works())


class Places(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = self.folder.name + "/socket"

    def refusal(self, *words, code=2):
        done = subprocess.run([PROGRAM, "serve", "--listen", *words], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (code, ""), words)
        return done.stderr

    def test_it_listens_to_this_machine_alone(self):
        for place in ["0.0.0.0", "0.0.0.0:80", "10.0.0.1", "192.168.0.1:8080", "[::]", "::", "::ffff:127.0.0.1", "8080",
                      ":8080", "example.com", "localhost.", "127.1", "128.0.0.1", "[::1", "[::1]80", "localhost:"]:
            self.assertIn("must be a loopback address", self.refusal(place), place)
        for place in ["localhost:65536", "localhost:-1", "localhost:x", "[::1]:1x"]:
            self.assertIn("the port must be a number", self.refusal(place), place)
        for option in "--connections", "--max-body", "--client-timeout":
            done = subprocess.run([PROGRAM, "serve", option, "1"], stdin=subprocess.DEVNULL, capture_output=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"--listen", done.stderr)

    def test_addresses(self):
        with Service("127.2.3.4:0") as service:
            self.assertRegex(service.where, r"^http://127\.2\.3\.4:\d+$")
            self.assertTrue(service.works())
            taken = service.where.removeprefix("http://")
            self.assertIn("in use", self.refusal(taken))
        with Service(taken) as service:  # free again at once
            self.assertTrue(service.works())
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6")
        for place in "::1", "[::1]:0":
            with Service(place) as service:
                self.assertRegex(service.where, r"^http://\[::1\]:\d+$")
                self.assertTrue(service.works())

    def test_a_socket_is_for_this_user_and_goes_at_the_end(self):
        for how in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with Service(self.path) as service:
                self.assertEqual(service.where, "unix:" + self.path)
                self.assertEqual(stat.S_IMODE(os.lstat(self.path).st_mode), 0o600)
                self.assertTrue(service.works())
                self.assertEqual(service.end(how), 128 + how)
            self.assertFalse(os.path.lexists(self.path))
        with Service("unix:" + self.path) as service:
            self.assertTrue(service.works())
            os.rename(self.path, self.path + "2")  # now another process's file
            open(self.path, "w").close()
            service.end(signal.SIGTERM)
        self.assertTrue(os.path.exists(self.path))

    def test_nothing_but_a_dead_socket_is_replaced(self):
        with Service(self.path) as service:
            service.end(signal.SIGKILL)
        self.assertTrue(os.path.lexists(self.path))
        with Service(self.path) as service:
            self.assertTrue(service.works())
            self.assertIn("another process listens on it", self.refusal(self.path))
            self.assertTrue(service.works())
        os.unlink(self.path)
        open(self.path, "w").close()
        self.assertIn("is not a socket", self.refusal(self.path))
        os.unlink(self.path)
        os.symlink(self.folder.name + "/elsewhere", self.path)
        self.assertIn("is not a socket", self.refusal(self.path))
        self.assertTrue(os.path.islink(self.path))
        self.assertIn("is not a socket", self.refusal(self.folder.name + "/"))
        self.assertIn("1 to 107 bytes", self.refusal("/" + "x" * 107))
        self.assertIn("1 to 107 bytes", self.refusal("unix:"))
        self.assertIn("No such file", self.refusal(self.folder.name + "/no/socket"))

    def test_others_cannot_put_their_socket_there(self):
        os.mkdir(self.folder.name + "/open")
        os.chmod(self.folder.name + "/open", 0o777)
        self.assertIn("every user may replace", self.refusal(self.folder.name + "/open/socket"))
        os.chmod(self.folder.name + "/open", 0o1777)
        with Service(self.folder.name + "/open/socket") as service:
            self.assertTrue(service.works())

    def test_a_signal_ends_it_and_all_that_runs(self):
        for place in "localhost", self.path:
            for how in signal.SIGINT, signal.SIGTERM:
                with Service(place) as service, service.connect() as busy, service.connect():
                    busy.sendall(post(lines_of(*[LONG] * 100)))
                    self.assertTrue(soon(lambda: len(service.workers()) == 2))
                    workers = service.workers()
                    start = time.monotonic()
                    self.assertEqual(service.end(how), 128 + how)
                    self.assertLess(time.monotonic() - start, 3)  # a second, on a busy machine
                    self.assertTrue(soon(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers)))
                    all_of(busy)
        self.assertFalse(os.path.lexists(self.path))

    def test_of_two_that_start_at_once_one_listens(self):
        with Service(self.path) as service:
            service.end(signal.SIGKILL)
        for _ in range(3):
            both = []
            threads = [threading.Thread(target=lambda: both.append(Service(self.path))) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            told = sorted(service.told for service in both)
            self.assertTrue(told[0].startswith("listening on unix:"), told)
            self.assertIn("another process listens on it", told[1])
            winner = next(service for service in both if service.told == told[0])
            self.assertTrue(winner.works())
            for service in both:
                service.end(signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
