# SPDX-License-Identifier: GPL-2.0-or-later
"""push: a fleet folder to an S3 store on loopback (moto, which checks signatures), and to a folder."""
import http.server
import importlib.util
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from conftest import EXPORT, wait_for
from exporter import run

needs_moto = pytest.mark.skipif(not importlib.util.find_spec("moto"), reason="moto is not installed")
BUCKET = "fleet"
EMPTY_ENV = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}


def write_fleet(folder, events_sz=1000):
    files = {"stacks/day=2026-11-26/part-1.parquet": b"S" * 10, "processes/day=2026-11-26/part-2.parquet": b"P" * 20,
             "events/day=2026-11-26/hour=07/part-3.parquet": os.urandom(events_sz), "_stacks/merged/x": b"no part"}
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    del files["_stacks/merged/x"]
    return files


def contents(folder):
    return {str(f.relative_to(folder)): f.read_bytes() for f in pathlib.Path(folder).rglob("*") if f.is_file()}


class Store:
    """A server of moto, with a user whose requests must be signed, and a bucket."""

    def __init__(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(self.port)], env={**EMPTY_ENV, "INITIAL_NO_AUTH_ACTION_COUNT": "4"},
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.answers)
        self.boto = self.client("s3", "x", "x")
        iam = self.client("iam", "x", "x")
        iam.create_user(UserName="pusher")
        iam.put_user_policy(UserName="pusher", PolicyName="all", PolicyDocument='{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}')
        key = iam.create_access_key(UserName="pusher")["AccessKey"]
        self.boto.create_bucket(Bucket=BUCKET)
        self.key, self.secret = key["AccessKeyId"], key["SecretAccessKey"]
        self.boto = self.client("s3", self.key, self.secret)

    def client(self, service, key, secret):
        import boto3
        return boto3.client(service, endpoint_url=self.url, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1")

    def answers(self):
        try:
            return urllib.request.urlopen(f"{self.url}/moto-api/", timeout=5).status
        except OSError:
            return None

    def env(self, **more):
        return {**EMPTY_ENV, "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret, "AWS_ENDPOINT_URL": self.url, **more}

    def objects(self, prefix):
        keys = [o["Key"] for o in self.boto.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])]
        return {k.removeprefix(prefix): self.boto.get_object(Bucket=BUCKET, Key=k)["Body"].read() for k in keys}


@pytest.fixture(scope="module")
def store():
    s = Store()
    yield s
    s.process.kill()
    s.process.wait()


@needs_moto
def test_a_store_gets_each_part_once(store, tmp_path):
    files = write_fleet(tmp_path / "fleet")
    p = run("push", tmp_path / "fleet", f"s3://{BUCKET}/a/b", env=store.env())
    assert "sent 3 files" in p.stderr
    assert store.objects("a/b/") == files
    assert "sent 0 files" in run("push", tmp_path / "fleet", f"s3://{BUCKET}/a/b", env=store.env()).stderr
    assert "sent 3 files" in run("push", tmp_path / "fleet", f"{store.url}/{BUCKET}/c", env=store.env()).stderr


@needs_moto
def test_a_large_file_is_sent_in_parts(store, tmp_path):
    files = write_fleet(tmp_path / "fleet", 40 << 20)
    run("push", tmp_path / "fleet", f"s3://{BUCKET}/large", "--remove", env=store.env())
    assert store.objects("large/") == files
    etag = store.boto.head_object(Bucket=BUCKET, Key="large/events/day=2026-11-26/hour=07/part-3.parquet")["ETag"]
    assert etag.strip('"').endswith("-3")
    assert list(contents(tmp_path / "fleet")) != [] and not list((tmp_path / "fleet").rglob("part-*"))


@needs_moto
def test_credentials_come_from_a_file(store, tmp_path):
    files = write_fleet(tmp_path / "fleet")
    (tmp_path / "credentials").write_text(f"[default]\naws_access_key_id = wrong\n\n[fleet]\naws_access_key_id = {store.key}\n"
                                          f"aws_secret_access_key={store.secret}\n")
    env = {**EMPTY_ENV, "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"), "AWS_PROFILE": "fleet", "AWS_ENDPOINT_URL": store.url}
    run("push", tmp_path / "fleet", f"s3://{BUCKET}/file", env=env)
    assert store.objects("file/") == files
    env["AWS_PROFILE"] = "other"
    assert "[other]" in run("push", tmp_path / "fleet", f"s3://{BUCKET}/none", env=env, status=1).stderr


@needs_moto
def test_a_wrong_secret_is_refused_without_another_try(store, tmp_path):
    write_fleet(tmp_path / "fleet")
    p = run("push", tmp_path / "fleet", f"s3://{BUCKET}/wrong", env=store.env(AWS_SECRET_ACCESS_KEY="not this one"), status=1)
    assert "SignatureDoesNotMatch" in p.stderr and "not this one" not in p.stderr
    assert p.stderr.count("the server answered") == 1


class Failing(http.server.BaseHTTPRequestHandler):
    """Fails twice, then accepts everything."""
    failures, puts = 2, {}

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if Failing.failures:
            Failing.failures -= 1
            self.send_response(503)
        else:
            Failing.puts[self.path] = body
            assert "Credential=k/" in self.headers["Authorization"]
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


def test_a_failing_server_is_asked_again(tmp_path):
    files = write_fleet(tmp_path / "fleet")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    p = run("push", tmp_path / "fleet", f"http://127.0.0.1:{server.server_port}/{BUCKET}", env={**EMPTY_ENV, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"})
    server.shutdown()
    assert p.stderr.count("503") == 2
    assert {k.replace("%3D", "=").removeprefix(f"/{BUCKET}/"): v for k, v in Failing.puts.items()} == files


def test_a_folder_gets_the_files_and_follow_waits_until_it_is_there(tmp_path):
    files = write_fleet(tmp_path / "fleet")
    p = subprocess.Popen([EXPORT, "push", tmp_path / "fleet", tmp_path / "mounted", "--follow"], stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(0.5)
        (tmp_path / "mounted").mkdir()
        wait_for(lambda: contents(tmp_path / "mounted") == files)
    finally:
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=60)
    assert p.returncode == 0 and "No such file" in err


def test_what_waits_is_bounded(tmp_path):
    write_fleet(tmp_path / "fleet")
    old = tmp_path / "fleet/events/day=2026-11-25/hour=01"
    old.mkdir(parents=True)
    (old / "part-0.parquet").write_bytes(b"x" * 5000)
    p = subprocess.Popen([EXPORT, "push", tmp_path / "fleet", tmp_path / "away", "--follow", "--max-spool", "2K"], stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: not (old / "part-0.parquet").exists())
    finally:
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=60)
    assert "--max-spool waits: events/day=2026-11-25/hour=01/part-0.parquet" in err
    assert len(list((tmp_path / "fleet").rglob("part-*"))) == 3


def test_wrong_calls(tmp_path):
    shutil.os.makedirs(tmp_path / "empty")
    assert "no file to send" in run("push", tmp_path / "empty", tmp_path, status=1).stderr
    for url in ("s3://", "http://host", "https://host/", "ftp://host/bucket", "https://key:secret@host/bucket"):
        assert "is not s3://" in run("push", tmp_path / "empty", url, status=2).stderr
    assert "--follow" in run("push", tmp_path / "empty", tmp_path, "--max-spool", "1G", status=2).stderr
    assert "URL" in run("push", tmp_path / "empty", status=2).stderr
    env = {**EMPTY_ENV, "HOME": str(tmp_path)}
    assert "AWS_ACCESS_KEY_ID" in run("push", tmp_path / "empty", "s3://b/p", env=env, status=1).stderr
