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

// A recipe is how a source was made findable. The zero recipe is that of one of which nobody
// knows.
type recipe struct {
	cut    string // equal for splitters that cut and count in the same way
	words  string // equal where the same words are taken of a text
	length int    // of the vectors of its chunks; zero if none has one, or nobody knows
}

// String spells a recipe as [Source.Recipe] has it.
func (r recipe) String() string {
	if r == (recipe{}) {
		return ""
	}
	return r.cut + "." + r.words + "." + strconv.Itoa(r.length)
}

// recipeOfSource returns what is known of how a source was made findable.
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

// text says whether two recipes make the same chunks of a text, with the same words.
func (r recipe) text(of recipe) bool { return r.cut == of.cut && r.words == of.words }

// of returns the recipe with vectors of another length.
func (r recipe) of(length int) recipe {
	r.length = length
	return r
}

// probe is cut and counted to see whether that is done as it was before.
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
	cut := fmt.Appendf(nil, "%d %d %d", s.Size, s.Overlap, s.Small)
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
