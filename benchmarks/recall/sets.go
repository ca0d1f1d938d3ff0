package main

import (
	"context"
	"slices"
	"strings"
)

// A collection is documents, and sets of questions about them.
type collection struct {
	name      string
	documents []document
	sets      []set
}

// A document becomes a fact. Documents of a conversation whose turns differ by one are
// neighbours.
type document struct {
	text         string
	conversation string
	turn         int64
}

// A set is questions whose answers are known.
type set struct {
	name      string
	questions []question
}

// A question has the numbers of the documents that answer it.
type question struct {
	text    string
	answers []int
}

// distractors is the number of sentences that are stored together with the facts.
const distractors = 100_000

// loadCollections reads the packages of a folder and downloads those that are missing. It also returns
// the terms of all texts, from which an embedder can learn.
func loadCollections(ctx context.Context, dir string) (list []*collection, learned *coOccurrence, err error) {
	var t texts
	if err := t.load(ctx, dir); err != nil {
		return nil, nil, err
	}
	learned = learn(t.terms(), 128)
	return []*collection{facts(&t, learned.knows), sections(t.manual), paragraphs(t.manual), definitions(t.webster, t.synsets)}, learned, nil
}

// texts are the contents of the packages.
type texts struct {
	foldoc, glosses, webster []entry
	fortunes, manuals        []string
	manual                   []section
	synsets                  []synset
}

func (t *texts) load(ctx context.Context, dir string) (err error) {
	for _, read := range []func() error{
		func() error { t.foldoc, err = readFoldoc(ctx, dir); return err },
		func() error { t.glosses, err = readGlosses(ctx, dir); return err },
		func() error { t.webster, err = readWebsters(ctx, dir); return err },
		func() error { t.fortunes, err = readFortunes(ctx, dir); return err },
		func() error { t.manuals, err = readManuals(ctx, dir); return err },
		func() error { t.manual, err = readManual(ctx, dir); return err },
		func() error { t.synsets, err = readWordNet(ctx, dir); return err },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// terms returns the terms of each text.
func (t *texts) terms() (list [][]string) {
	all := slices.Concat(meanings(t.foldoc), meanings(t.webster), t.fortunes, t.manuals, meanings(t.glosses))
	for _, s := range t.manual {
		all = append(all, s.paragraphs...)
	}
	for _, text := range all {
		list = append(list, terms(text))
	}
	return list
}

// sentences returns the sentences among which the facts are hidden, each once.
func (t *texts) sentences() []string {
	found := sentences(slices.Concat(meanings(t.foldoc), meanings(t.glosses), t.fortunes, t.manuals))
	slices.Sort(found)
	return slices.Compact(found)
}

func meanings(entries []entry) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.text
	}
	return list
}

// maxText is the maximum length of a stored section in bytes, because a fact has at most 16 KB.
const maxText = 16_000

// sections returns the sections of PostgreSQL's manual. Each question is a title, and
// the answer is its section.
func sections(manual []section) *collection {
	c, times := &collection{name: "sections"}, titles(manual)
	asked := set{name: "title → section"}
	for _, s := range manual {
		body := strings.Join(s.paragraphs, "\n")
		if len(body) < 200 {
			continue
		}
		c.documents = append(c.documents, document{text: strings.ToValidUTF8(body[:min(maxText, len(body))], "")})
		if times[strings.ToLower(s.title)] == 1 && s.title != "" {
			asked.questions = append(asked.questions, question{s.title, []int{len(c.documents) - 1}})
		}
	}
	c.sets = []set{asked}
	return c
}

// paragraphs returns the paragraphs of PostgreSQL's manual. Each question is the title of a
// section, and the answers are the paragraphs of the section. The paragraphs of a page are
// neighbours.
func paragraphs(manual []section) *collection {
	c, times := &collection{name: "paragraphs"}, titles(manual)
	asked := set{name: "title → paragraphs"}
	turns := map[string]int64{}
	for _, s := range manual {
		q := question{text: s.title}
		for _, p := range s.paragraphs {
			turns[s.page]++
			q.answers = append(q.answers, len(c.documents))
			c.documents = append(c.documents, document{strings.ToValidUTF8(p[:min(maxText, len(p))], ""), s.page, turns[s.page]})
		}
		if n := len(q.answers); n >= 2 && n <= 10 && times[strings.ToLower(s.title)] == 1 {
			asked.questions = append(asked.questions, q)
		}
	}
	c.sets = []set{asked}
	return c
}

// titles returns the number of sections with each title, by the title in lower case.
func titles(manual []section) map[string]int {
	times := map[string]int{}
	for _, s := range manual {
		times[strings.ToLower(s.title)]++
	}
	return times
}

// definitions returns the definitions in Webster's dictionary of 1913. Each question is WordNet's
// definition of a word, and the answer is Webster's. Both definitions are without the word itself.
func definitions(webster []entry, synsets []synset) *collection {
	c, asked := &collection{name: "definitions"}, set{name: "definition → definition"}
	text := map[string]string{}
	var words []string
	for _, e := range webster {
		if strings.ContainsAny(e.word, " -") || len(e.word) < 4 {
			continue
		}
		if _, ok := text[e.word]; !ok {
			words = append(words, e.word)
		}
		text[e.word] += e.text + "\n"
	}
	number := map[string]int{}
	for _, w := range words {
		if t := firstWords(without(text[w], w), 60); len(t) > 40 {
			number[w] = len(c.documents)
			c.documents = append(c.documents, document{text: t})
		}
	}
	count := senses(synsets)
	for _, s := range synsets {
		w := s.words[0]
		if i, ok := number[w]; ok && count[w] == 1 && len(s.gloss) > 30 {
			asked.questions = append(asked.questions, question{without(s.gloss, s.words...), []int{i}})
		}
	}
	c.sets = []set{asked}
	return c
}

// firstWords returns the first n words of a text.
func firstWords(text string, n int) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(n, len(words))], " ")
}
