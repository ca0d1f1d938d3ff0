package terminal

import (
	"os"
	"path/filepath"
	"strings"
)

// short returns a path relative to the working folder if it is below it.
func short(path string) string {
	here, err := os.Getwd()
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if near, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(near, "..") {
		return near
	}
	return path
}

// readme returns the README.md of the working folder, or else of the module around it,
// or "".
func readme() string {
	folder, err := os.Getwd()
	if err != nil {
		return ""
	}
	isFile := func(name string) bool {
		info, err := os.Stat(filepath.Join(folder, name))
		return err == nil && info.Mode().IsRegular()
	}
	for !isFile("README.md") && !isFile("go.mod") && filepath.Dir(folder) != folder {
		folder = filepath.Dir(folder)
	}
	if here, _ := os.Getwd(); !isFile("README.md") || folder != here && !isFile("go.mod") {
		return ""
	}
	return filepath.Join(folder, "README.md")
}
