#!/usr/bin/env python3
"""filter.py PAGE.md: the page as doxygen reads it. A heading gets a name that links can use, made as on the project's
other readers of Markdown; a link into a page becomes a reference to that name; what is no page of the site stays as text."""
import os
import re
import sys

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]*)\)")


def slug(heading):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def page_name(path, root):
    return os.path.splitext(os.path.relpath(path, root))[0].replace(os.sep, "-").replace("_", "-")


def label(page, anchor):
    return "at-" + page + "-" + anchor.replace("_", "-")


def filtered(path):
    folder = os.path.dirname(os.path.abspath(path))
    root = folder
    while os.path.basename(root) != "docs":
        if root == os.path.dirname(root):
            raise ValueError(f"{path} is below no folder docs")
        root = os.path.dirname(root)
    here = page_name(os.path.abspath(path), root)

    def link(match):
        text, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match[0]
        file, _, anchor = target.partition("#")
        to = os.path.normpath(os.path.join(folder, file)) if file else os.path.abspath(path)
        if not to.endswith(".md") or not to.startswith(root + os.sep):
            return text
        return f"[{text}](#{label(page_name(to, root), anchor)})" if anchor else match[0]

    fence, first, text = False, True, ""
    with open(path, encoding="utf-8") as f:
        for line in f:
            heading = not fence and re.match(r"(#{1,6}) (.*)", line)
            if heading and not first:
                named = re.search(r'<a name="([^"]*)"></a>', heading[2])
                words = re.sub(r"\s*<a name=.*?</a>|`", "", heading[2])  # doxygen shows the tags of code in a heading
                line = f"{heading[1]} {words} {{#{label(here, named[1] if named else slug(words))}}}\n"
            first = first and not heading
            if line.startswith("```"):  # links may go over the end of a line, not into a block
                yield text + line if fence else LINK.sub(link, text) + line
                fence, text = not fence, ""
            else:
                text += line
    yield LINK.sub(link, text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.writelines(filtered(sys.argv[1]))
