package deep

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrName is returned for a text that is not the name of a file.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#deeperrname.
var ErrName = errors.New("not the name of a file")

const maxName = 1024

// clean returns the canonical name of a file or folder. It begins with a slash, and has no empty
// parts and no dots. A name with ".." is an error.
func clean(name string) (string, error) {
	problem := ""
	switch {
	case len(name) > maxName:
		return "", fmt.Errorf("%q…: %w: it is longer than %d bytes", strings.ToValidUTF8(name[:40], ""), ErrName, maxName)
	case !utf8.ValidString(name):
		problem = "it is not valid UTF-8"
	case strings.ContainsRune(name, '\\'):
		problem = "it has a backslash; separate folders by /"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		problem = "it has an invisible character"
	case strings.Contains("/"+name+"/", "/../"):
		problem = `it has ".."; name the file from the root, such as /notes/a.md`
	}
	if problem != "" {
		return "", fmt.Errorf("%q: %w: %s", name, ErrName, problem)
	}
	return path.Clean("/" + name), nil
}

// mustBeFolder panics if a text is not the name of a folder. The argument caller names the function
// that was given the name.
func mustBeFolder(caller, name string) {
	if _, err := clean(name); err != nil {
		panic(fmt.Sprintf("deep: %s: %q is not the name of a folder", caller, name))
	}
}

// below reports whether a file is in a folder or in one of its subfolders. Both names are clean.
func below(name, dir string) bool {
	return dir == "/" || strings.HasPrefix(name, dir+"/")
}
