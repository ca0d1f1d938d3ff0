package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/memory"
)

// A comparison counts the searches in which a store returned other facts than the first store, or another order.
type comparison struct {
	store, set, way      string
	questions, different int
	example              string // the first difference
}

// compare asks each store except the first questions of a set, and counts the results that differ from those of the first store.
func (b *bench) compare(ctx context.Context, c *collection, s set, o *outcome) (list []comparison, err error) {
	asked := make([]int, len(s.questions))
	for i := range asked {
		asked[i] = i
	}
	asked = sample(asked, b.sample)
	for _, other := range b.stores[1:] {
		for k, way := range b.ways() {
			found, failed := make([][]memory.Hit[memory.Fact], len(asked)), make([]error, len(asked))
			parallel(len(asked), func(i int) {
				found[i], failed[i] = b.recall(ctx, other.facts, c, s.questions[asked[i]].text, memory.Options{Embedder: way.embedder}, 10)
			})
			r := comparison{store: other.name, set: s.name, way: way.name, questions: len(asked)}
			for i, q := range asked {
				if failed[i] != nil {
					return nil, fmt.Errorf("%s: %w", other.name, failed[i])
				}
				if want := o.top[q][k]; !slices.Equal(numbers(want), numbers(found[i])) {
					if r.different++; r.example == "" {
						r.example = difference(s.questions[q].text, want, found[i])
					}
				}
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// difference describes the first place where two results differ.
func difference(text string, want, got []memory.Hit[memory.Fact]) string {
	at := 0
	for at < min(len(want), len(got)) && want[at].Item.ID == got[at].Item.ID {
		at++
	}
	describe := func(list []memory.Hit[memory.Fact]) string {
		if at >= len(list) {
			return "nothing"
		}
		f := &list[at]
		return fmt.Sprintf("document %d %.60q (total %.6f, BM25 %.6f, cosine %.6f)", numberOf(f.Item.ID), f.Item.Content, f.Score.Total, f.Score.BM25, f.Score.Similarity)
	}
	return fmt.Sprintf("%q, place %d: in memory %s, here %s", text, at+1, describe(want), describe(got))
}

// A timing holds the durations of Recall for one store, one way and one number of candidates.
type timing struct {
	store, way  string
	candidates  int
	median, p95 time.Duration
}

// time measures how long each store takes for questions of a set, one at a time.
func (b *bench) time(ctx context.Context, c *collection, s set) (list []timing, err error) {
	asked := sample(s.questions, b.timed)
	for _, store := range b.stores {
		for _, n := range candidates {
			for _, way := range b.ways() {
				o := memory.Options{Embedder: way.embedder, Candidates: n}
				times := make([]time.Duration, len(asked))
				for i, q := range asked {
					start := time.Now()
					if _, err := b.recall(ctx, store.facts, c, q.text, o, 10); err != nil {
						return nil, fmt.Errorf("%s: %w", store.name, err)
					}
					times[i] = time.Since(start)
				}
				slices.Sort(times)
				list = append(list, timing{store.name, way.name, n, times[len(times)/2], times[len(times)*95/100]})
			}
		}
	}
	return list, nil
}
