package recall

import (
	"context"
	"slices"

	"github.com/weft-go/weft/memory/internal/rank"
)

// Sets are what is measured, and the vectors to do it with.
type Sets struct {
	// Same and Other have 1,000 facts among 100,000 sentences that people wrote. The questions of Same share
	// the words that matter with their facts, and those of Other have other words for them, from WordNet.
	Same, Other Set
	// Sections asks with titles for the sections of PostgreSQL's manual that they belong to, and Paragraphs for
	// each of their paragraphs, which are neighbours of each other.
	Sections, Paragraphs Set
	// Definitions asks with what WordNet says of a word for what Webster's dictionary of 1913 says of it. Neither
	// text has the word.
	Definitions Set
	Words       *Words
}

// The sizes of the sets.
const (
	others    = 100_000
	dimension = 128
)

// Load reads the data of a folder, and downloads what is not there. It takes some minutes, and 2 GB.
func Load(ctx context.Context, dir string) (*Sets, error) {
	var r reader
	r.all(ctx, dir)
	if r.err != nil {
		return nil, r.err
	}
	s := &Sets{Words: Learn(r.terms(), dimension)}
	s.Sections, s.Paragraphs = knownItems(r.manual), paragraphs(r.manual)
	s.Definitions = definitions(r.webster, r.sets)
	texts, same, other := facts(r.sets, s.Words.Knows)
	texts = append(texts, sample(r.sentences(), others)...)
	s.Same, s.Other = Set{Name: "facts, the same words", Questions: same}, Set{Name: "facts, other words", Questions: other}
	for _, t := range texts {
		s.Same.Documents = append(s.Same.Documents, Document{Text: t})
	}
	s.Other.Documents = s.Same.Documents
	return s, nil
}

// A reader has the texts.
type reader struct {
	foldoc, glosses, webster []entry
	fortunes, manuals        []string
	manual                   []section
	sets                     []synset
	err                      error
}

func (r *reader) all(ctx context.Context, dir string) {
	for _, part := range []func() error{
		func() (err error) { r.foldoc, err = readFoldoc(ctx, dir); return err },
		func() (err error) { r.glosses, err = readGlosses(ctx, dir); return err },
		func() (err error) { r.webster, err = readWebsters(ctx, dir); return err },
		func() (err error) { r.fortunes, err = readFortunes(ctx, dir); return err },
		func() (err error) { r.manuals, err = readManuals(ctx, dir); return err },
		func() (err error) { r.manual, err = readManual(ctx, dir); return err },
		func() (err error) { r.sets, err = readWordNet(ctx, dir); return err },
	} {
		if r.err = part(); r.err != nil {
			return
		}
	}
}

// terms are those of all texts.
func (r *reader) terms() (list [][]string) {
	texts := slices.Concat(said(r.foldoc), said(r.webster), r.fortunes, r.manuals, said(r.glosses))
	for _, s := range r.manual {
		texts = append(texts, s.paragraphs...)
	}
	for _, t := range texts {
		list = append(list, rank.Terms(t))
	}
	return list
}

// sentences returns what the facts are hidden among, each once.
func (r *reader) sentences() []string {
	found := sentences(slices.Concat(said(r.foldoc), said(r.glosses), r.fortunes, r.manuals))
	slices.Sort(found)
	return slices.Compact(found)
}

func said(entries []entry) []string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.text
	}
	return texts
}
