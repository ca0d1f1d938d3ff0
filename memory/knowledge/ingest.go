package knowledge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// IngestOptions configures [Base.Ingest]. With the zero value, a failed document does not end the run, and
// nothing is removed. [Collect] returns an error for it in any case.
type IngestOptions struct {
	// Stop ends the run at the first document that fails, with its error.
	Stop bool
	// Prune removes sources of the scope at the end, if their URI begins with Under: each source that was not
	// among the documents, or whose document was skipped. Without documents, it removes all these sources. It
	// removes nothing if documents could not be listed, or if the run ends early.
	Prune bool
	Under string
}

// Status is the result of a document.
type Status string

// The results of a document.
const (
	Added     Status = "added"
	Updated   Status = "updated"
	Unchanged Status = "unchanged" // nothing was embedded or written
	Skipped   Status = "skipped"   // it cannot be ingested: [ErrTooLarge], [ErrNotText], [ErrNotRegular]
	Failed    Status = "failed"
	Pruned    Status = "pruned"
)

// Progress is the result of a document, with the totals so far.
type Progress struct {
	URI    string
	Status Status
	// Err is the reason why the document was skipped or failed.
	Err error
	// Chunks is the number of chunks of the document, and Embedded the number of new vectors.
	Chunks, Embedded int
	// Total has the counts of the documents so far.
	Total Report
}

// A Report counts documents by their results.
type Report struct {
	Added, Updated, Unchanged, Skipped, Failed, Pruned int
	// Chunks is the number of chunks of the documents that were added, updated and unchanged. Embedded is
	// the number of new vectors, and Bytes the number of bytes that were read.
	Chunks, Embedded int
	Bytes            int64
}

// Documents returns the number of documents.
func (r Report) Documents() int {
	return r.Added + r.Updated + r.Unchanged + r.Skipped + r.Failed
}

// Collect runs [Base.Ingest] or [Base.Reembed] to its end. It returns the counts, and the first thousand
// documents that were skipped or failed.
//
// If documents failed, the error wraps the errors of the first thousand; the other documents are stored. To
// accept failures, range over the run instead. A skipped document is not an error: Report.Skipped counts it.
func Collect(run iter.Seq2[Progress, error]) (total Report, troubles []Progress, err error) {
	const most = 1000
	var failed []error
	for p, err := range run {
		if err != nil {
			return total, troubles, err
		}
		total = p.Total
		if p.Err != nil && len(troubles) < most {
			troubles = append(troubles, p)
		}
		if p.Status == Failed && len(failed) < most {
			failed = append(failed, fmt.Errorf("document %.200q: %w", p.URI, p.Err))
		}
	}
	if len(failed) > 0 {
		err = &failures{total, failed}
	}
	return total, troubles, err
}

// failures is the error of [Collect] for documents that failed.
type failures struct {
	total Report
	errs  []error // not empty
}

func (f *failures) Error() string {
	return fmt.Sprintf("knowledge: %d of %d documents failed; the first: %v", f.total.Failed, f.total.Documents(), f.errs[0])
}

func (f *failures) Unwrap() []error { return f.errs }

// Ingest stores documents in a scope and yields the result of each. A document that fails or is skipped
// does not end the run, unless the options say so. An error of the options or of the context ends it.
//
// Documents are read in windows of a few megabytes, which limits the memory. Each document is stored as a
// whole: no search sees a part of it. Documents are stored and yielded when they have 256 new vectors
// together, or after two seconds. A yielded document is stored. After an early end, call Ingest again: it
// computes only the vectors that were not stored.
//
// If another program changes the same source at the same time, Ingest tries again for some seconds. After
// that, the document fails with [memory.ErrConflict] and can be ingested again.
func (b *Base) Ingest(ctx context.Context, s memory.Scope, documents iter.Seq2[Document, error], o IngestOptions) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		q := Query{Reach: s.Only(), Prefix: o.Under}
		if err := q.Validate(); err != nil {
			yield(Progress{}, fmt.Errorf("knowledge: ingest: %w", err))
			return
		}
		run := ingest{Base: b, scope: s, options: o, yield: yield}
		if o.Prune {
			run.seen = map[[16]byte]bool{}
		}
		err := run.all(ctx, documents)
		if err == nil && o.Prune && !run.incomplete {
			err = run.prune(ctx, q)
		}
		if err != nil && !errors.Is(err, errBroken) {
			yield(Progress{}, fmt.Errorf("knowledge: ingest: %w", err))
		}
	}
}

// errBroken means that the caller left the loop.
var errBroken = errors.New("broken")

// An ingest is a running call of [Base.Ingest].
type ingest struct {
	*Base
	scope   memory.Scope
	options IngestOptions
	yield   func(Progress, error) bool

	window     []*work
	size       int
	began      time.Time // the start of the window
	told       int       // the number of reported documents of the window
	total      Report
	seen       map[[16]byte]bool
	incomplete bool // not all documents could be listed
}

// The size of a window, and the maximum time to fill it.
const (
	windowDocuments = 100
	windowBytes     = 4 << 20
	windowTime      = 2 * time.Second
)

// all ingests all documents, window by window.
func (r *ingest) all(ctx context.Context, documents iter.Seq2[Document, error]) error {
	for d, err := range documents {
		if stop := ctx.Err(); stop != nil {
			return context.Cause(ctx)
		}
		if r.full() || r.has(d.URI) {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
		if len(r.window) == 0 {
			r.began = time.Now()
		}
		w := r.begin(ctx, d, err)
		if ctx.Err() != nil { // an extractor may have failed for that reason
			return context.Cause(ctx)
		}
		r.window = append(r.window, w)
		r.size += len(w.text)
	}
	return r.flush(ctx)
}

func (r *ingest) full() bool {
	n := len(r.window)
	return n == windowDocuments || r.size >= windowBytes || n > 0 && time.Since(r.began) >= windowTime
}

// has reports whether the window has a document with a URI.
func (r *ingest) has(uri string) bool {
	for _, w := range r.window {
		if w.next.URI == uri {
			return true
		}
	}
	return false
}

// begin reads a document.
func (r *ingest) begin(ctx context.Context, d Document, err error) *work {
	if d.Format == "" {
		d.Format = split.FormatOf(d.URI)
	}
	w := &work{next: Source{
		Scope: r.scope, URI: d.URI, Title: d.Title, Version: d.Version, Format: string(d.Format), Trust: trustOf(d.Trusted), Metadata: d.Metadata,
	}}
	if err != nil {
		r.incomplete = r.incomplete || !skips(err)
		w.fail(err)
		return w
	}
	if w.next, err = w.next.Complete(); err == nil {
		if err = d.Format.Validate(); err != nil {
			err = fmt.Errorf("%w: %w", memory.ErrInvalid, err)
		}
	}
	if err == nil {
		err = w.read(ctx, &d, r.Base.options.MaxSize)
	}
	if err != nil {
		w.fail(err)
	}
	w.next.Size = int64(len(w.text))
	sum := sha256.Sum256([]byte(w.text))
	w.next.SHA256 = hex.EncodeToString(sum[:])
	return w
}

// read reads the text of a document. An extractor also sets the format of the document, and the
// title if the caller did not.
func (w *work) read(ctx context.Context, d *Document, most int64) error {
	got, err := d.read(ctx, most)
	if err != nil {
		return err
	}
	w.text = got.Text
	if d.Extractor != nil {
		w.next.Format = string(got.Format)
		if w.next.Title == "" {
			w.next.Title = got.title()
		}
	}
	return nil
}

// skips reports whether a document with this error counts as skipped, and not as failed.
func skips(err error) bool {
	return errors.Is(err, ErrTooLarge) || errors.Is(err, ErrNotText) || errors.Is(err, ErrNotRegular)
}

// flush stores the documents of the window.
func (r *ingest) flush(ctx context.Context) error {
	window := r.window
	r.window, r.size, r.told = nil, 0, 0
	return r.work(ctx, window)
}

// tell yields the results of a window, in order, up to the first document without a result.
func (r *ingest) tell(window []*work) error {
	for r.told < len(window) && window[r.told].status != "" {
		r.told++
		if err := r.report(window[r.told-1]); err != nil {
			return err
		}
	}
	return nil
}

func trustOf(trusted bool) memory.Trust {
	if trusted {
		return memory.Stated
	}
	return memory.Untrusted
}

// report yields the result of a document.
func (r *ingest) report(w *work) error {
	t := &r.total
	switch w.status {
	case Added:
		t.Added++
	case Updated:
		t.Updated++
	case Unchanged:
		t.Unchanged++
	case Skipped:
		t.Skipped++
	case Pruned:
		t.Pruned++
	default:
		t.Failed++
	}
	if r.seen != nil && w.status != Skipped && w.status != Pruned {
		r.seen[nameOf(w.next.URI)] = true
	}
	t.Chunks += w.chunks
	t.Embedded += w.embedded
	t.Bytes += int64(len(w.text))
	if w.status == Failed && r.options.Stop {
		return fmt.Errorf("document %.200q: %w", w.next.URI, w.err)
	}
	if !r.yield(Progress{URI: w.next.URI, Status: w.status, Err: w.err, Chunks: w.chunks, Embedded: w.embedded, Total: *t}, nil) {
		return errBroken
	}
	return nil
}

func nameOf(uri string) [16]byte {
	sum := sha256.Sum256([]byte(uri))
	return [16]byte(sum[:16])
}

// prune removes the sources of a query that were not among the documents, and reports them.
func (r *ingest) prune(ctx context.Context, q Query) error {
	var gone []string
	for s, err := range r.store.Sources(ctx, q) {
		if err != nil {
			return err
		}
		if !r.seen[nameOf(s.URI)] {
			gone = append(gone, s.URI)
		}
	}
	for len(gone) > 0 {
		some := gone[:min(len(gone), windowDocuments)]
		gone = gone[len(some):]
		if _, err := r.store.Delete(ctx, Query{Reach: r.scope.Only(), URIs: some}); err != nil {
			return err
		}
		for _, uri := range some {
			if err := r.report(&work{next: Source{URI: uri}, status: Pruned}); err != nil {
				return err
			}
		}
	}
	return nil
}
