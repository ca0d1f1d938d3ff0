package knowledge_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
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
			require.NoError(t, err)
			got = append(got, d.URI)
		}
		assert.Equal(t, c.want, strings.Join(got, " "), "%+v", c.o)
	}
	for d, err := range knowledge.Folder(tree, knowledge.FolderOptions{Ignore: []string{"[a"}}) {
		require.ErrorIs(t, err, memory.ErrInvalid, "%+v", d)
	}
	for d, err := range knowledge.Folder(tree, knowledge.FolderOptions{}) {
		require.NoError(t, err)
		assert.Equal(t, "a.md", d.URI)
		break
	}
}

func TestFolderOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.md")
	write := func(path, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(outside, "secret")
	write(filepath.Join(dir, "kettle.md"), manual)
	write(filepath.Join(dir, "sub", "notes.txt"), "notes")
	write(filepath.Join(dir, "logo.png"), "\x89PNG\x00\x00")
	write(filepath.Join(dir, "large.txt"), strings.Repeat("x", 2000))
	for name, target := range map[string]string{"link.md": outside, "folder": filepath.Dir(outside), "loop": dir} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{MaxSize: 1000})
	for name, fsys := range map[string]fs.FS{"dir": os.DirFS(dir), "root": root.FS()} {
		report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), memory.Scope{Tenant: name}, knowledge.Folder(fsys, knowledge.FolderOptions{Trusted: name == "root"}), knowledge.IngestOptions{}))
		require.NoError(t, err, name)
		assert.Equal(t, 2, report.Added, name)
		assert.Equal(t, 5, report.Skipped, name)
		want := map[string]error{
			"link.md": knowledge.ErrNotRegular, "folder": knowledge.ErrNotRegular, "loop": knowledge.ErrNotRegular, "logo.png": knowledge.ErrNotText, "large.txt": knowledge.ErrTooLarge,
		}
		for _, p := range troubles {
			require.ErrorIs(t, p.Err, want[p.URI], "%s: %s", name, p.URI)
			if p.URI == "link.md" {
				assert.EqualError(t, p.Err, "not a regular file: a symbolic link, which is not followed")
			}
		}
		assert.Equal(t, "kettle.md sub/notes.txt", uris(t, b, memory.Scope{Tenant: name}), name)
		r := search(t, b, memory.Question{Reach: memory.Scope{Tenant: name}.Only(), Text: "kettle"})
		require.NotEmpty(t, r, name)
		assert.Equal(t, map[string]memory.Trust{"dir": memory.Untrusted, "root": memory.Stated}[name], r[0].Item.Source.Trust, name)
	}
}

// unreadable is a tree with a folder that cannot be read.
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
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	tree := fstest.MapFS{"a/x": file, "b/x": file, "c/x": file}
	prune := knowledge.IngestOptions{Prune: true}
	collect(t, b.Ingest(t.Context(), acme, knowledge.Folder(tree, knowledge.FolderOptions{}), prune))
	report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Folder(unreadable{tree}, knowledge.FolderOptions{}), prune))
	require.ErrorIs(t, err, errSorry)
	assert.Equal(t, 2, report.Unchanged)
	assert.Zero(t, report.Pruned)
	require.Len(t, troubles, 1)
	assert.Equal(t, "b", troubles[0].URI)
	require.ErrorIs(t, troubles[0].Err, errSorry)
	_, troubles, err = knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Folder(os.DirFS(filepath.Join(t.TempDir(), "none")), knowledge.FolderOptions{}), prune))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Len(t, troubles, 1)
	require.ErrorIs(t, troubles[0].Err, fs.ErrNotExist)
	assert.Equal(t, "a/x b/x c/x", uris(t, b, acme))
}

func TestNoReader(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	for _, d := range []knowledge.Document{
		knowledge.Reader("nil", nil), {URI: "none", Open: func() (io.ReadCloser, error) { return nil, nil }},
	} {
		_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
		require.ErrorIs(t, err, memory.ErrInvalid, d.URI)
		require.Len(t, troubles, 1, d.URI)
		require.ErrorIs(t, troubles[0].Err, memory.ErrInvalid, d.URI)
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	d := knowledge.Reader("page.html", strings.NewReader("<h1>Title</h1><script>no()</script><p>Some &lt;text&gt;"))
	collect(t, b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
	r := search(t, b, memory.Question{Text: "text"})
	require.Len(t, r, 1)
	assert.Equal(t, "Title", r[0].Item.Source.Title)
	assert.Equal(t, "Title\n\nSome <text>", r[0].Item.Chunk.Content)
	assert.Equal(t, []string{"Title"}, r[0].Item.Chunk.Headings)
	closes := 0
	d = knowledge.Document{URI: "c", Open: func() (io.ReadCloser, error) { return closer{strings.NewReader("x"), &closes}, nil }}
	collect(t, b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
	assert.Equal(t, 1, closes)
}

type closer struct {
	io.Reader
	n *int
}

func (c closer) Close() error {
	*c.n++
	return nil
}
