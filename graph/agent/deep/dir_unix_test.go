//go:build unix

package deep_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/llm"
)

const outsideText = "OUTSIDE-4711"

// openDir returns the root of a folder. Its parent folder also has a file and another folder.
func openDir(t *testing.T) (root *os.Root, dir, outside string) {
	t.Helper()
	top := t.TempDir()
	dir, outside = filepath.Join(top, "inside"), filepath.Join(top, "outside")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Mkdir(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.txt"), []byte(outsideText), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(top, "secret.txt"), []byte(outsideText), 0o644))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, root.Close()) })
	return root, dir, outside
}

// hostile returns a name that tries to leave a folder.
func hostile(rnd *rand.Rand, outside string) string {
	parts := []string{
		"..", ".", "", "...", "a", "link", "dirlink", "loop", "up", "absolute", "secret.txt", "outside", "..\\", "..%2f", "%2e%2e",
		"．．", "‥", "..\x00", "\x00", "..\u200b", "\u202e..", "A", "LINK", "é", "e\u0301", "con", "nul", "C:", "~", "-", "*", ".. ", " ..", "..;", "\xff..", "//",
		outside, filepath.Dir(outside), "proc", "self", "cwd", "etc", "passwd", strings.Repeat("x", 300), strings.Repeat("../", 20),
	}
	n := 1 + rnd.IntN(6)
	chosen := make([]string, n)
	for i := range chosen {
		chosen[i] = parts[rnd.IntN(len(parts))]
	}
	separator := []string{"/", "/", "/", "//", "/./", "\\", "\u2215"}[rnd.IntN(7)]
	return []string{"", "/", "./", "../", "file://"}[rnd.IntN(5)] + strings.Join(chosen, separator)
}

// No call with one of 10,000 hostile names reads, lists or changes a file outside of the folder,
// even while another goroutine replaces folders with links. The calls take some seconds.
func TestDirCannotBeLeft(t *testing.T) {
	t.Parallel()
	root, dir, outside := openDir(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.txt"), in("link")))
	require.NoError(t, os.Symlink(outside, in("dirlink")))
	require.NoError(t, os.Symlink("..", in("up")))
	require.NoError(t, os.Symlink("loop", in("loop")))
	require.NoError(t, os.Symlink("/", in("absolute")))
	require.NoError(t, os.WriteFile(in("secret.txt"), []byte("inside"), 0o644))

	stop, swapped := make(chan struct{}), sync.WaitGroup{}
	swapped.Go(func() { // "a" is a folder, a link to the outside and a file, in turn
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.RemoveAll(in("a"))
			switch i % 3 {
			case 0:
				_ = os.Mkdir(in("a"), 0o755)
				_ = os.WriteFile(in("a/secret.txt"), []byte("inside"), 0o644)
			case 1:
				_ = os.Symlink(outside, in("a"))
			case 2:
				_ = os.Symlink(filepath.Join(outside, "secret.txt"), in("a"))
			}
		}
	})
	tools := callTools(t, deep.FileTools(deep.Dir(root)))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	worked := 0
	var calls []llm.ToolCall
	for range 10_000 {
		name := hostile(rnd, outside)
		if rnd.IntN(4) == 0 {
			name = []string{"a/secret.txt", "a/written.txt", "a", "secret.txt", "new/file.txt"}[rnd.IntN(5)] // the race
		}
		var call llm.ToolCall
		switch rnd.IntN(5) {
		case 0:
			call = toolCall(deep.ReadTool, map[string]any{"file_path": name})
		case 1:
			call = toolCall(deep.WriteTool, map[string]any{"file_path": name, "content": "written"})
		case 2:
			call = toolCall(deep.EditTool, map[string]any{"file_path": name, "old_string": "s", "new_string": "S", "replace_all": true})
		case 3:
			call = toolCall(deep.GrepTool, map[string]any{"path": name, "pattern": "."})
		case 4:
			call = toolCall(deep.ListTool, map[string]any{"path": name})
		}
		if calls = append(calls, call); len(calls) < 20 {
			continue
		}
		for _, answer := range tools(calls...) {
			assert.NotContains(t, answer.Text(), outsideText, "%v", calls)
			assert.NotContains(t, answer.Text(), "root:x:", "%v", calls)
			if answer.Status != llm.StatusError {
				worked++
			}
		}
		calls = nil
	}
	close(stop)
	swapped.Wait()
	assert.Greater(t, worked, 500, "calls inside of the folder work")
	for _, name := range []string{filepath.Join(outside, "secret.txt"), filepath.Join(filepath.Dir(outside), "secret.txt")} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, outsideText, string(text))
	}
	for dir, want := range map[string]int{outside: 1, filepath.Dir(outside): 3} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, entries, want, "files beside the folder")
	}
}

// Devices, pipes and folders are rejected, because they are not text files. A pipe without a
// writer does not block.
func TestDirReadsRegularFilesOnly(t *testing.T) {
	t.Parallel()
	root, dir, _ := openDir(t)
	files := deep.Dir(root)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "binary"), []byte{0xff, 0xfe, 0}, 0o644))
	large, err := os.Create(filepath.Join(dir, "large"))
	require.NoError(t, err)
	require.NoError(t, errors.Join(large.Truncate(10<<20+1), large.Close()))
	for name, want := range map[string]error{
		"/pipe": deep.ErrNotText, "/folder": deep.ErrNotText, "/binary": deep.ErrNotText, "/large": deep.ErrTooLarge, "/none": fs.ErrNotExist,
	} {
		_, err := files.Read(t.Context(), nil, name)
		assert.ErrorIs(t, err, want, name)
	}
	for _, name := range []string{"/pipe", "/folder"} {
		_, err := files.Write(t.Context(), nil, name, "x")
		assert.ErrorIs(t, err, deep.ErrNotText, name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "folder/a"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "folder.txt"), nil, 0o644))
	list, err := files.List(t.Context(), nil, "/")
	require.NoError(t, err)
	assert.Equal(t, []deep.File{{Name: "/binary", Size: 3}, {Name: "/folder.txt"}, {Name: "/folder/a"}, {Name: "/large", Size: 10<<20 + 1}}, list)
}

// A write that replaces a file keeps its permissions and leaves no temporary file.
func TestDirReplacesWholeFiles(t *testing.T) {
	t.Parallel()
	root, dir, _ := openDir(t)
	files := deep.Dir(root)
	script := filepath.Join(dir, "run.sh")
	require.NoError(t, os.WriteFile(script, []byte("old"), 0o755))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := files.Write(context.Background(), nil, "/run.sh", strings.Repeat(fmt.Sprint(i%10), 100_000))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat(string(text[:1]), 100_000), string(text), "one whole write")
	info, err := os.Stat(script)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o755), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

// Agents that edit one file at the same time lose no edit.
func TestDirLosesNoEdit(t *testing.T) {
	t.Parallel()
	root, dir, _ := openDir(t)
	files := deep.Dir(root)
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "[%d]\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte(text.String()), 0o644))
	var all sync.WaitGroup
	for worker := range 5 {
		call := callTools(t, deep.FileTools(files))
		all.Go(func() {
			for i := worker; i < 100; i += 5 {
				answer := call(toolCall(deep.EditTool, map[string]any{"file_path": "/a", "old_string": fmt.Sprintf("[%d]", i), "new_string": "done"}))[0]
				assert.Equal(t, "Edited /a: 1 replaced.", answer.Text())
			}
		})
	}
	all.Wait()
	edited, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("done\n", 100), string(edited))
}

func TestDirHasALimitOfFiles(t *testing.T) {
	t.Parallel()
	root, dir, _ := openDir(t)
	for i := range 10_001 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644))
	}
	_, err := deep.Dir(root).List(t.Context(), nil, "/")
	require.ErrorIs(t, err, deep.ErrTooLarge)
	_, err = deep.Dir(root).List(t.Context(), nil, path.Join("/", "none"))
	require.NoError(t, err)
}

// Lists and searches of a folder leave out names that the tools cannot use. Each line of a list is
// one file.
func TestDirLeavesOutUnusableNames(t *testing.T) {
	t.Parallel()
	root, dir, _ := openDir(t)
	for _, name := range []string{"ok.txt", "bad\xff.txt", "a\n/forged.txt (1 bytes)", "back\\slash", "dir\xff/a", "dir\n/a", "locked/a"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("hello\n"), 0o644))
	}
	locked := filepath.Join(dir, "locked")
	require.NoError(t, os.Chmod(locked, 0)) // the user root can read the folder anyway
	t.Cleanup(func() { assert.NoError(t, os.Chmod(locked, 0o700)) })
	call := callTools(t, deep.FileTools(deep.Dir(root)))
	for _, c := range []llm.ToolCall{
		toolCall(deep.ListTool, map[string]any{}), toolCall(deep.GlobTool, map[string]any{"pattern": "*"}), toolCall(deep.GrepTool, map[string]any{"pattern": "hello"}),
	} {
		answer := call(c)[0]
		assert.NotEqual(t, llm.StatusError, answer.Status, answer.Text())
		for line := range strings.Lines(answer.Text()) {
			assert.Regexp(t, `^/(ok\.txt|locked/)`, line)
		}
		assert.Contains(t, answer.Text(), "/ok.txt")
	}
}

// The names of files that are being written are refused, so that no file is hidden from the lists.
func TestDirRefusesNamesOfTemporaryFiles(t *testing.T) {
	t.Parallel()
	root, _, _ := openDir(t)
	_, err := deep.Dir(root).Write(t.Context(), nil, "/notes/.weft-x", "hidden")
	require.ErrorIs(t, err, deep.ErrName)
}
