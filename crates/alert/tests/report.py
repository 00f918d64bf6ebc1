"""Reads a mail or a page on its input as others do (the packages email and html.parser), and says what it is."""
import email
import email.policy
import json
import sys
from html.parser import HTMLParser

VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """What stands in a page: its text, its cells, its pictures; and whether all that is opened is closed in order."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.text, self.sources, self.rows, self.tags = [], [], [], [], [], set()
        self.active, self.in_cell = 0, False

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        names = [name for name, _ in attributes]
        if len(names) != len(set(names)):
            self.wrong.append(f"<{tag}> has an attribute twice")
        self.active += sum(name.startswith("on") for name in names) + (tag == "script")
        values = dict(attributes)
        if tag == "img":
            self.sources.append([values.get("src", ""), values.get("alt", "")])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self.in_cell = True
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.in_cell = False
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> does not close what is open")

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text.append(data)
        if self.in_cell:
            self.rows[-1][-1] += data

    def told(self):
        return {"wrong": self.wrong + [f"<{tag}> is open" for tag in self.open], "text": "".join(self.text),
                "sources": self.sources, "rows": self.rows, "tags": sorted(self.tags), "active": self.active}


def page(text):
    parser = Page()
    parser.feed(text)
    parser.close()
    return parser.told()


def mail(octets):
    letter = email.message_from_bytes(octets, policy=email.policy.default)
    parts = list(letter.walk())
    images = []
    for part in parts:
        if part.get_content_maintype() == "image":
            content = part.get_content()
            images.append({"id": part["Content-ID"], "type": part.get_content_type(), "octets": len(content),
                           "is_png": content[:8] == b"\x89PNG\r\n\x1a\n" and content[-8:-4] == b"IEND"})
    text = letter.get_body(("plain",)).get_content()
    html = letter.get_body(("html",)).get_content()
    lines = octets.split(b"\r\n")
    return {"subject": letter["Subject"], "id": letter["Message-ID"], "types": [part.get_content_type() for part in parts],
            "defects": sum(len(part.defects) for part in parts), "images": images, "text": text, "html": html,
            "page": page(html), "longest": max(map(len, lines)), "dots": sum(line[:1] == b"." for line in lines),
            "bare": octets.replace(b"\r\n", b"").count(b"\n")}


octets = sys.stdin.buffer.read()
print(json.dumps(page(octets.decode()) if sys.argv[1] == "page" else mail(octets)))
