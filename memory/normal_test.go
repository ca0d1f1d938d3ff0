package memory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/memory"
)

// Two contents are the same text if a reader cannot distinguish them.
func TestSameText(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"Ann likes tea", "Ann likes tea."},
		{"Ann likes tea", " Ann\t likes\u00a0\n tea "},
		{"Zo\u00eb", "Zoe\u0308"},
		{`Says "maybe" - and waits`, "Says “maybe” – and waits"},
		{"Ann's", "Ann’s"},
		{"co-operative", "co\u2010oper\u00adative\ufeff"},
		{"茶が好き", "茶が好き。"},
	} {
		assert.True(t, memory.SameText(same[0], same[1]), "%q and %q", same[0], same[1])
		assert.True(t, memory.SameText(same[1], same[0]), "%q and %q", same[1], same[0])
	}
	for _, other := range [][2]string{
		{"Polish", "polish"},
		{"5' long", `5" long`},
		{"5′ long", "5″ long"},
		{"C", "C++"},
		{"1.5", "15"},
		{"really?", "really!"},
		{"waits", "waits.."},
		{"likes tea, not coffee", "likes tea not coffee"},
		{"-3", "3"},
		{"می\u200cخواهم", "میخواهم"},
		{".", ""},
	} {
		assert.False(t, memory.SameText(other[0], other[1]), "%q and %q", other[0], other[1])
	}
}
