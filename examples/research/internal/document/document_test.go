package document_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/memory/knowledge/pdf"
)

// TestMain makes the test binary act as pdftotext if it gets the arguments of pdftotext.
func TestMain(m *testing.M) {
	if len(os.Args) != 7 || os.Args[1] != "-enc" {
		m.Run()
		return
	}
	input, err := io.ReadAll(os.Stdin)
	_, task, _ := strings.Cut(string(input), " ")
	switch {
	case err != nil || task == "broken":
		os.Exit(3)
	case task == "text":
		fmt.Print("Page one.\f", "Page two.\n\f")
	case task == "endless":
		for {
			if _, err := fmt.Println(strings.Repeat("word ", 1000)); err != nil {
				os.Exit(1)
			}
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	// The race detector needs more address space than the default limit.
	reader := document.Reader{PDF: pdf.Extractor{Program: os.Args[0], MaxMemory: -1}}
	for name, c := range map[string]struct {
		data, want string
		err        error
	}{
		"text":               {"a\r\nb", "a\nb", nil},
		"with a mark":        {"\uFEFFa", "a", nil},
		"a PDF":              {"%PDF-1.7 text", "Page one.\nPage two.\n\n", nil},
		"an endless PDF":     {"%PDF-1.7 endless", "", document.ErrLarge},
		"a broken PDF":       {"%PDF-1.7 broken", "", document.ErrUnreadable},
		"a PDF without text": {"%PDF-1.7 nothing", "", document.ErrUnreadable},
		"another code":       {"\xff", "", document.ErrUnreadable},
		"a NUL":              {"a\x00", "", document.ErrUnreadable},
		"white space":        {" \n\t", "", document.ErrUnreadable},
		"more than there is": {strings.Repeat("x", document.MaxText+1), "", document.ErrLarge},
	} {
		got, err := reader.Text(t.Context(), []byte(c.data))
		require.ErrorIs(t, err, c.err, name)
		assert.Equal(t, c.want, got, name)
	}
	_, err := document.Reader{PDF: pdf.Extractor{Program: "no-such-program"}}.Text(t.Context(), []byte("%PDF-1.4"))
	require.ErrorIs(t, err, document.ErrUnreadable)
	require.ErrorContains(t, err, "pdftotext is not installed")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = reader.Text(ctx, []byte("%PDF-1.4 endless"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestFolder(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	f, err := document.OpenFolder(filepath.Join(path, "documents"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.WriteFile(filepath.Join(path, "secret.json"), []byte(`{"text":"x"}`), 0o600))
	added, err := f.Add("ann", "a.md", "text")
	require.NoError(t, err)
	got, err := f.Load("ann", added.ID)
	require.NoError(t, err)
	assert.Equal(t, added, got)
	assert.Equal(t, "text", got.Text)
	for _, c := range [][2]string{{"bob", added.ID}, {"ann", "x"}, {"ann", ""}, {"", added.ID}, {"ann", "../../secret"}, {"..", "secret"}, {"ann", "../ann/" + added.ID}, {".", "x"}} {
		_, err := f.Load(c[0], c[1])
		require.ErrorIs(t, err, document.ErrNotFound, "%q", c)
	}
	for _, user := range []string{"..", "a/b", ""} {
		_, err := f.Add(user, "a", "b")
		require.Error(t, err, "%q", user)
	}
	require.NoError(t, os.WriteFile(filepath.Join(path, "documents/ann/damaged.json"), []byte(`{`), 0o600))
	_, err = f.Load("ann", "damaged")
	require.Error(t, err)
	require.NotErrorIs(t, err, document.ErrNotFound)
	old := time.Now().AddDate(0, 0, -3)
	require.NoError(t, os.Chtimes(filepath.Join(path, "documents/ann", added.ID+".json"), old, old))
	kept, err := f.Add("ann", "b.md", "more")
	require.NoError(t, err)
	require.NoError(t, f.CleanUp(48*time.Hour))
	_, err = f.Load("ann", added.ID)
	require.ErrorIs(t, err, document.ErrNotFound)
	_, err = f.Load("ann", kept.ID)
	require.NoError(t, err)
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
	assert.Equal(t, want, all)
	assert.Equal(t, 4, x.Len())
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
		for _, p := range x.Find(query, "", pattern, 2) {
			got = append(got, p.Place())
		}
		assert.Equal(t, c.want, strings.Join(got, " "), query)
	}
	assert.Len(t, x.Find("thing", "", nil, 1), 1)
}

// A numbered title may stand right above its text, and the entries below it have numbers of their own.
func TestPassagesUnderNumberedTitles(t *testing.T) {
	t.Parallel()
	x := document.NewIndex("2. Needs\n2.1 It must float.\n2.2 It must be blue.\n\n3. Dates\nToday.\nTomorrow.\n\n1. One thing\n2. Another thing\n")
	var all []string
	for _, p := range x.First(9) {
		all = append(all, p.Place()+" "+p.Heading+": "+p.Text)
	}
	assert.Equal(t, []string{
		"2 2. Needs: 2.1 It must float.", "3 2. Needs: 2.2 It must be blue.", "6-7 3. Dates: Today. Tomorrow.",
		"9 3. Dates: 1. One thing", "10 3. Dates: 2. Another thing",
	}, all)
}

// Other words count less than the words of the query, and addresses do not count.
func TestFindWithOtherWords(t *testing.T) {
	t.Parallel()
	x := document.NewIndex("The boat is red.\n\nThe deadline is near.\n\nWrite to boats@deadline.example or https://boat.example.\n")
	got := x.Find("boats", "deadline", nil, 1)
	require.Len(t, got, 1)
	assert.Equal(t, "1", got[0].Place())
	assert.Len(t, x.Find("boats", "deadline", nil, 9), 2)
}

func TestSentences(t *testing.T) {
	t.Parallel()
	got := document.Sentences(`It was done. "Is it so late?" Yes, e.g. No. 5 of 2027. 3 boats: 1.5 m.`)
	want := []string{"It was done.", `"Is it so late?"`, `Yes, e.g. No. 5 of 2027.`, "3 boats: 1.5 m."}
	assert.Equal(t, want, got)
}

// The words of the passages are words of the text, in the same order and without a repetition. A passage of several
// words has at most 1,500 bytes.
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
				require.Failf(t, "lines", "%d to %d of %d, after %d", p.From, p.To, lines, before)
			}
			before = p.From
			if len(p.Text) > 1500 && len(strings.Fields(p.Text)) > 1 {
				require.Failf(t, "size", "a passage of %d bytes", len(p.Text))
			}
			words = append(words, strings.Fields(p.Text)...)
		}
		all := strings.Fields(text)
		for _, w := range words {
			i := slices.Index(all, w)
			if i < 0 {
				require.Failf(t, "word", "%q is not in the text, or is repeated", w)
			}
			all = all[i+1:]
		}
	})
}
