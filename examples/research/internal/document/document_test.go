package document_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/examples/research/internal/document"
)

// asPDF makes the test binary stand for a program that reads PDFs.
const asPDF = "RESEARCH_TEST_AS_PDF"

func TestMain(m *testing.M) {
	switch os.Getenv(asPDF) {
	case "text":
		fmt.Print("Page one.\f", "Page two.\n")
	case "endless":
		for {
			if _, err := fmt.Println(strings.Repeat("word ", 1000)); err != nil {
				os.Exit(1)
			}
		}
	case "broken":
		os.Exit(3)
	default:
		m.Run()
	}
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		data, program, want string
		err                 error
	}{
		"text":               {"a\r\nb", "", "a\nb", nil},
		"with a mark":        {"\uFEFFa", "", "a", nil},
		"a PDF":              {"%PDF-1.7 …", "text", "Page one.\nPage two.\n", nil},
		"an endless PDF":     {"%PDF-1.7", "endless", "", document.ErrLarge},
		"a broken PDF":       {"%PDF-1.7", "broken", "", document.ErrUnreadable},
		"another code":       {"\xff", "", "", document.ErrUnreadable},
		"a NUL":              {"a\x00", "", "", document.ErrUnreadable},
		"white space":        {" \n\t", "", "", document.ErrUnreadable},
		"more than there is": {strings.Repeat("x", document.MaxText+1), "", "", document.ErrLarge},
	} {
		t.Setenv(asPDF, c.program)
		got, err := document.Reader{PDF: []string{os.Args[0]}}.Text(t.Context(), []byte(c.data))
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %.50q, error %v", name, got, err)
		}
	}
	if _, err := (document.Reader{PDF: []string{"no-such-program"}}).Text(t.Context(), []byte("%PDF-1.4")); !errors.Is(err, document.ErrUnreadable) || !strings.Contains(err.Error(), "no-such-program is not installed") {
		t.Errorf("without the program: got %v", err)
	}
	t.Setenv(asPDF, "endless")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (document.Reader{PDF: []string{os.Args[0]}}).Text(ctx, []byte("%PDF-1.4")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	f, err := document.OpenFolder(filepath.Join(path, "documents"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(filepath.Join(path, "secret.json"), []byte(`{"text":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	added, err := f.Add("ann", "a.md", "text")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Load("ann", added.ID); err != nil || got != added || got.Text != "text" {
		t.Errorf("got %+v, error %v", got, err)
	}
	for _, c := range [][2]string{{"bob", added.ID}, {"ann", "x"}, {"ann", ""}, {"", added.ID}, {"ann", "../../secret"}, {"..", "secret"}, {"ann", "../ann/" + added.ID}, {".", "x"}} {
		if got, err := f.Load(c[0], c[1]); !errors.Is(err, document.ErrNotFound) {
			t.Errorf("%q: got %+v, error %v", c, got, err)
		}
	}
	for _, user := range []string{"..", "a/b", ""} {
		if _, err := f.Add(user, "a", "b"); err == nil {
			t.Errorf("added for the user %q", user)
		}
	}
	if err := os.WriteFile(filepath.Join(path, "documents/ann/damaged.json"), []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load("ann", "damaged"); err == nil || errors.Is(err, document.ErrNotFound) {
		t.Errorf("damaged: got error %v", err)
	}
	old := time.Now().AddDate(0, 0, -3)
	if err := os.Chtimes(filepath.Join(path, "documents/ann", added.ID+".json"), old, old); err != nil {
		t.Fatal(err)
	}
	kept, err := f.Add("ann", "b.md", "more")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CleanUp(48 * time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load("ann", added.ID); !errors.Is(err, document.ErrNotFound) {
		t.Errorf("after the clean-up: got error %v", err)
	}
	if _, err := f.Load("ann", kept.ID); err != nil {
		t.Errorf("after the clean-up: got error %v", err)
	}
}

const notice = `# Notice

An opening line
goes on here.

## Scope
- One thing. With more.
- Another thing.

FEES

The fee is 3 EUR. It is due at once.
`

func TestFind(t *testing.T) {
	t.Parallel()
	x := document.NewIndex(notice)
	var all []string
	for _, p := range x.First(9) {
		all = append(all, p.Place()+" "+p.Heading+": "+p.Text)
	}
	want := []string{
		"3-4 Notice: An opening line goes on here.", "7 Scope: - One thing. With more.", "8 Scope: - Another thing.",
		"12 FEES: The fee is 3 EUR. It is due at once.",
	}
	if !slices.Equal(all, want) || x.Len() != 4 {
		t.Errorf("got %q", all)
	}
	for query, c := range map[string]struct {
		pattern string
		want    string
	}{
		"another thing":  {"", "7 8"},
		"opening fees":   {"", "3-4 12"},
		"scope":          {"", "7 8"},
		"the":            {"", ""},
		"nothing at all": {"", ""},
		"of":             {`\d EUR`, "12"},
	} {
		var pattern *regexp.Regexp
		if c.pattern != "" {
			pattern = regexp.MustCompile(c.pattern)
		}
		var got []string
		for _, p := range x.Find(query, pattern, 2) {
			got = append(got, p.Place())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q want %s", query, got, c.want)
		}
	}
	if got := x.Find("thing", nil, 1); len(got) != 1 {
		t.Errorf("got %d passages want 1", len(got))
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	got := document.Sentences(`It was done. "Is it so late?" Yes, e.g. No. 5 of 2027. 3 boats: 1.5 m.`)
	want := []string{"It was done.", `"Is it so late?"`, `Yes, e.g. No. 5 of 2027.`, "3 boats: 1.5 m."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
}

// Whatever the text, passages hold its words, each once and in order, and are short.
func FuzzPassages(f *testing.F) {
	f.Add(notice)
	f.Add(strings.Repeat("a sentence of some words. ", 200))
	f.Add("1. x\n\n" + strings.Repeat("ü", 3000))
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 1<<16 {
			return
		}
		lines := strings.Count(text, "\n") + 1
		before := 0
		var words []string
		for _, p := range document.NewIndex(text).First(1 << 20) {
			if p.From < 1 || p.To < p.From || p.To > lines || p.From < before {
				t.Fatalf("lines %d to %d of %d, behind %d", p.From, p.To, lines, before)
			}
			before = p.From
			if len(p.Text) > 1500 && len(strings.Fields(p.Text)) > 1 {
				t.Fatalf("a passage of %d bytes", len(p.Text))
			}
			words = append(words, strings.Fields(p.Text)...)
		}
		all := strings.Fields(text)
		for _, w := range words {
			i := slices.Index(all, w)
			if i < 0 {
				t.Fatalf("%q is not in the text, or comes twice", w)
			}
			all = all[i+1:]
		}
	})
}
