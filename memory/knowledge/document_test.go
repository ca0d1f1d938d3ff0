package knowledge_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{}
	for _, name := range []string{
		"a.md", "b.txt", ".hidden", ".git/config", "docs/c.md", "docs/deep/d.md", "docs/deep/e.html", "node_modules/x/y.md", "docs/node_modules/z.md", "vendor/v.md", "docs/vendor/w.md",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(name)}
	}
	for _, c := range []struct {
		o    knowledge.FolderOptions
		want string
	}{
		{knowledge.FolderOptions{}, "a.md b.txt docs/c.md docs/deep/d.md docs/deep/e.html docs/node_modules/z.md docs/vendor/w.md node_modules/x/y.md vendor/v.md"},
		{knowledge.FolderOptions{Ignore: []string{"node_modules", "vendor/"}}, "a.md b.txt docs/c.md docs/deep/d.md docs/deep/e.html"},
		{knowledge.FolderOptions{Ignore: []string{"node_modules", "/vendor"}, Only: []string{"*.md"}}, "a.md docs/c.md docs/deep/d.md docs/vendor/w.md"},
		{knowledge.FolderOptions{Only: []string{"docs/*"}}, "docs/c.md"},
		{knowledge.FolderOptions{Only: []string{"docs/**"}, Ignore: []string{"**/vendor", "docs/**/z.*"}}, "docs/c.md docs/deep/d.md docs/deep/e.html"},
		{knowledge.FolderOptions{Only: []string{"**/deep/*.md", "**/a.md"}}, "a.md docs/deep/d.md"},
		{knowledge.FolderOptions{Only: []string{".*", ".git/*"}, Hidden: true, Prefix: "x:"}, "x:.git/config x:.hidden"},
		{knowledge.FolderOptions{Only: []string{"none"}}, ""},
	} {
		var got []string
		for d, err := range knowledge.Folder(tree, c.o) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d.URI)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.o, s, c.want)
		}
	}
	for d, err := range knowledge.Folder(tree, knowledge.FolderOptions{Ignore: []string{"[a"}}) {
		if !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("got %+v, error %v", d, err)
		}
	}
	for d, err := range knowledge.Folder(tree, knowledge.FolderOptions{}) {
		if err != nil || d.URI != "a.md" {
			t.Errorf("first: got %s, error %v", d.URI, err)
		}
		break
	}
}

func TestFolderOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.md")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "secret")
	write(filepath.Join(dir, "kettle.md"), manual)
	write(filepath.Join(dir, "sub", "notes.txt"), "notes")
	write(filepath.Join(dir, "logo.png"), "\x89PNG\x00\x00")
	write(filepath.Join(dir, "large.txt"), strings.Repeat("x", 2000))
	for name, target := range map[string]string{"link.md": outside, "folder": filepath.Dir(outside), "loop": dir} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	b := newBase(t, knowledge.NewInMemory(), knowledge.Options{MaxSize: 1000})
	for name, fsys := range map[string]fs.FS{"dir": os.DirFS(dir), "root": root.FS()} {
		report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), memory.Scope{Tenant: name}, knowledge.Folder(fsys, knowledge.FolderOptions{Trusted: name == "root"}), knowledge.IngestOptions{}))
		if err != nil || report.Added != 2 || report.Skipped != 5 {
			t.Errorf("%s: got %+v, %+v, error %v", name, report, troubles, err)
		}
		want := map[string]error{
			"link.md": knowledge.ErrNotRegular, "folder": knowledge.ErrNotRegular, "loop": knowledge.ErrNotRegular, "logo.png": knowledge.ErrNotText, "large.txt": knowledge.ErrTooLarge,
		}
		for _, p := range troubles {
			if !errors.Is(p.Err, want[p.URI]) {
				t.Errorf("%s: %s: got %v", name, p.URI, p.Err)
			}
			if p.URI == "link.md" && p.Err.Error() != "not a regular file: a symbolic link, which is not followed" {
				t.Errorf("%s: %s: got %v", name, p.URI, p.Err)
			}
		}
		if got := uris(t, b, memory.Scope{Tenant: name}); got != "kettle.md sub/notes.txt" {
			t.Errorf("%s: got %s", name, got)
		}
		r := search(t, b, knowledge.Question{Query: knowledge.Query{Scope: memory.Scope{Tenant: name}}, Text: "kettle"})
		if want := map[string]memory.Trust{"dir": memory.Untrusted, "root": memory.Stated}[name]; len(r) == 0 || r[0].Source.Trust != want {
			t.Errorf("%s: got %+v, want trust %d", name, r, want)
		}
	}
}

// unreadable is a tree in which a folder can not be read.
type unreadable struct{ fstest.MapFS }

func (u unreadable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "b" {
		return nil, errSorry
	}
	return u.MapFS.ReadDir(name)
}

func TestFolderUnreadable(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{Data: []byte("text")}
	b := newBase(t, knowledge.NewInMemory(), knowledge.Options{})
	tree := fstest.MapFS{"a/x": file, "b/x": file, "c/x": file}
	prune := knowledge.IngestOptions{Prune: true}
	collect(t, b.Ingest(t.Context(), acme, knowledge.Folder(tree, knowledge.FolderOptions{}), prune))
	report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Folder(unreadable{tree}, knowledge.FolderOptions{}), prune))
	if err != nil || report.Unchanged != 2 || report.Pruned != 0 || len(troubles) != 1 || troubles[0].URI != "b" || !errors.Is(troubles[0].Err, errSorry) {
		t.Errorf("got %+v, %+v, error %v", report, troubles, err)
	}
	_, troubles, err = knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Folder(os.DirFS(filepath.Join(t.TempDir(), "none")), knowledge.FolderOptions{}), prune))
	if err != nil || len(troubles) != 1 || !errors.Is(troubles[0].Err, fs.ErrNotExist) || uris(t, b, acme) != "a/x b/x c/x" {
		t.Errorf("no folder: got %+v, error %v, left %s", troubles, err, uris(t, b, acme))
	}
}

func TestNoReader(t *testing.T) {
	t.Parallel()
	b := newBase(t, knowledge.NewInMemory(), knowledge.Options{})
	for _, d := range []knowledge.Document{
		knowledge.Reader("nil", nil), {URI: "none", Open: func() (io.ReadCloser, error) { return nil, nil }},
	} {
		_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
		if err != nil || len(troubles) != 1 || !errors.Is(troubles[0].Err, memory.ErrInvalid) {
			t.Errorf("%s: got %+v, error %v", d.URI, troubles, err)
		}
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	b := newBase(t, knowledge.NewInMemory(), knowledge.Options{})
	d := knowledge.Reader("page.html", strings.NewReader("<h1>Title</h1><script>no()</script><p>Some &lt;text&gt;"))
	collect(t, b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
	r := search(t, b, knowledge.Question{Text: "text"})
	if len(r) != 1 || r[0].Source.Title != "Title" || r[0].Chunk.Content != "Title\n\nSome <text>" || !slices.Equal(r[0].Chunk.Headings, []string{"Title"}) {
		t.Errorf("got %+v", r)
	}
	closes := 0
	d = knowledge.Document{URI: "c", Open: func() (io.ReadCloser, error) { return closer{strings.NewReader("x"), &closes}, nil }}
	collect(t, b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
	if closes != 1 {
		t.Errorf("closed %d times, want once", closes)
	}
}

type closer struct {
	io.Reader
	n *int
}

func (c closer) Close() error {
	*c.n++
	return nil
}
