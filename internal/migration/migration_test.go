package migration_test

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/migration"
)

func folder(texts map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range texts {
		files["m/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestReadReturnsMigrationsInOrder(t *testing.T) {
	t.Parallel()
	list, err := migration.Read(folder(map[string]string{
		"002_more.sql": "b;\r\nc;\r\n", "001_first.sql": "a;\n", "notes.txt": "not one of them",
	}), "m")
	require.NoError(t, err)
	require.Len(t, list, 2)
	first := list[0]
	assert.Equal(t, migration.Migration{Version: 1, Name: "001_first", Script: "a;\n", Checksum: first.Checksum}, first)
	second := list[1]
	assert.Equal(t, migration.Migration{Version: 2, Name: "002_more", Script: "b;\nc;\n", Checksum: second.Checksum}, second)
	unix := migration.MustRead(folder(map[string]string{"001_first.sql": "a;\n", "002_more.sql": "b;\nc;\n"}), "m")
	assert.Equal(t, list[1].Checksum, unix[1].Checksum)
	assert.NotEqual(t, unix[1].Checksum, unix[0].Checksum)
	none, err := migration.Read(fstest.MapFS{}, "m")
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestReadReturnsErrors(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fs.FS{
		"a gap":           folder(map[string]string{"001_a.sql": "", "003_c.sql": ""}),
		"no first":        folder(map[string]string{"002_b.sql": ""}),
		"a number twice":  folder(map[string]string{"001_a.sql": "", "001_b.sql": ""}),
		"no number":       folder(map[string]string{"first.sql": ""}),
		"a number's text": folder(map[string]string{"001_a.sql": "", "002.x_b.sql": ""}),
		"a folder":        fstest.MapFS{"m/001_a.sql": {Mode: fs.ModeDir}},
	} {
		_, err := migration.Read(files, "m")
		assert.ErrorContains(t, err, "m/", name)
	}
	_, err := migration.Read(fstest.MapFS{}, "[")
	assert.Error(t, err)
	defer func() {
		assert.NotNil(t, recover())
	}()
	migration.MustRead(folder(map[string]string{"002_b.sql": ""}), "m")
}

func TestAppliedComparesNotesWithTheList(t *testing.T) {
	t.Parallel()
	list := migration.MustRead(folder(map[string]string{"001_a.sql": "a", "002_b.sql": "b"}), "m")
	first, second := migration.Note{Version: 1, Checksum: list[0].Checksum}, migration.Note{Version: 2, Checksum: list[1].Checksum}
	for _, test := range []struct {
		name  string
		notes []migration.Note
		want  int
		says  string // a part of the error
	}{
		{"nothing", nil, 0, ""},
		{"one", []migration.Note{first}, 1, ""},
		{"all", []migration.Note{first, second}, 2, ""},
		{"a newer one", []migration.Note{first, second, {Version: 3}}, 0, "version 3 was applied, and 2 is the newest"},
		{"one is missing", []migration.Note{second}, 0, "version 2 was applied without version 1"},
		{"none", []migration.Note{{Version: 0}}, 0, "version 0 was applied without version 1"},
		{"another text", []migration.Note{{Version: 1, Checksum: second.Checksum}}, 0, "another text than 001_a"},
		{"another text, later", []migration.Note{first, {Version: 2, Checksum: "x"}}, 0, "another text than 002_b"},
	} {
		got, err := migration.Applied(list, slices.Clone(test.notes))
		assert.Equal(t, test.want, got, test.name)
		assert.Equal(t, (test.says == ""), (err == nil), test.name)
		if err != nil {
			assert.ErrorIs(t, err, migration.ErrSchema, test.name)
			assert.ErrorContains(t, err, test.says, test.name)
		}
	}
}
