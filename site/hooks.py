"""Hooks of the documentation site.

The pages in docs/ also have to work on GitHub. There, a link may lead to any file of the
repository, and a picture is a file. These hooks

- lead a link to a public package to its page of the reference, and a link to another file of
  the repository to that file on GitHub;
- put each drawing into its page, so that it has the colours of the page;
- show a compiled program on the home page;
- add the changelog, and the pages about security and contributing;
- add the pages of the reference, which `go run ./internal/reference` has written;
- fail a strict build if a built page would load something from another host.
"""

import os
import posixpath
import re
from pathlib import Path

from markupsafe import Markup
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import GoLexer

log = get_plugin_logger("weft")
ROOT = Path(__file__).resolve().parent.parent
# The pages that are files of the root folder, if they exist.
ROOT_PAGES = {"SECURITY.md": "Security", "CHANGELOG.md": "Changelog", "CONTRIBUTING.md": "Contributing"}
GITHUB = "https://github.com/weft-go/weft/"
DOCS = GITHUB + "blob/main/docs/"
REFERENCE = Path(os.environ["WEFT_REFERENCE"])

FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"(\]\()([^)\s]+)((?:\s+\"[^\"]*\")?\))")
# The address of a page as its own text, as in a doc comment. The name of the page is the text then.
PAGE = re.compile(r"\[(" + re.escape(GITHUB + "blob/main/docs/") + r"([a-z/-]+)\.md[^\]]*)\]\(\1\)")
DRAWING = re.compile(r"!\[([^\]]*)\]\(([^)\s]*drawings/[^)\s]+\.svg)\)")
FOREIGN = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\ssrc=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b(?=[^>]*rel=["']?(?:stylesheet|preload|preconnect|icon|manifest))[^>]*href=["']?(?:https?:)?//[^>]*>""",
    re.I,
)


def packages():
    """Returns the paths of the packages that have a page, such as graph/agent."""
    return sorted(p.relative_to(REFERENCE).with_suffix("").as_posix() for p in REFERENCE.rglob("*.md"))


def root_pages():
    return {name: title for name, title in ROOT_PAGES.items() if (ROOT / name).exists()}


def on_config(config):
    section = next(entry["Reference"] for entry in config.nav if "Reference" in entry)
    section.extend({title: name.lower()} for name, title in root_pages().items())
    groups = {}
    for name in packages():
        groups.setdefault(name.split("/")[0], []).append({name: f"reference/{name}.md"})
    section.extend({group: pages} for group, pages in groups.items())
    return config


def on_files(files, config):
    for name in packages():
        files.append(File.generated(config, f"reference/{name}.md", abs_src_path=str(REFERENCE / f"{name}.md")))
    for name in root_pages():
        files.append(File.generated(config, name.lower(), content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    here = posixpath.dirname(page.file.src_uri)
    known = set(packages())
    lines, fence = [], None
    for line in markdown.split("\n"):
        mark = FENCE.match(line)
        if mark and fence is None:
            fence = mark.group(1)
        elif mark and line.strip() == fence:
            fence = None
        elif fence is None:
            line = DRAWING.sub(lambda m: drawing(m, page, here), line)
            line = PAGE.sub(lambda m: f"[{m.group(2)}]({m.group(1)})", line)
            line = links(line, page, here, known)
        lines.append(line)
    return "\n".join(lines)


def links(line, page, here, known):
    """Returns a line with the addresses of its links on the site. Code has no links: `state.Last[T](name)` stays."""
    done, start = "", 0
    for code in [*CODE.finditer(line), None]:
        text = line[start:code.start() if code else len(line)]
        done += LINK.sub(lambda m: m.group(1) + target(m.group(2), page, here, known) + m.group(3), text)
        if code:
            done, start = done + code.group(0), code.end()
    return done


def target(url, page, here, known):
    """Returns the address on the site for an address on GitHub."""
    if url.startswith(DOCS) and ".md" in url:  # a doc comment names a page
        return posixpath.relpath(url[len(DOCS):], here or ".")
    if re.match(r"[a-z]+:|#|/", url):
        return url
    if page.file.src_uri.startswith("reference/"):
        return url
    path, _, anchor = url.partition("#")
    anchor = anchor and "#" + anchor
    folder = "" if page.file.src_uri in [name.lower() for name in ROOT_PAGES] else "docs"
    full = posixpath.normpath(posixpath.join(folder, here, path))
    if full.startswith("docs/") and full.endswith((".md", ".png", ".svg")):
        return posixpath.relpath(full[len("docs/"):], here or ".") + anchor
    if full in root_pages():
        return posixpath.relpath(full.lower(), here or ".") + anchor
    if full in known:
        return posixpath.relpath(f"reference/{full}.md", here or ".") + anchor
    if not (ROOT / full).exists():
        log.warning("%s: the repository has no %s", page.file.src_uri, full)
    return GITHUB + ("tree" if (ROOT / full).is_dir() else "blob") + "/main/" + full + anchor


def drawing(match, page, here):
    """Returns a drawing as part of the page. assets/site.css replaces its style."""
    alt, url = match.groups()
    path = ROOT / "docs" / posixpath.normpath(posixpath.join(here, url))
    if not path.exists():
        log.warning("%s: there is no drawing %s", page.file.src_uri, url)
        return match.group(0)
    svg = re.sub(r"<style>.*?</style>", "", path.read_text(), flags=re.S)
    svg = re.sub(r"\s*\n\s*", "", svg)
    return f'<figure class="drawing" role="img" aria-label="{alt}">{svg}</figure>'


def on_env(env, config, files):
    """Gives home.html the program that it shows."""
    text = (ROOT / "examples/howto/home_test.go").read_text()
    part = text.split("// docs:begin home\n")[1].split("// docs:end")[0]
    env.globals["program"] = Markup(highlight(part, GoLexer(), HtmlFormatter(nowrap=True)))
    return env


def on_post_page(output, page, config):
    for match in FOREIGN.finditer(output):
        log.warning("%s loads something from another host: %s", page.file.src_uri, match.group(0))
    return output
