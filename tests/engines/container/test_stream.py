"""Bytes from the daemon, cut anywhere; no Docker needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.frames import MAX_FRAME_BYTES, PROTOCOL, Channel, encode
from codemode.errors import ProtocolError
from codemode.sandbox._seal import Unsealer, seal
from codemode.sandbox._stream import MAX_PIECE_BYTES, StreamParser

KEY = bytes(range(32))
PIECES = [(1, b"hello"), (2, b""), (1, b"\x01\0\0\0"), (2, b"oops\n"), (1, bytes(range(256)))]


def multiplexed(pieces: list[tuple[int, bytes]]) -> bytes:
    return b"".join(
        bytes([kind, 0, 0, 0]) + len(data).to_bytes(4, "big") + data for kind, data in pieces
    )


def sealed(frames: list[dict], key: bytes = KEY) -> bytes:
    encoded = [encode(frame) for frame in frames]
    return b"".join(seal(key, n, frame) + frame for n, frame in enumerate(encoded))


def test_a_stream_cut_at_every_byte_gives_the_same_pieces() -> None:
    data = multiplexed(PIECES)
    whole = StreamParser().receive(data)

    assert [(name, piece) for name, piece in whole] == [
        ("stderr" if kind == 2 else "stdout", piece) for kind, piece in PIECES
    ]
    for cut in range(len(data) + 1):
        parser = StreamParser()
        assert parser.receive(data[:cut]) + parser.receive(data[cut:]) == whole


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=8), st.data())
def test_a_stream_in_any_pieces_gives_the_same(pieces, data) -> None:
    raw = multiplexed(pieces)
    parser, found, at = StreamParser(), [], 0
    while at < len(raw):
        step = data.draw(st.integers(1, 30))
        found += parser.receive(raw[at : at + step])
        at += step

    assert found == StreamParser().receive(raw)


@pytest.mark.parametrize(
    "header",
    [
        b"\x03\0\0\0\0\0\0\1",
        b"\x01\0\0\1\0\0\0\1",
        b"\x01\0\0\0" + (MAX_PIECE_BYTES + 1).to_bytes(4, "big"),
    ],
)
def test_a_header_that_is_none_is_refused(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        StreamParser().receive(header)


FRAMES = [
    {"type": "ready", "protocol": PROTOCOL},
    {"type": "file", "id": 1, "data": "AA=="},
    {"type": "done_file", "id": 2},
]


def test_sealed_frames_cut_at_every_byte_reach_the_channel() -> None:
    data = sealed(FRAMES)
    for cut in range(len(data) + 1):
        unsealer, channel = Unsealer(KEY), Channel()
        found = []
        for part in (data[:cut], data[cut:]):
            for frame in unsealer.receive(part):
                found += channel.receive(frame)
        assert found == FRAMES


def forged() -> list[bytes]:
    first, second = encode(FRAMES[0]), encode(FRAMES[1])
    return [
        first,  # no seal
        bytes(16) + first,
        seal(b"another key" * 2, 0, first) + first,
        seal(KEY, 1, first) + first,  # a place that is not its own
        seal(KEY, 0, second) + first,
        bytes(16) + (MAX_FRAME_BYTES + 1).to_bytes(4, "big"),
    ]


@pytest.mark.parametrize("data", forged())
@pytest.mark.case("attack:45", "T13")
def test_a_frame_that_the_harness_did_not_write_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        Unsealer(KEY).receive(data + bytes(64))


@pytest.mark.case("attack:45")
def test_a_frame_that_is_sent_again_is_refused() -> None:
    data = sealed(FRAMES[:1])
    unsealer = Unsealer(KEY)
    assert len(unsealer.receive(data)) == 1

    with pytest.raises(ProtocolError):
        unsealer.receive(data)
