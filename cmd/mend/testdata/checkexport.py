# Checks an export of mend's journal without mend: python3 checkexport.py FILE [HEAD]
import base64, hashlib, json, sys

sha = lambda b: hashlib.sha256(b).hexdigest()
image = lambda i: "-" if i is None else "%s:%d:%d" % (i["sha256"], i["size"], i["mode"])
head, seen, events, entries, digests, pieces, begin, ops, texts = "", set(), 0, 0, 0, {}, {}, [], set()
for text in open(sys.argv[1], encoding="utf-8"):
    line = json.loads(text)
    if line["type"] == "journal":
        head = sha(b"mend journal 1\0" + line["id"].encode())
    elif line["type"] == "event":
        events += 1
        assert line["event"] == events and line["before"] == head, "event %d: the chain is broken" % events
        head = sha(b"\1" + events.to_bytes(8, "big") + bytes.fromhex(head) + line["payload"].encode())
        assert line["hash"] == head, "event %d: its hash is wrong" % events
        event = json.loads(line["payload"])
        begin, ops, texts = event.get("begin", {}), [], {part["text"] for part in event.values() if isinstance(part, dict) and "text" in part}
        entries += "begin" in event
    elif line["type"] == "ops":
        ops += ["%s %s %s\n" % (o["key"], image(o["pre"]), image(o["post"])) for o in line["ops"]]
        if len(ops) == begin["count"] and "digest" in begin:
            digests += 1
            assert sha(("mend plan 1\n" + "".join(sorted(ops))).encode()) == begin["digest"], "entry %d: its digest is wrong" % entries
    elif line["type"] == "text":
        assert sha(line["text"].encode()) in texts, "event %d: its text is another" % events
    elif line["type"] == "image":
        pieces.setdefault(line["sha256"], hashlib.sha256()).update(base64.b64decode(line["data"]))
    elif line["type"] == "end":
        assert [line[n] for n in ("events", "entries", "images", "head")] == [events, entries, len(pieces), head], "the end is wrong"
    seen.add(head)
assert line["type"] == "end", "the end is missing"
assert all(want == got.hexdigest() for want, got in pieces.items()), "an image holds other bytes"
assert len(sys.argv) < 3 or sys.argv[2] in seen, "that head is not in the chain"
print("%d events, %d entries, %d digests, %d images, head %s" % (events, entries, digests, len(pieces), head))
