package textfile

import (
	"regexp"
	"strings"
)

// A span is a part of a text.
type span struct{ from, to int }

var sentenceEnd = regexp.MustCompile(`[.!?]["”)*` + "`" + `]*\s+`)

// sentences divides a text into sentences.
func sentences(text string) []span {
	var out []span
	from := 0
	for _, at := range sentenceEnd.FindAllStringIndex(text, -1) {
		// "e.g. this" is not the end of a sentence.
		if next := text[at[1]:]; next == "" || next[0] >= 'a' && next[0] <= 'z' {
			continue
		}
		out = append(out, span{from, at[1]})
		from = at[1]
	}
	return append(out, span{from, len(text)})
}

// patterns are the forms in which a text defines something, each with the score of
// a passage that has it.
type patterns []struct {
	form  *regexp.Regexp
	score float64
}

// definition returns the forms that define terms. None of them matches a mere mention, such as "a
// loom that breaks".
func definition(terms []term) patterns {
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = regexp.QuoteMeta(strings.TrimSuffix(t.word, "y")) + `(?:y|ies|e?s)?`
	}
	const (
		mark    = "[*_`\"“”]{0,3}"
		marks   = "[*_`\"“”]{1,3}"
		article = `(?:an? |the |each |every |type |func |class |def |const |var )?`
		clause  = `(?:^|[.:;!?,(] |\band |— )`
		opening = `(?:^|[.:;!?] )`
		is      = ` (?:is|are|was|were|means?|refers? to) `
		// "is refused" says what happens to something, not what it is.
		kind = `(?:an? |the |one |what |where |how |all |every |each |like )`
	)
	what := `(?:\w+\.)?` + strings.Join(words, `[ \-/_.]?`)
	all := patterns{}
	for _, p := range []struct {
		form  string
		score float64
	}{
		{clause + article + marks + what + marks + is + kind, 1.3},
		{clause + article + marks + what + marks + `(?:\([^)]*\))? [\pL]+s\b`, 1.1}, // "a *loom* holds"
		{opening + article + mark + what + mark + is + kind, 1.1},
		{`^` + mark + what + mark + `(?::| —| –| -| =)` + mark + ` \S`, 0.8},
		{`\b(?:called|named|known as) ` + article + mark + what + mark + `\b`, 0.7},
		{clause + article + mark + what + mark + is + kind, 0.8},
		{`^(?:\*\*|__)` + article + mark + what + mark + `[.:]?(?:\*\*|__)`, 0.8}, // a bold title
		{opening + article + mark + what + mark + `(?: \([^)]*\))? [\pL]+s\b`, 0.5},
		{opening + article + mark + what + mark + is, 0.4},
	} {
		all = append(all, struct {
			form  *regexp.Regexp
			score float64
		}{regexp.MustCompile(`(?i)` + p.form), p.score})
	}
	return all
}

// in returns the score of the best form that matches a block, and the start of the sentence with
// the match.
func (p patterns) in(b *block) (score float64, start int) {
	if b.code {
		return 0, 0
	}
	for _, pattern := range p {
		at := pattern.form.FindStringIndex(b.raw)
		if at == nil || pattern.score <= score {
			continue
		}
		score = pattern.score
		for _, s := range sentences(b.raw) {
			if s.from < at[1] {
				start = s.from
			}
		}
	}
	return score, start
}
