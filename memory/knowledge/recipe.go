package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// cutterVersion is increased when package split changes the way in which it cuts documents.
const cutterVersion = 2

// A recipe describes how the chunks of a source were made. The zero recipe is unknown.
type recipe struct {
	cut    string // equal for splitters that cut and count in the same way
	words  string // equal for versions that extract the same words from a text
	length int    // length of the vectors; zero if no chunk has one, or if it is unknown
}

// String returns the form that is stored in [Source.Recipe].
func (r recipe) String() string {
	if r == (recipe{}) {
		return ""
	}
	return r.cut + "." + r.words + "." + strconv.Itoa(r.length)
}

// recipeOfSource parses the recipe of a stored source.
func recipeOfSource(s *Source) recipe {
	parts := strings.Split(s.Recipe, ".")
	if len(parts) != 3 {
		return recipe{cut: s.Recipe}
	}
	length, err := strconv.Atoi(parts[2])
	if err != nil {
		return recipe{}
	}
	return recipe{parts[0], parts[1], length}
}

// text reports whether two recipes produce the same chunks of a text, with the same words.
func (r recipe) text(of recipe) bool { return r.cut == of.cut && r.words == of.words }

// of returns the recipe with the given length of vectors.
func (r recipe) of(length int) recipe {
	r.length = length
	return r
}

// probe is a text whose pieces are part of a recipe: they change if the token counter changes.
const probe = `# Probe: naïve cafés, 東京 & foo_bar v1.2.3

One sentence with studied words, and 12,345.67 numbers. Then another one! And a third, which goes on for longer.

- an item
- an item below it

## Part

` + "```go\nfunc main() { println(\"x\") }\n```" + `

| a | b |
|---|---|
| 1 | 2 |
`

// recipeOf returns the recipe of a base.
func recipeOf(o *Options) recipe {
	s := o.Splitter
	if s.Size == 0 {
		s.Size = split.DefaultSize
	}
	cut := fmt.Appendf(nil, "%d %d %d %d", cutterVersion, s.Size, s.Overlap, s.Small)
	for _, format := range []split.Format{split.Plain, split.Markdown, split.HTML} {
		small := s
		small.Size, small.Overlap = split.MinSize, split.MinSize/4
		cut = fmt.Appendf(cut, "%q %+v", format, small.Split(probe, format))
	}
	r := recipe{cut: digest(cut), words: digest(fmt.Appendf(nil, "%q", rank.Terms(probe)))}
	if o.Embedder != nil {
		r.length = o.Embedder.Dimension()
	}
	return r
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
