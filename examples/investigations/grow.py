# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that takes some 140 MB, most of it below json.dumps() and json.loads(): for the source rss."""
import json

rows = [{"id": n, "name": f"customer {n}", "tags": ["new", "small", str(n % 97)]} for n in range(60000)]
texts = [json.dumps(rows) for _ in range(6)]
copies = [json.loads(text) for text in texts[:2]]
print(len(copies), "copies,", sum(map(len, texts)) // 1000000, "MB of JSON")
