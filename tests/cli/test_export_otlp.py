# SPDX-License-Identifier: GPL-2.0-or-later
"""otlp: the profile of pprof as OTLP, read by the protocol's own decoder (PyPI: opentelemetry-proto)."""
import pytest

from exporter import Raw, run
from recordings import PERIOD, Batch, names

service = pytest.importorskip("opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2", reason="opentelemetry-proto is not installed")


def read(path):
    request = service.ExportProfilesServiceRequest()
    request.ParseFromString(path.read_bytes())
    (resource,) = request.resource_profiles
    (scope,) = resource.scope_profiles
    (profile,) = scope.profiles
    return request.dictionary, resource.resource, profile


def stacks_of(d, profile):
    found = {}
    for s in profile.samples:
        (value,) = s.values
        assert s.stack_index
        lines = [line for i in d.stack_table[s.stack_index].location_indices for line in d.location_table[i].lines]
        key = tuple(d.string_table[d.function_table[line.function_index].name_strindex] for line in lines)
        found[key] = found.get(key, 0) + value
    return found


def type_of(d, t):
    return d.string_table[t.type_strindex], d.string_table[t.unit_strindex]


@pytest.fixture
def recording(tmp_path):
    b = Batch()
    b.profile(0, names("hash", "main"), count=3).profile(10, names("read", "main"), count=2)
    b.slice(0, 10, "sleeping", names("wait", "main"), pid=1).slice(50, 90, "sleeping", names("wait", "main"), pid=1)
    b.add("rss", 1, names("grow", "main"), amount=1000).add("rss", 2, names("grow", "main"), amount=5000)
    return b.write(tmp_path / "rec")


@pytest.mark.parametrize("query, value, kind, period", [
    ("cpu_stacks.sql", 0, ("samples", "count"), PERIOD), ("offcpu_stacks.sql", 1, ("off_cpu", "nanoseconds"), 0),
    ("rss_ustacks_growth.sql", 1, ("growth", "bytes"), 0)])
def test_numbers_are_those_of_pprof(recording, tmp_path, query, value, kind, period):
    run("pprof", query, "-r", recording, "--output", tmp_path / "p")
    run("otlp", query, "-r", recording, "--output", tmp_path / "o", "-c", "prog")
    d, resource, profile = read(tmp_path / "o")
    assert stacks_of(d, profile) == {stack: values[value] for stack, values in Raw(tmp_path / "p").samples.items() if values[value]}
    assert type_of(d, profile.sample_type) == kind
    assert profile.period == period
    if period:
        assert type_of(d, profile.period_type) == ("cpu", "nanoseconds")
    assert [(a.key, a.value.string_value) for a in resource.attributes] == [("service.name", "prog")]
    assert len(profile.profile_id) == 16 and profile.time_unix_nano and profile.duration_nano


def test_the_first_entries_are_empty_and_build_ids_are_attributes(recording, tmp_path):
    run("otlp", "cpu_stacks.sql", "-r", recording, "--output", tmp_path / "o")
    d, _, _ = read(tmp_path / "o")
    for table in (d.mapping_table, d.location_table, d.function_table, d.link_table, d.attribute_table, d.stack_table):
        assert table[0] == type(table[0])()
    assert d.string_table[0] == "" and len(set(d.string_table)) == len(d.string_table)
    (mapping,) = [m for m in d.mapping_table if m.attribute_indices]
    attribute = d.attribute_table[mapping.attribute_indices[0]]
    assert d.string_table[attribute.key_strindex] == "process.executable.build_id.gnu"
    assert attribute.value.string_value == "ab" * 20
    assert d.string_table[mapping.filename_strindex] == "/usr/bin/prog"
