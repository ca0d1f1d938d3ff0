package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/weft-go/weft/memory"
)

func main() {
	only := flag.String("sets", "", "measure only the collections whose name matches this `regexp`: facts, sections, paragraphs, definitions")
	var b bench
	flag.IntVar(&b.questions, "questions", 1000, "how many questions of a set the in-memory store is asked at most")
	flag.IntVar(&b.sample, "sample", 200, "how many of them SQLite and PostgreSQL are asked")
	flag.IntVar(&b.timed, "timed", 40, "how many questions of the first collection are timed")
	cache := flag.String("cache", "", "the `folder` of the downloaded packages; by default weft-recall in the user's cache")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failures, err := b.main(ctx, *only, *cache)
	if err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		os.Exit(2)
	}
	for _, line := range failures {
		fmt.Fprintln(os.Stderr, "FAILED:", line)
	}
	if len(failures) > 0 {
		os.Exit(1)
	}
}

var started = time.Now()

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s: "+format+"\n", append([]any{time.Since(started).Seconds()}, args...)...)
}

// main runs the command and returns the reasons for which it fails.
func (b *bench) main(ctx context.Context, only, cache string) (failures []string, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	url := os.Getenv("DATABASE_URL")
	if url == "" {
		return nil, errors.New("DATABASE_URL is empty: run make recall, or set it to the URL that scripts/postgres prints")
	}
	if cache == "" {
		if cache, err = os.UserCacheDir(); err != nil {
			return nil, err
		}
		cache = filepath.Join(cache, "weft-recall")
	}
	progress("read the texts and learn vectors of their words")
	all, learned, err := loadCollections(ctx, cache)
	if err != nil {
		return nil, err
	}
	progress("learned %d words", len(learned.index))
	dir, err := os.MkdirTemp("", "weft-recall-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stores, closeStores, err := openStores(ctx, dir, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	b.stores, b.embedders = stores, []memory.Embedder{learned, trigrams(256)}
	var chosen []*collection
	for _, c := range all {
		if match.MatchString(c.name) {
			chosen = append(chosen, c)
		}
	}
	r, err := b.run(ctx, chosen, func() error { return execute(ctx, url, "ANALYZE") })
	if err != nil {
		return nil, err
	}
	r.print(os.Stdout, b)
	progress("done")
	return r.failures(), nil
}

// run stores all collections, calls filled, and then asks all questions. All collections are stored first, so
// that each search selects one of many scopes.
func (b *bench) run(ctx context.Context, list []*collection, filled func() error) (*report, error) {
	for _, c := range list {
		if err := c.unite(ctx); err != nil {
			return nil, err
		}
		progress("%s: store %d facts", c.name, len(c.documents))
		if err := fill(ctx, b.stores, c, b.embedders); err != nil {
			return nil, err
		}
	}
	if err := filled(); err != nil {
		return nil, err
	}
	r := &report{}
	for _, c := range list {
		stemmed, plain := newWordIndex(c.documents, terms), newWordIndex(c.documents, plainWords)
		for _, s := range c.sets {
			s.questions = sample(s.questions, b.questions)
			progress("%s: ask %d questions", s.name, len(s.questions))
			o, err := b.measure(ctx, c, s, stemmed, plain)
			if err != nil {
				return nil, err
			}
			o.about = fmt.Sprintf("%d questions, %d facts", len(s.questions), len(c.documents))
			r.outcomes = append(r.outcomes, o)
			progress("%s: compare the stores", s.name)
			compared, err := b.compare(ctx, c, s, o)
			if err != nil {
				return nil, err
			}
			r.comparisons = append(r.comparisons, compared...)
			for _, c := range compared {
				progress("%s by %s: %d of %d results of %s differ %s", c.set, c.way, c.different, c.questions, c.store, c.example)
			}
		}
	}
	if len(list) > 0 && b.timed > 0 {
		c := list[0]
		r.timed = fmt.Sprintf("%d %s", len(c.documents), c.name)
		progress("measure times among the %s", r.timed)
		var err error
		if r.timings, err = b.time(ctx, c, c.sets[len(c.sets)-1]); err != nil {
			return nil, err
		}
	}
	return r, nil
}
