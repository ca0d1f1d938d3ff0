package migration_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-go/weft/internal/migration"
)

func folder(texts map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range texts {
		files["m/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestRead(t *testing.T) {
	t.Parallel()
	list, err := migration.Read(folder(map[string]string{
		"002_more.sql": "b;\r\nc;\r\n", "001_first.sql": "a;\n", "notes.txt": "not one of them",
	}), "m")
	if err != nil || len(list) != 2 {
		t.Fatalf("got %d migrations, error %v, want 2", len(list), err)
	}
	if m := list[0]; m.Version != 1 || m.Name != "001_first" || m.Script != "a;\n" {
		t.Errorf("got %+v", m)
	}
	if m := list[1]; m.Version != 2 || m.Name != "002_more" || m.Script != "b;\nc;\n" {
		t.Errorf("got %+v", m)
	}
	unix := migration.MustRead(folder(map[string]string{"001_first.sql": "a;\n", "002_more.sql": "b;\nc;\n"}), "m")
	if unix[1].Checksum != list[1].Checksum || unix[0].Checksum == unix[1].Checksum {
		t.Errorf("got the checksums %v and %v", list, unix)
	}
	if none, err := migration.Read(fstest.MapFS{}, "m"); err != nil || len(none) != 0 {
		t.Errorf("an empty folder: got %v, error %v", none, err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fs.FS{
		"a gap":           folder(map[string]string{"001_a.sql": "", "003_c.sql": ""}),
		"no first":        folder(map[string]string{"002_b.sql": ""}),
		"a number twice":  folder(map[string]string{"001_a.sql": "", "001_b.sql": ""}),
		"no number":       folder(map[string]string{"first.sql": ""}),
		"a number's text": folder(map[string]string{"001_a.sql": "", "002.x_b.sql": ""}),
		"a folder":        fstest.MapFS{"m/001_a.sql": {Mode: fs.ModeDir}},
	} {
		if list, err := migration.Read(files, "m"); err == nil || !strings.Contains(err.Error(), "m/") {
			t.Errorf("%s: got %v, error %v, want one that names the file", name, list, err)
		}
	}
	if _, err := migration.Read(fstest.MapFS{}, "["); err == nil {
		t.Error("a folder of a name that is none is read")
	}
	defer func() {
		if recover() == nil {
			t.Error("MustRead did not panic")
		}
	}()
	migration.MustRead(folder(map[string]string{"002_b.sql": ""}), "m")
}

func TestApplied(t *testing.T) {
	t.Parallel()
	list := migration.MustRead(folder(map[string]string{"001_a.sql": "a", "002_b.sql": "b"}), "m")
	first, second := migration.Note{Version: 1, Checksum: list[0].Checksum}, migration.Note{Version: 2, Checksum: list[1].Checksum}
	for _, test := range []struct {
		name  string
		notes []migration.Note
		want  int
		says  string // of the error
	}{
		{"nothing", nil, 0, ""},
		{"one", []migration.Note{first}, 1, ""},
		{"all", []migration.Note{first, second}, 2, ""},
		{"a newer one", []migration.Note{first, second, {Version: 3}}, 0, "version 3, where 2 is the newest"},
		{"one is missing", []migration.Note{second}, 0, "version 2 without version 1"},
		{"none", []migration.Note{{Version: 0}}, 0, "version 0 without version 1"},
		{"another text", []migration.Note{{Version: 1, Checksum: second.Checksum}}, 0, "another text than that of 001_a"},
		{"another text, later", []migration.Note{first, {Version: 2, Checksum: "x"}}, 0, "another text than that of 002_b"},
	} {
		got, err := migration.Applied(list, slices.Clone(test.notes))
		if got != test.want || (err == nil) != (test.says == "") {
			t.Errorf("%s: got %d, error %v, want %d", test.name, got, err, test.want)
		}
		if err != nil && (!errors.Is(err, migration.ErrSchema) || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: got error %v, want ErrSchema and %q", test.name, err, test.says)
		}
	}
}
