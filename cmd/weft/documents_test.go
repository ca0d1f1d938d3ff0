package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	weftCommand = regexp.MustCompile(`^(?:\$ )?(?:[A-Z_]+=\S+ )*weft ([a-z]+)( [a-z]+)?( .*)?$`)
	weftError   = regexp.MustCompile(`^weft [a-z ]+: `)
	flagOfWeft  = regexp.MustCompile(` (-[a-z][a-z-]*)`)
)

// TestCommandsOfWeftInDocumentsExist proves that weft has the commands and flags in the code blocks of the documents.
func TestCommandsOfWeftInDocumentsExist(t *testing.T) {
	t.Parallel()
	var files []string
	for _, root := range []string{"../../docs", "../../examples"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				files = append(files, path)
			}
			return err
		}))
	}
	found := 0
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		code := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
				continue
			}
			line, _, _ = strings.Cut(strings.TrimSpace(line), " | ")
			m := weftCommand.FindStringSubmatch(line)
			if !code || m == nil || weftError.MatchString(line) {
				continue
			}
			found++
			path := []string{m[1]}
			if hasSubcommands(m[1]) {
				path = append(path, strings.TrimSpace(m[2]))
			}
			var help, errs bytes.Buffer
			status := run(t.Context(), append(path, "-h"), &streams{func(string) string { return "" }, strings.NewReader(""), &help, &errs, time.Now})
			if !assert.Equal(t, exitDone, status, "%s:%d: %s: %s", file, i+1, line, errs.String()) {
				continue
			}
			for _, f := range flagOfWeft.FindAllStringSubmatch(m[3], -1) {
				assert.Contains(t, help.String()+errs.String(), "  "+f[1], "%s:%d: %s: there is no flag %s", file, i+1, line, f[1])
			}
		}
	}
	assert.Greater(t, found, 40, "the test finds commands")
}

func hasSubcommands(name string) bool {
	for _, c := range commands {
		if c.name == name {
			return c.sub != nil
		}
	}
	return false
}
