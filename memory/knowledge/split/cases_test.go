package split_test

import "github.com/weft-go/weft/memory/knowledge/split"

type splitCase struct {
	name   string
	format split.Format
	source string
	title  string
	want   []string
}

const separate = -1 // a value of Small: do not join sections

var splitCases = []splitCase{
	{"markdown headings", split.Markdown, "intro\n\n# A\n\none\n\n## B\n\ntwo\n\n# C\nthree\n", "A", []string{": intro", "A: # A\n\none", "A>B: ## B\n\ntwo", "C: # C\nthree"}},
	{"markdown headings that follow each other", split.Markdown, "# A\n## B\n### C\ntext", "A", []string{"A>B>C: # A\n## B\n### C\ntext"}},
	{"markdown headings alone", split.Markdown, "# A\n\n## B\n", "A", []string{"A>B: # A\n\n## B"}},
	{"markdown levels skipped", split.Markdown, "### A\na\n# B\nb\n### C\nc\n## D\nd", "A", []string{"A: ### A\na", "B: # B\nb", "B>C: ### C\nc", "B>D: ## D\nd"}},
	{"markdown underlined", split.Markdown, "Title *x*\n===\na\n\nSub\nline\n---\nb\n", "Title x", []string{"Title x: Title *x*\n===\na", "Title x>Sub line: Sub\nline\n---\nb"}},
	{"markdown marks in headings", split.Markdown, "# The `go` [tool](https://x.y) **now** #\nx\n## Anchor {#here}\ny", "The go tool now", []string{
		"The go tool now: # The `go` [tool](https://x.y) **now** #\nx", "The go tool now>Anchor: ## Anchor {#here}\ny",
	}},
	{"markdown no heading", split.Markdown, "#hash\n####### seven\n", "", []string{": #hash\n####### seven"}},
	{"markdown heading in code", split.Markdown, "# A\n```sh\n# not one\n\n~~~\n```\n\n~~~\n# nor this\n````\n~~~\n    # nor that\n", "A", []string{
		"A: # A\n```sh\n# not one\n\n~~~\n```\n\n~~~\n# nor this\n````\n~~~\n    # nor that",
	}},
	{"markdown code without an end", split.Markdown, "a\n```\n# x\n\n# y", "", []string{": a\n```\n# x\n\n# y"}},
	{"markdown front matter", split.Markdown, "---\ntitle: \"My page\"\n# comment: 1\n---\n# A\nx", "My page", []string{": ---\ntitle: \"My page\"\n# comment: 1\n---", "A: # A\nx"}},
	{"markdown front matter of TOML", split.Markdown, "+++\ntitle = 'T'\n+++\nx", "T", []string{": +++\ntitle = 'T'\n+++\nx"}},
	{"markdown rule and no front matter", split.Markdown, "---\nx\n", "", []string{": ---\nx"}},
	{"markdown byte order mark and CRLF", split.Markdown, "\ufeff# A\r\n\r\nx\r\n", "A", []string{"A: # A\r\n\r\nx"}},
	{"markdown CR", split.Markdown, "# A\r\rx\ry\r## B\rz\r", "A", []string{"A: # A\r\rx\ry", "A>B: ## B\rz"}},
	{"plain underlined", split.Plain, "\ufeffTitle\n=====\n\none\n\nPart\n----\ntwo\n# three\n", "Title", []string{"Title: Title\n=====\n\none", "Title>Part: Part\n----\ntwo\n# three"}},
	{"plain nothing", split.Plain, " \n\t\n", "", nil},
	{"html", split.HTML, `<!DOCTYPE html><html><head><title> T &amp;
		U</title><style>p{}</style><script>if (a<b) "</p>"</script></head><body>
		<nav>menu</nav><h1 id="x">Hello <b>World</b></h1><p>One&nbsp;two &lt;three&gt; caf&eacute;.</p><!-- no <p>comment --><p>Four`, "T & U", []string{
		"Hello World: Hello World\n\nOne two <three> café.\n\nFour",
	}},
	{"html lists, tables and code", split.HTML, "<h2>A</h2><ul><li>one<li><p>two</p><ul><li>three</ul></ul><table><tr><th>x<th>y</tr><tr><td>1</td><td>2</td></tr></table><pre>a\n  b</pre>", "A", []string{
		"A: A\n\n- one\n- two\n- three\n\n\nx | y\n1 | 2\n\na\n  b",
	}},
	{"html hidden", split.HTML, `<div>a<div hidden>b<div>c</div></div>d</div><span style="DISPLAY : none">e</span><p hidden>f<p>g<input hidden>h<template>i</template><textarea><b>j</textarea>`, "", []string{": ad\n\ngh<b>j"}},
	{"html that is none", split.HTML, "a < b && c > d &nosuch; &#0; </ x> <", "", []string{": a < b && c > d &nosuch; \ufffd <"}},
	{"html tag without an end", split.HTML, `a <b class="x> c <i d`, "", []string{`: a <b class="x> c <i d`}},
	{"html attributes", split.HTML, `<p title="a>b" data-x='<p>'>c</p><br/>d<P/>e`, "", []string{": c\n\nd\n\ne"}},
	{"html CDATA", split.HTML, "<p><![CDATA[a <b> c]]>d", "", []string{": a <b> cd"}},
	{"json", split.JSON, `{"name": "Ann \u00e9\ud83d\ude00", "n": 1.50, "list": [{"a": true}, {"a": null, "b": {"c": "x\ty"}}], "tags": ["p", "q"], "none": {}, "last": ""}`, "", []string{
		": name: Ann é😀\nn: 1.50", "list>0: a: true", "list>1: a: null", "list>1>b: c: x\ty", "tags: p\nq", ": last:",
	}},
	{"json value", split.JSON, ` "a\\\"b\u0000" `, "", []string{`: a\"b` + "\ufffd"}},
	{"json list", split.JSON, `[[1,2],[],[[3]]]`, "", []string{"0: 1\n2", "2>0: 3"}},
	{"json lines", split.JSON, "{\"a\":1}\n\n{\"a\":[2]}\n", "", []string{"1: a: 1", "3>a: 2"}},
	{"json that is none", split.JSON, "{\"a\":1}\n{\n", "", []string{": {\"a\":1}\n{"}},
	{"json nothing", split.JSON, "{}", "", nil},
	{"unknown format", "x", "# a", "", []string{": # a"}},
	{"markdown heading in a comment", split.Markdown, "# A\na\n\n<!--\n# not one\n\nnor\n===\n-->\nb\n", "A", []string{"A: # A\na\n\n<!--\n# not one\n\nnor\n===\n-->\nb"}},
	{"markdown heading in HTML", split.Markdown, "a\n\n<pre>\n# x\n\n# y\n</pre>\n<div>\n# z\n</div>\n\n<?php\n\n# p\n?>\n\n<script>\n\n# s\n</script>\n", "", []string{
		": a\n\n<pre>\n# x\n\n# y\n</pre>\n<div>\n# z\n</div>\n\n<?php\n\n# p\n?>\n\n<script>\n\n# s\n</script>",
	}},
	{"markdown heading after HTML", split.Markdown, "<details>\n\n## A\n\na\n\n</details>\n", "A", []string{": <details>", "A: ## A\n\na\n\n</details>"}},
	{"markdown heading in a list or a quote", split.Markdown, "- a\n\n  # x\n\n  y\n  ===\n1. # z\n\n> # q\n> r\n> ---\n", "", []string{": - a\n\n  # x\n\n  y\n  ===\n1. # z\n\n> # q\n> r\n> ---"}},
	{"markdown heading after a list", split.Markdown, "- a\n\n      # code\n- b\n# A\nx\n", "A", []string{": - a\n\n      # code\n- b", "A: # A\nx"}},
	{"markdown rules are no underlines", split.Markdown, "a\n\n---\n\nb\n\n- c\n---\nd\n", "", []string{": a\n\n---\n\nb\n\n- c\n---\nd"}},
	{"markdown references in headings", split.Markdown, "## [1.2.0] - 2026\nx\n## [Two][t] & `[3]` &amp; \\*4\\*\ny\n\n[1.2.0]: https://x.y\n[t]: /t\n", "1.2.0 - 2026", []string{
		"1.2.0 - 2026: ## [1.2.0] - 2026\nx", "Two & [3] & *4*: ## [Two][t] & `[3]` &amp; \\*4\\*\ny\n\n[1.2.0]: https://x.y\n[t]: /t",
	}},
	{"markdown HTML in headings", split.Markdown, "# <a name=\"x\"></a>Title\nx\n\n# <img src=\"logo.png\">\ny\n", "Title", []string{"Title: # <a name=\"x\"></a>Title\nx\n\n# <img src=\"logo.png\">\ny"}},
	{"markdown empty heading", split.Markdown, "# A\nx\n#\ny\n", "A", []string{"A: # A\nx\n#\ny"}},
	{"markdown front matter with fields in fields", split.Markdown, "---\nauthor:\n  title: Dr\n---\nx", "", []string{": ---\nauthor:\n  title: Dr\n---\nx"}},
	{"markdown front matter without an end", split.Markdown, "---\ntitle: T\n\n# A\nx", "A", []string{": ---\ntitle: T", "A: # A\nx"}},
	{"html comments and declarations", split.HTML, "<?xml version='1.0'?><p>a<!-- <h1>x</h1> -->b<!-->c<!--- d --->e<!x>f", "", []string{": abcef"}},
	{"html scripts", split.HTML, "<p>a<script>x = '<h1>no</h1>'; <!-- <script> </script> --></script>b<style>p > a {}</style><template><h2>no</h2></template>c<noscript>d</noscript>", "", []string{": abc\n\nd"}},
	{"html references without an end", split.HTML, "a&#222##222&ampx&notit;&#59;&amp", "", []string{": aÞ##222&x¬it;;&"}},
	{"html preformatted", split.HTML, "<h1>A</h1><pre><code>if x {\n\ty &lt; z\n}\n\n# no heading</code></pre>", "A", []string{"A: A\n\nif x {\n\ty < z\n}\n\n# no heading"}},
	{"pages", split.Pages, "\ufeffone\n\n  two\n\f\fthree\n===\n", "", []string{"Page 1: one\n\n  two", "Page 3: three\n==="}},
	{"pages without a form feed", split.Pages, "a\rb", "", []string{"Page 1: a\rb"}},
}
