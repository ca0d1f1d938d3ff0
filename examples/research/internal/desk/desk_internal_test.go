package desk

import (
	"testing"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/research"
)

// The end of a run does not replace a document that was attached during the run.
func TestTheEndOfARunKeepsTheDocument(t *testing.T) {
	t.Parallel()
	backend, err := account.OpenSQLite(t.Context(), t.TempDir(), []byte("a secret of thirty-two characters"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := (&Desk{Backend: backend}).as(supacheckpoint.User{ID: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	const thread = "11111111-1111-4111-8111-111111111111"
	attach := func(id string) account.Session {
		t.Helper()
		if err := c.Attach(t.Context(), thread, document.File{ID: id, Name: id + ".md"}); err != nil {
			t.Fatal(err)
		}
		s, err := c.Session(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	began := attach("old")
	attach("new")
	if err := c.finish(t.Context(), began, &research.State{}, nil); err != nil {
		t.Fatal(err)
	}
	s, err := c.Session(t.Context(), thread)
	if err != nil || s.Document != "new" || s.Title != "new.md" || s.Status != account.Failed {
		t.Errorf("got %+v, %v", s, err)
	}
}
