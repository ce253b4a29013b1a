"""Names of columns that attack what shows them: terminals, pages, figures, templates, spreadsheets.

For tests of every place that shows names::

    from hostile.names import NASTY_NAMES, acts_on_page, acts_on_terminal
"""

NASTY_NAMES = {
    "colour of a terminal": "\x1b[31mred",
    "clear the screen": "\x1b[2J\x1b[H",
    "link of a terminal": "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07",
    "write to the clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "title of a terminal": "\x1b]0;root@host\x07",
    "control sequence of one byte": "\x9b31mred",
    "backspaces": "safe\x08\x08\x08\x08evil",
    "carriage return": "harmless\rprivate; cost nothing",
    "newline that forges a line": "a\nprivate; the fit cost epsilon = 0",
    "line separator": "a\u2028error: none\u2029",
    "NUL": "a\x00b",
    "delete": "a\x7fb",
    "right to left": "\u202egpj.exe",
    "isolated direction": "\u2066a\u2069",
    "zero width": "a\u200bb\ufeff",
    "script": "<script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "end of a picture": "</text></svg><script>alert(1)</script>",
    "comment": "--><script>alert(1)</script><!--",
    "entity": "&lt;b&gt;&#x3c;",
    "template": "{{7*7}}{% raise %}",
    "formula of a picture": "$\\nonsense{$",
    "dollars": "$5 to $10",
    "formula of a spreadsheet": '=HYPERLINK("https://evil.example")',
    "markup of the console": "[bold red]x[/bold red][/]",
    "format string": "%s%n{0.__class__}",
    "quote and comma": 'a",b',
    "very long": "x" * 3000,
    "space": " a",
    "nothing": "a\u3164",  # a name that shows nothing at all is refused
    "other script": "身長 ‌ Größe",
}
"""Name of the attack, and the name of the column. All can be written as UTF-8."""

_CONTROLS = {chr(code) for code in (*range(9), 11, 12, 13, *range(14, 32), 127, 0x9B, 0x2028, 0x2029)}
_DIRECTIONS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff")
_TAGS = ("<script>alert", "<img src=x", "</text></svg><script")


def acts_on_terminal(text: str) -> list[str]:
    """What acts on a terminal that shows a text: control characters and changes of direction."""
    return [*map(ascii, sorted((_CONTROLS | _DIRECTIONS) & set(text)))]


def acts_on_page(text: str) -> list[str]:
    """What acts in a page of HTML: the same, and tags of the names above."""
    return [*acts_on_terminal(text), *(tag for tag in _TAGS if tag in text)]
