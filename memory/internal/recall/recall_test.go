package recall_test

import (
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/recall"
)

// plainWords are words as they are written, for a BM25 that knows nothing of language.
func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// The methods, in the order of the table.
const (
	allWords = iota
	byWords
	byVector
	byRanks
	keyword
	fusion
	plain
)

var names = []string{"all words (AND)", "BM25", "vectors", "reciprocal ranks", "rank without vectors", "rank", "BM25, plain words"}

// measure asks a set with every method, and logs the rows of the table.
func measure(t *testing.T, set recall.Set, vector func(string) []float32) []recall.Figure {
	t.Helper()
	const limit = 200
	figures := recall.Measure(recall.NewIndex(set.Documents, rank.Terms, vector), set.Questions, limit,
		recall.AllWords, recall.ByWords, recall.ByVector, recall.ByRanks, recall.Fusion(rank.Weights{Keyword: 1, Neighbour: 0.8}), recall.Fusion(rank.Weights{}))
	figures = append(figures, recall.Measure(recall.NewIndex(set.Documents, plainWords, nil), set.Questions, limit, recall.ByWords)...)
	t.Logf("%s: %d documents, %d questions", set.Name, len(set.Documents), len(set.Questions))
	for i, f := range figures {
		t.Logf("| %-20s | %.3f | %.3f | %.3f |", names[i], f.Recall5, f.Recall10, f.MRR10)
	}
	return figures
}

// TestRecall is the whole measurement. It downloads 38 MB, and takes minutes.
func TestRecall(t *testing.T) {
	if os.Getenv("WEFT_RECALL") == "" {
		t.Skip("WEFT_RECALL is not set; make recall sets it")
	}
	dir, err := recall.Cache()
	if err != nil {
		t.Fatal(err)
	}
	sets, err := recall.Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("vectors of %d words, learned from these texts by co-occurrence; no model of language", sets.Words.Len())
	t.Log("columns: recall@5, recall@10, MRR@10")
	vector := sets.Words.Vector
	checkSame(t, measure(t, sets.Same, vector))
	f := measure(t, sets.Other, vector)
	checkOther(t, f)
	least(t, "recall@10 of facts in other words", f[fusion].Recall10, max(f[byWords].Recall10, f[byVector].Recall10)+0.02)
	f = measure(t, sets.Sections, vector)
	least(t, "MRR@10 of titles", f[keyword].MRR10, max(f[plain].MRR10, f[byWords].MRR10))
	least(t, "MRR@10 of titles with vectors", f[fusion].MRR10, f[plain].MRR10)
	f = measure(t, sets.Definitions, vector)
	least(t, "recall@10 of definitions", f[fusion].Recall10, max(f[byWords].Recall10, f[byVector].Recall10)+0.02)
	least(t, "recall@10 of definitions", f[byWords].Recall10, f[allWords].Recall10+0.3)
	f = measure(t, sets.Paragraphs, vector)
	least(t, "recall@10 of paragraphs", f[fusion].Recall10, max(f[byWords].Recall10, f[byVector].Recall10)+0.02)
	least(t, "recall@10 of paragraphs without vectors", f[keyword].Recall10, f[byWords].Recall10+0.02)
}

func checkSame(t *testing.T, f []recall.Figure) {
	t.Helper()
	least(t, "recall@5 of facts by words", f[keyword].Recall5, 1)
	least(t, "recall@5 of facts", f[fusion].Recall5, 1)
	least(t, "recall@5 of facts", f[keyword].Recall5, f[allWords].Recall5+0.3)
}

func checkOther(t *testing.T, f []recall.Figure) {
	t.Helper()
	least(t, "recall@5 of facts in other words", f[fusion].Recall5, max(f[byWords].Recall5, f[byVector].Recall5)+0.02)
}

func least(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got < want-1e-9 {
		t.Errorf("%s: got %.3f, want %.3f at least", what, got, want)
	}
}
